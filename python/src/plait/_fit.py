# SPDX-License-Identifier: Apache-2.0
"""Fits the modelled machine (docs/how-to/predict.md) to measured times of messages. Pure functions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait._errors import PlaitError

#: Measured sizes on each side of the eager threshold that a line is put through.
_POINTS_MIN = 3


@dataclass(frozen=True)
class OneWay:
    """A message between idle ranks: half of a round trip."""

    payload_bytes: int
    time_ns: float


@dataclass(frozen=True)
class Burst:
    """What each further message of a burst takes; with `both_ways`: each further one sent and got."""

    payload_bytes: int
    time_ns: float
    both_ways: bool = False


@dataclass(frozen=True)
class Costs:
    """As in a platform file; the letters are those of LogGPS."""

    latency_ns: float  # L
    send_overhead_ns: float  # o_s
    receive_overhead_ns: float  # o_r
    overhead_per_byte_ns: float  # O
    gap_ns: float  # g
    gap_per_byte_ns: float  # G
    eager_bytes_max: int  # S
    rendezvous_ns: float
    both_ways: float = 1.0
    post_overhead_ns: float = 0.0
    #: Bytes, and what those beyond the first take, in place of G; with lines between, and G beyond.
    moving_ns: tuple[tuple[int, float], ...] = ()
    #: Curves as `moving_ns`, of calibrations only.
    occupying_ns: tuple[tuple[int, float], ...] = ()
    leaving_ns: tuple[tuple[int, float], ...] = ()
    sending_ns: tuple[tuple[int, float], ...] = ()
    receiving_ns: tuple[tuple[int, float], ...] = ()
    stolen_sending_ns: tuple[tuple[int, float], ...] = ()
    stolen_receiving_ns: tuple[tuple[int, float], ...] = ()

    def moving_time_ns(self, payload_bytes: int) -> float:
        if not self.moving_ns or payload_bytes <= 1:
            return max(0, payload_bytes - 1) * self.gap_per_byte_ns
        sizes, times = zip(*((1, 0.0), *self.moving_ns), strict=True)
        beyond: float = max(0, payload_bytes - sizes[-1]) * self.gap_per_byte_ns
        return float(np.interp(payload_bytes, sizes, times)) + beyond

    def time_ns(self, payload_bytes: int) -> float:
        """Of one message between idle ranks, as docs/how-to/predict.md has it."""
        is_eager = payload_bytes <= self.eager_bytes_max
        linear = payload_bytes * self.overhead_per_byte_ns if is_eager else 0.0
        time = self.latency_ns + self.moving_time_ns(payload_bytes)
        for curve, overhead in (
            (self.sending_ns, self.send_overhead_ns),
            (self.receiving_ns, self.receive_overhead_ns),
        ):
            sizes, times = zip(*curve, strict=True) if curve else ((), ())
            time += float(np.interp(payload_bytes, sizes, times)) if curve else overhead + linear
        return time if is_eager else time + 2 * self.latency_ns + self.rendezvous_ns


@dataclass(frozen=True)
class Error:
    """Of the model against what was measured: parts of the measured time, without sign."""

    median: float
    largest: float


@dataclass(frozen=True)
class Fit:
    costs: Costs
    residual: Error
    #: Of every second size, by costs that were fitted to the others; None with too few sizes.
    hold_out: Error | None


def fit(one_way: Sequence[OneWay], bursts: Sequence[Burst] = ()) -> Fit:
    """Costs from times of single messages of several sizes and, for the processors, from bursts."""
    times = sorted(one_way, key=lambda time: time.payload_bytes)
    if len({time.payload_bytes for time in times}) < _POINTS_MIN:
        raise PlaitError(
            f"{len(times)} sizes of messages are too few to fit costs to: measure {_POINTS_MIN} or more"
        )
    costs = fit_costs(times, bursts)
    hold_out = None
    if len(times) >= 4 * _POINTS_MIN:
        hold_out = error_of(fit_costs(times[::2], bursts), times[1:-1:2])
    return Fit(costs, error_of(costs, times), hold_out)


def error_of(costs: Costs, times: Sequence[OneWay]) -> Error:
    errors = [abs(costs.time_ns(time.payload_bytes) / time.time_ns - 1) for time in times]
    return Error(float(np.median(errors)), max(errors))


def fit_costs(times: Sequence[OneWay], bursts: Sequence[Burst] = ()) -> Costs:
    sizes = np.array([time.payload_bytes for time in times], dtype=float)
    measured = np.array([time.time_ns for time in times])
    best: tuple[float, Costs] | None = None
    for below in range(_POINTS_MIN, len(times) + 1):
        if 0 < len(times) - below < _POINTS_MIN:
            continue
        costs = _with_threshold(sizes, measured, below, bursts)
        badness = sum((costs.time_ns(time.payload_bytes) / time.time_ns - 1) ** 2 for time in times)
        # One line is taken unless two are clearly better: a threshold must be seen.
        badness *= 1.0 if below < len(times) else 0.8
        if best is None or badness < best[0]:
            best = badness, costs
    assert best is not None
    return _with_curve(best[1], times)


def _with_curve(costs: Costs, times: Sequence[OneWay]) -> Costs:
    """With the bytes' part of each size as it was measured: caches and copies make no straight line."""
    curve: list[tuple[int, float]] = []
    for size in sorted({time.payload_bytes for time in times if time.payload_bytes > 1}):
        measured = float(np.median([time.time_ns for time in times if time.payload_bytes == size]))
        rest = measured - (costs.time_ns(size) - costs.moving_time_ns(size))
        curve.append((size, max(rest, curve[-1][1] if curve else 0.0)))
    return replace(costs, moving_ns=tuple(curve))


