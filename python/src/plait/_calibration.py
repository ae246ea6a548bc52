# SPDX-License-Identifier: Apache-2.0
"""The modelled machine (docs/how-to/predict.md) from what `plait-calibrate` measured. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plait._errors import PlaitError
from plait._fit import Costs, to_platform

#: Two ranks on one core take twice the time; two on the threads of one core less than this.
_SLOWDOWN_OF_SHARED = 1.8
#: Less is what cores of their own lose to interrupts and to the clock frequency.
_SLOWDOWN_REPORTED = 1.1
#: What a file must have, for each size.
_SERIES = (
    "one way, written before",
    "sending",
    "posting",
    "receiving",
    "receiving, unexpected",
    "stolen, sender",
    "stolen, receiver",
    "one more",
    "one more, both ways",
)
#: What `Spread.overhead` is of.
_OF_PROCESSORS = ("sending", "stolen, sender", "stolen, receiver")
#: What files of earlier versions lack.
_LATER_SERIES = ("sending, blocking", "stolen, after sending")


@dataclass(frozen=True)
class Calibration:
    """Messages between two ranks: nanoseconds of each round, by what was measured and bytes."""

    mpi: str
    is_within_host: bool
    eager_bytes_max: int
    #: Of computing on all ranks at once, over computing on one of them.
    slowdown: float
    series: dict[str, dict[int, list[float]]]
    ranks_on_host: int = 1
    #: How long a rank computes before another has its core; 0 where each has its own.
    core_slice_ns: float = 0.0

    @property
    def cores_on_host(self) -> int:
        """Those that its ranks share; as many as the ranks where each has its own."""
        if self.slowdown < _SLOWDOWN_OF_SHARED or self.core_slice_ns <= 0:
            return self.ranks_on_host
        return max(1, round(self.ranks_on_host / self.slowdown))

    @property
    def rounds(self) -> int:
        return min(len(times) for sizes in self.series.values() for times in sizes.values())

    @property
    def sizes(self) -> list[int]:
        return sorted(self.series["one more"])


@dataclass(frozen=True)
class Spread:
    """How far the rounds of a calibration lie apart: half of the interquartile range over the median."""

    latency: float
    overhead: float
    bytes: float


def read_calibration(path: Path) -> Calibration:
    try:
        return calibration_of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlaitError(
            f"{path} is no calibration ({error}); make it with mpiexec -n 2 plait-calibrate -o FILE"
        ) from error


def calibration_of(contents: dict[str, Any]) -> Calibration:
    """Raises ValueError or KeyError with what is wrong."""
    if contents.get("format") != "plait-calibration" or contents.get("version") != 1:
        raise ValueError('it has no "format": "plait-calibration", "version": 1')
    series: dict[str, dict[int, list[float]]] = {}
    for one in contents["series"]:
        series.setdefault(one["what"], {})[int(one["bytes"])] = [float(time) for time in one["times_ns"]]
    missing = [name for name in _SERIES if not series.get(name)]
    if missing:
        raise ValueError(f"it has no {', no '.join(missing)}")
    sizes = set(series["one more"])
    found = [*_SERIES, *(name for name in _LATER_SERIES if name in series)]
    if len(sizes) < 3 or any(set(series[name]) != sizes for name in found):
        raise ValueError("it needs three sizes or more, the same for everything that was measured")
    return Calibration(
        str(contents["mpi"]),
        bool(contents["is_within_host"]),
        int(contents["eager_bytes_max"]),
        float(contents["slowdown_of_computing_at_once"]),
        series,
        int(contents.get("ranks_on_host", 1)),
        float(contents.get("core_slice_ns", 0.0)),
    )


def costs_of(calibration: Calibration) -> Costs:
    """What the model takes, from the medians of all rounds.

    The measured time of a single message is met exactly where the processors' times leave room for it.
    Data are as a program has them that has just computed them: the buffers were written before."""

    def curve(name: str) -> dict[int, float]:
        found = calibration.series[name]
        return {size: max(0.0, float(np.median(found[size]))) for size in calibration.sizes}

    single, sending, expected = curve("one way, written before"), curve("sending"), curve("receiving")
    one_more, both_ways = curve("one more"), curve("one more, both ways")
    smallest = calibration.sizes[0]
    longest_eager = calibration.eager_bytes_max
    receiving = {
        # A rendezvous message comes during the receiver's wait, most of which is the network's time.
        size: min(
            expected[size if size <= longest_eager else smallest], max(0.0, single[size] - sending[size])
        )
        for size in calibration.sizes
    }
    latency = max(0.0, single[smallest] - sending[smallest] - receiving[smallest])
    rest = {size: single[size] - sending[size] - receiving[size] - latency for size in calibration.sizes}
    long = [size for size in calibration.sizes if size > longest_eager]
    asking = max(0.0, rest[long[0]] - 2 * latency - one_more[long[0]]) if long else 0.0
    moving = _rising(
        {
            size: max(0.0, time - (2 * latency + asking if size > longest_eager else 0.0))
            for size, time in rest.items()
            if size > 1
        }
    )
    occupying = _rising(one_more)
    stolen_sending, leaving = curve("stolen, sender"), {}
    if all(name in calibration.series for name in _LATER_SERIES):
        blocking, after = (curve(name) for name in _LATER_SERIES)
        leaving = {
            size: max(0.0, blocking[size] - sending[size] - 2 * latency - asking) for size in long
        }
        stolen_sending |= {size: after[size] for size in long}
    (size_before, time_before), (size_last, time_last) = occupying[-2:]
    return Costs(
        latency_ns=latency,
        send_overhead_ns=sending[smallest],
        receive_overhead_ns=receiving[smallest],
        overhead_per_byte_ns=0.0,
        gap_ns=0.0,
        gap_per_byte_ns=max(1e-6, (time_last - time_before) / (size_last - size_before)),
        eager_bytes_max=longest_eager,
        rendezvous_ns=asking,
        both_ways=_both_ways(one_more, both_ways, longest_eager) if calibration.is_within_host else 1.0,
        post_overhead_ns=float(np.median(list(curve("posting").values()))),
        moving_ns=moving,
        occupying_ns=occupying,
        sending_ns=_broken_at(longest_eager, sending),
        receiving_ns=_broken_at(longest_eager, receiving),
        leaving_ns=tuple(leaving.items()),
        stolen_sending_ns=_broken_at(longest_eager, stolen_sending),
        stolen_receiving_ns=_broken_at(longest_eager, curve("stolen, receiver")),
    )


def _rising(times: dict[int, float]) -> tuple[tuple[int, float], ...]:
    """The curve without its falls, which are of the measurement."""
    sizes = sorted(times)
    return tuple(
        zip(sizes, np.maximum.accumulate([times[size] for size in sizes]).tolist(), strict=True)
    )


def _broken_at(eager_max: int, times: dict[int, float]) -> tuple[tuple[int, float], ...]:
    """The curve with both ends of its jump, from the longest eager message to the next."""
    whole = dict(times)
    eager, long = (
        [size for size in sorted(times) if (size > eager_max) == is_long] for is_long in (False, True)
    )
    if len(eager) > 1 and long:
        before, last = eager[-2:]
        slope = (times[last] - times[before]) / (last - before)
        whole[eager_max] = max(0.0, times[last] + slope * (eager_max - last))
        whole[eager_max + 1] = times[long[0]]
    return tuple(sorted(whole.items()))


def _both_ways(one_more: dict[int, float], both_ways: dict[int, float], eager_max: int) -> float:
    """How much longer long messages take while others come the other way."""
    ratios = [both_ways[size] / time for size, time in one_more.items() if size > eager_max and time > 0]
    return float(np.clip(np.median(ratios), 1, 2)) if ratios else 1.0


def copy_bytes_per_s(calibration: Calibration) -> float | None:
    """Of messages that came before their receive; None where that costs nothing that can be seen."""
    slopes = []
    for size in calibration.sizes:
        if 1024 <= size <= calibration.eager_bytes_max:
            late, expected = (
                float(np.median(calibration.series[name][size]))
                for name in ("receiving, unexpected", "receiving")
            )
            slopes.append((late - expected) / size)
    slope = float(np.median(slopes)) if slopes else 0.0
    return 1e9 / slope if slope > 1e-3 else None


def spread_of(calibration: Calibration) -> Spread:
    smallest, middle, largest = (calibration.sizes[i] for i in (0, len(calibration.sizes) // 2, -1))
    return Spread(
        latency=_half_range(calibration.series["one way, written before"][smallest]),
        overhead=max(_half_range(calibration.series[name][middle]) for name in _OF_PROCESSORS),
        bytes=_half_range(calibration.series["one more"][largest]),
    )


def platform_of(
    name: str, between: Calibration, within: Calibration | None, *, ranks_per_host: int
) -> dict[str, Any]:
    """A platform file's contents, with the larger spread of the two."""
    platform = to_platform(
        name,
        costs_of(between),
        costs_of(within) if within is not None else None,
        ranks_per_host=ranks_per_host,
    )
    spreads = [asdict(spread_of(one)) for one in (between, within) if one is not None]
    platform["spread"] = {
        part: float(f"{max(spread[part] for spread in spreads):.3g}") for part in spreads[0]
    }
    fullest = max(
        (one for one in (between, within) if one), key=lambda one: (one.ranks_on_host, one.slowdown)
    )
    if fullest.cores_on_host < fullest.ranks_on_host:
        platform["cores_per_host"] = fullest.cores_on_host
        platform["core_slice_ns"] = float(f"{fullest.core_slice_ns:.3g}")
    elif fullest.ranks_on_host > 1 and fullest.slowdown >= _SLOWDOWN_REPORTED:
        platform["slowdown_at_once"] = float(f"{fullest.slowdown:.3g}")
    rate = copy_bytes_per_s(within or between)
    if rate is not None:
        platform["copy_bytes_per_s"] = float(f"{rate:.3g}")
    return platform


def describe(calibration: Calibration) -> str:
    """Two lines: what a message takes, and how far the rounds lie apart."""
    costs, spread = costs_of(calibration), spread_of(calibration)
    place = "within a host" if calibration.is_within_host else "between hosts"
    return (
        f"{place}, {calibration.mpi}: L {costs.latency_ns:.0f} ns, o_s {costs.send_overhead_ns:.0f} ns, "
        f"o_r {costs.receive_overhead_ns:.0f} ns, {1 / costs.gap_per_byte_ns:.3g} GB/s; both ways "
        f"{costs.both_ways:.2f}; eager up to {costs.eager_bytes_max} bytes\n"
        f"  spread of {calibration.rounds} rounds: latency {100 * spread.latency:.0f} %, overhead "
        f"{100 * spread.overhead:.0f} %, bytes {100 * spread.bytes:.0f} %"
    )


def _half_range(times: Sequence[float]) -> float:
    low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
    return float((high - low) / 2 / middle) if middle > 0 else 0.0
