# SPDX-License-Identifier: Apache-2.0
"""Colours of task kinds and ranks, the same in the page and in the PNG files.

From Paul Tol's schemes, which people with colour-blindness can tell apart. The kinds that took most
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


def rank_colour(rank: int) -> str:
    return _RANKS[rank % len(_RANKS)]


def span_colour(kind: int) -> str:
    return _SPANS[kind % len(_SPANS)]


def ink_on(colour: str) -> str:
    """What can be read on it."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#1b2430" if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else "#ffffff"


#: Parts of a worker's time, in the order of measures.dead_time.PARTS: work in ink, waiting in colours.
DEAD_TIME = ("#5B7FA6", "#F3D9A4", "#D55E00", "#F0A050", "#C9B3D6", "#D9DEE4")
