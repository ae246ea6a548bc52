# SPDX-License-Identifier: Apache-2.0
"""Curves of two runs over each other, as SVG for a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import polars as pl

from plait._units import bytes_unit, format_time, time_unit
from plait.measures.messages import data_rate, in_flight
from plait.report.analysis import Analysis

COLOURS = ("#0077BB", "#EE7733")
BINS = 400
_WIDTH, _HEIGHT = 1280, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 10, 34

Floats = npt.NDArray[np.float64]


def in_flight_curves(analyses: Sequence[Analysis]) -> str | None:
    """Bytes in flight of all ranks together, the most in each of `BINS` bins. None: no messages."""
    if not any(analysis.matched.height for analysis in analyses):
        return None
    edges = _edges(analyses)
    return _draw(edges, [_most_in_flight(analysis, edges) for analysis in analyses], "")


def rate_curves(analyses: Sequence[Analysis]) -> str | None:
    """Bytes a second that arrive at all ranks together. None: no messages."""
    if not any(analysis.matched.height for analysis in analyses):
        return None
    edges = _edges(analyses)
    values = []
    for analysis in analyses:
        low = analysis.working_ns[0]
        whole = analysis.matched.with_columns(pl.lit(0).alias("destination"))
        window = (low, low + int(edges[-1]))
        values.append(data_rate(whole, window, BINS)[1].get(0, np.zeros(BINS)))
    return _draw(edges, values, "/s")


def _edges(analyses: Sequence[Analysis]) -> Floats:
    """Of the bins, from the start of each run to the end of the longer one."""
    longest = max(analysis.working_ns[1] - analysis.working_ns[0] for analysis in analyses)
    found: Floats = np.linspace(0.0, max(1.0, float(longest)), BINS + 1)
    return found


def _most_in_flight(analysis: Analysis, edges: Floats) -> Floats:
    curve = in_flight(analysis.matched.with_columns(pl.lit(0).alias("source"))).get(0)
    if curve is None:
        return np.zeros(BINS)
    times = (curve.time_ns - analysis.working_ns[0]).astype(np.float64)
    # What holds at the start of a bin, and what changes in it.
    at = np.searchsorted(times, edges[:-1], side="right") - 1
    most = np.where(at >= 0, curve.value[np.maximum(at, 0)], 0.0)
    places = np.searchsorted(edges, times, side="right") - 1
    inside = (places >= 0) & (places < BINS)
    np.maximum.at(most, places[inside], curve.value[inside])
    return most


def _draw(edges: Floats, values: Sequence[Floats], after: str) -> str:
    highest = max(1.0, max(float(value.max()) for value in values))
    unit, name = bytes_unit(highest)
    step = _nice(highest / unit / 4)
    top = step * np.ceil(highest / unit / step)
    parts = []
    for number in range(round(top / step) + 1):
        y = _y(number * step / top)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        label = f"{number * step:g} {name}{after}"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    parts.extend(_time_axis(float(edges[-1])))
    for colour, value in zip(COLOURS, values, strict=True):
        parts.append(_area(edges, value / unit / top, colour))
    return f'<svg class="curves" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{"".join(parts)}</svg>'


def _time_axis(longest_ns: float) -> list[str]:
    scale, _ = time_unit(longest_ns)
    step = _nice(longest_ns / scale / 8)
    parts = []
    for number in range(int(longest_ns / scale / step) + 1):
        x = _x(number * step * scale / longest_ns)
        label = format_time(number * step * scale)
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(label)}</text>')
    return parts


def _area(edges: Floats, shares: Floats, colour: str) -> str:
    """A stepped line, filled below so lightly that what is behind can be seen."""
    x = [_x(float(edge / edges[-1])) for edge in edges]
    steps = [
        f"{x[bin_]:.1f},{_y(float(share)):.1f} {x[bin_ + 1]:.1f},{_y(float(share)):.1f}"
        for bin_, share in enumerate(shares)
    ]
    line = " ".join(steps)
    below = f"{x[0]:.1f},{_y(0):.1f} {line} {x[-1]:.1f},{_y(0):.1f}"
    return (
        f'<polygon points="{below}" fill="{colour}" fill-opacity="0.16"/>'
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    )


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _TOP + (1.0 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _nice(step: float) -> float:
    """1, 2 or 5 times a power of ten, at least `step`."""
    power = 10.0 ** np.floor(np.log10(max(step, 1e-12)))
    return float(power * next(factor for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9)))