def _with_threshold(
    sizes: NDArray[np.float64], measured: NDArray[np.float64], below: int, bursts: Sequence[Burst]
) -> Costs:
    """Those at `below` and behind it ask first."""
    start, slope = _line(sizes[:below], measured[:below])
    if below == len(sizes):
        long_start, per_byte, largest = start, slope, 1 << 50
    else:
        long_start, per_byte = _line(sizes[below:], measured[below:])
        largest = int(sizes[below - 1])
    per_byte = max(per_byte, 1e-6)
    overhead_per_byte = (
        _overhead_per_byte(slope, per_byte, largest, bursts) if below < len(sizes) else 0.0
    )
    sends, receives, posts = _overheads(start, bursts)
    latency = max(0.0, start - sends - receives)
    asking = long_start - start
    if below < len(sizes) and asking < 2 * latency:
        # Asking and answering take two latencies: the rest of a short message's time is the processors'.
        latency = max(0.0, asking / 2)
        rest = start - latency
        share = sends / (sends + receives) if sends + receives > 0 else 0.5
        sends, receives = rest * share, rest * (1 - share)
    return Costs(
        latency_ns=latency,
        send_overhead_ns=sends,
        receive_overhead_ns=receives,
        overhead_per_byte_ns=overhead_per_byte,
        gap_ns=0.0,
        gap_per_byte_ns=per_byte,
        eager_bytes_max=largest,
        rendezvous_ns=max(0.0, asking - 2 * latency) if below < len(sizes) else 0.0,
        both_ways=_both_ways(largest, bursts),
        post_overhead_ns=posts,
    )


def _both_ways(eager_max: int, bursts: Sequence[Burst]) -> float:
    """How much longer long messages take while others come the other way."""
    one, both = (
        {burst.payload_bytes: burst.time_ns for burst in bursts if burst.both_ways == both_ways}
        for both_ways in (False, True)
    )
    ratios = [both[size] / one[size] for size in one if size in both and size > eager_max]
    return min(2.0, max(1.0, float(np.median(ratios)))) if ratios else 1.0


def _overhead_per_byte(slope: float, per_byte: float, eager_max: int, bursts: Sequence[Burst]) -> float:
    """O: at least what makes a short message's bytes dearer than a long one's; or from bursts."""
    least, most = max(0.0, slope - per_byte) / 2, slope / 2
    both = sorted(
        (burst.payload_bytes, burst.time_ns)
        for burst in bursts
        if burst.both_ways and burst.payload_bytes <= eager_max
    )
    if len(both) < 2:
        return least
    return min(max(least, pairwise_growth(both) / 2), max(least, most))


