# SPDX-License-Identifier: Apache-2.0
"""Colours of task kinds and ranks, the same in the page and in the PNG files.

From Paul Tol's schemes, which people with colour-blindness can distinguish. The kinds that took most
time get the colours that differ most.
"""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait._events import Run

_KINDS = (
    *("#4477AA", "#DDAA33", "#228833", "#CC6677", "#66CCEE", "#882255", "#999933", "#44AA99"),
    *("#332288", "#EE8866", "#AA4499", "#BBCC33", "#6699CC", "#997700", "#994455", "#99DDFF"),
)
_SENDS = ("#EE7733", "#BB4400", "#FFB380")
_RECEIVES = ("#009988", "#00665C", "#66C9BF")
_RANKS = (*("#0077BB", "#EE7733", "#009988", "#CC3311", "#33BBEE", "#EE3377", "#997700", "#555555"),)
_SPANS = ("#B8C4D6", "#D6C8B8", "#B8D6C0", "#D3B8D6", "#D6D3A8", "#A8D0D6")
#: Stretches of a critical path that are waits, by their number in measures.critical_path.WHAT.
WAITS = ("#222222", "#BBBBBB", "#CC3377", "#888888", "#DDDDDD", "#F0A3C2")
GAP = "#AA3377"
SENT, RECEIVED = _SENDS[0], _RECEIVES[0]
#: Time outside all calls of a program that was recorded from outside.
COMPUTING = "#B4C4D6"
#: What a rank's time went into (measures.rank_time.PARTS): computing, wait states, other time in calls.
RANK_TIME = (
    *(COMPUTING, "#D55E00", "#F0B04A", "#AA4499", "#D79BCB", "#882255", "#CC6677", "#6F7B88"),
    *("#DDCC55", "#66B8D9"),
)
#: From little to much: of bytes and messages, and of waiting; on light ground and on dark.
AMOUNTS = (*("#E3F1EE", "#BFE3D8", "#8CCBC6", "#52ABC0", "#2B83B5", "#215B9C", "#1E3476"),)
AMOUNTS_DARK = (*("#17394B", "#1D5570", "#257A8F", "#3AA29C", "#73C79A", "#BFE59A", "#F7F7B0"),)
WAITING = ("#EEF2F6", "#FBE3C4", "#F5B872", "#E88A2E", "#D55E00", "#8A3200")
WAITING_DARK = ("#242D37", "#553A22", "#94531B", "#D9741A", "#F3A04A", "#FFE0B0")
#: The largest losses of a run, in their order; all others.
LARGEST_LOSSES = ("#D55E00", "#AA4499", "#DDAA33")
SMALLER_LOSSES = "#6F7B88"
#: Overlap: achieved, possible but not achieved, not possible.
OVERLAP = ("#228833", "#E69F00", "#C3CCD6")
#: Calls by what they do: the values of the class column of the call table.
CALLS = (
    *("#888888", "#66B8D9", "#D55E00", "#E69F00", "#AA4499", "#D19AC6"),
    *("#228833", "#BBB84A", "#8C6D1F", "#6F7B88", "#882255"),
)
#: How far a class's second, third, ... function is mixed with white (above 0) or black (below).
_SHADES = (0.0, 0.35, -0.25, 0.55, -0.42, 0.2)


def kind_colours(run: Run) -> list[str]:
    """A colour for each of run.kinds."""
    totals = (
        run.tasks.group_by("kind")
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("time"), pl.col("role").max())
        .sort("time", descending=True)
    )
    colours = ["#777777"] * len(run.kinds)
    used = {events.ROLE_TASK: 0, events.ROLE_SEND: 0, events.ROLE_RECEIVE: 0}
    schemes = {
        events.ROLE_TASK: _KINDS,
        events.ROLE_SEND: _SENDS,
        events.ROLE_RECEIVE: _RECEIVES,
    }
    for kind, role in zip(totals["kind"], totals["role"], strict=True):
        scheme = schemes[role]
        colours[kind] = scheme[used[role] % len(scheme)]
        used[role] += 1
    return colours


def function_colours(run: Run) -> list[str]:
    """A colour for each of run.functions: that of what it does, in shades."""
    totals = (
        run.calls.group_by("function")
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("time"), pl.col("class").min())
        .sort("time", "function", descending=[True, False])
    )
    colours = [CALLS[0]] * len(run.functions)
    used: dict[int, int] = {}
    for function, what in zip(totals["function"], totals["class"], strict=True):
        at = used.get(what, 0)
        used[what] = at + 1
        colours[function] = _mix(CALLS[min(what, len(CALLS) - 1)], _SHADES[at % len(_SHADES)])
    return colours


def bar_colours(run: Run) -> list[str]:
    """Of all kinds of bars in lanes, in the order of report.lanes.bar_kinds."""
    spans = [span_colour(i) for i in range(len(run.span_kinds))]
    return [*kind_colours(run), *spans, GAP, SENT, RECEIVED, *function_colours(run)]


def _mix(colour: str, shade: float) -> str:
    other = 255 if shade > 0 else 0
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(p + abs(shade) * (other - p)):02X}" for p in parts)


def rank_colour(rank: int) -> str:
    return _RANKS[rank % len(_RANKS)]


def kind_colour(number: int) -> str:
    return _KINDS[number % len(_KINDS)]


def span_colour(kind: int) -> str:
    return _SPANS[kind % len(_SPANS)]


def ink_on(colour: str) -> str:
    """What can be read on it."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#1b2430" if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else "#ffffff"


#: Parts of a worker's time, in the order of measures.dead_time.PARTS: work in ink, waiting in colours.
DEAD_TIME = ("#5B7FA6", "#F3D9A4", "#D55E00", "#F0A050", "#C9B3D6", "#D9DEE4")