def _line(sizes: NDArray[np.float64], times: NDArray[np.float64]) -> tuple[float, float]:
    """Start and slope, neither negative, of least relative error."""
    weights = 1 / times
    columns = np.stack([weights, sizes * weights], axis=1)
    (start, slope), *_ = np.linalg.lstsq(columns, np.ones_like(times), rcond=None)
    if start < 0:
        return 0.0, float(np.sum(sizes * weights) / np.sum((sizes * weights) ** 2))
    if slope < 0:
        return float(np.sum(weights) / np.sum(weights**2)), 0.0
    return float(start), float(slope)


def _overheads(start: float, bursts: Sequence[Burst]) -> tuple[float, float, float]:
    """o_s, o_r, and what beginning a receive takes.

    A burst one way goes as fast as its slower side, taken to be the receiver's; one both ways costs each
    side all three. Sending and taking in stay below the time of a single message, whose receive has
    begun before it comes: the rest of a burst's time is that of beginning."""
    one_way = [burst.time_ns for burst in _shortest(bursts, both_ways=False)]
    both = [burst.time_ns for burst in _shortest(bursts, both_ways=True)]
    if not one_way and not both:
        return start / 4, start / 4, 0.0
    slower = float(np.median(one_way)) if one_way else float(np.median(both)) / 2
    pair = float(np.median(both)) if both else 2 * slower
    slower = min(max(slower, pair / 2), pair)
    most = 0.9 * start
    sends = min(pair - slower, most / 2)
    receives = min(slower, most - sends)
    return sends, receives, pair - sends - receives


def _shortest(bursts: Sequence[Burst], *, both_ways: bool) -> list[Burst]:
    wanted = [burst for burst in bursts if burst.both_ways == both_ways]
    least = min((burst.payload_bytes for burst in wanted), default=0)
    return [burst for burst in wanted if burst.payload_bytes == least]


def to_platform(
    name: str, between_hosts: Costs, within_host: Costs | None = None, *, ranks_per_host: int = 1
) -> dict[str, Any]:
    """A platform file's contents."""
    platform: dict[str, Any] = {
        "format": "plait-platform",
        "version": 1,
        "name": name,
        "ranks_per_host": ranks_per_host,
        "progress": "calls",
        "between_hosts": _rounded(between_hosts),
    }
    if within_host is not None:
        platform["within_host"] = _rounded(within_host)
    return platform


def costs_of_platform(platform: Any, *, within_host: bool) -> Costs:
    """Those of a platform file's contents. Raises ValueError when it is none."""
    if not isinstance(platform, dict) or platform.get("format") != "plait-platform":
        raise ValueError("it is no plait-platform")
    found = platform.get("within_host") if within_host else None
    found = found or platform.get("between_hosts")
    if not isinstance(found, dict):
        raise ValueError("it has no costs between hosts")
    known = {field.name for field in fields(Costs)}
    values = {name: value for name, value in found.items() if name in known}
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple((int(size), float(time)) for size, time in value)
    try:
        return Costs(**values)
    except TypeError as error:
        raise ValueError("it lacks costs of messages") from error


def _rounded(costs: Costs) -> dict[str, Any]:
    """Curves that were not measured are left out."""
    rounded: dict[str, Any] = {}
    for key, value in asdict(costs).items():
        if isinstance(value, tuple):
            if value:
                rounded[key] = [[size, float(f"{time:.6g}")] for size, time in value]
        else:
            rounded[key] = value if isinstance(value, int) else float(f"{value:.6g}")
    return rounded


def pairwise_growth(times: Sequence[tuple[int, float]]) -> float:
    """Time a message from times of exchanges with more and more messages: the median of the slopes."""
    slopes = [
        (later - earlier) / (more - fewer)
        for (fewer, earlier), (more, later) in itertools.combinations(sorted(times), 2)
        if more > fewer
    ]
    return float(np.median(slopes))
