# SPDX-License-Identifier: Apache-2.0
"""Colours of task kinds and ranks, the same in the page and in the PNG files.

Most are from Paul Tol's schemes. Within a scheme any two differ also for readers with deuteranopia or
protanopia: python/tests/plots/test_palette.py simulates both. The kinds that took most time get plain
colours, others a pattern too (`marks`).
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.plots.marks import OTHER, Mark, mark_of, mix

KINDS = ("#4477AA", "#DDAA33", "#882255", "#66CCEE", "#CC6677", "#332288", "#EE8866", "#661100")
_SENDS = ("#EE7733", "#993300", "#FFC9A0")
_RECEIVES = ("#009988", "#004D45", "#8FDDD4")
#: Curves of more ranks have dashes, too.
RANKS = ("#0077BB", "#EE7733", "#33BBEE", "#EE3377", "#8C6EF2")
_SPANS = ("#E8C7C8", "#D6C8B8", "#B8D6C0", "#D3B8D6", "#D6D3A8", "#A8D0D6")
#: Stretches of a critical path that are waits, by their number in measures.critical_path.WHAT.
WAITS = ("#222222", "#BBBBBB", "#CC3377", "#985F17", "#E3E6EA", "#5312E7")
GAP = "#AA3377"
SENT, RECEIVED = _SENDS[0], _RECEIVES[0]
#: Time outside all calls of a program that was recorded from outside.
COMPUTING = "#B4C4D6"
#: What a rank's time went into (measures.rank_time.PARTS): computing, wait states, other time in calls.
RANK_TIME = (
    *(COMPUTING, "#D55E00", "#F0B04A", "#AA4499", "#882255", "#661100", "#D2C396", "#8C6EF2"),
    *("#332288", "#E8F3EC", "#6F7B88"),
)
#: From little to much: of bytes and messages, and of waiting; on light ground and on dark.
AMOUNTS = (*("#E3F1EE", "#BFE3D8", "#8CCBC6", "#52ABC0", "#2B83B5", "#215B9C", "#1E3476"),)
AMOUNTS_DARK = (*("#17394B", "#1D5570", "#257A8F", "#3AA29C", "#73C79A", "#BFE59A", "#F7F7B0"),)
WAITING = ("#EEF2F6", "#FBE3C4", "#F5B872", "#E88A2E", "#D55E00", "#8A3200")
WAITING_DARK = ("#242D37", "#553A22", "#94531B", "#D9741A", "#F3A04A", "#FFE0B0")
#: Computing that was sampled: in a function itself, in what it calls.
SAMPLED, SAMPLED_CALLEES = "#5B7FA6", COMPUTING
#: The largest losses of a run, in their order; all others.
LARGEST_LOSSES = ("#D55E00", "#AA4499", "#DDAA33")
SMALLER_LOSSES = "#6F7B88"
#: Overlap: achieved, possible but not achieved, not possible.
OVERLAP = ("#228833", "#E69F00", "#C3CCD6")
#: Of a collective: waiting for the last rank, what its bytes need, and what it takes beyond that.
COLLECTIVE = ("#AA4499", "#C3CCD6", "#D55E00")
#: Calls by what they do: the values of the class column of the call table.
CALLS = (
    *("#888888", "#66B8D9", "#D55E00", "#E69F00", "#AA4499", "#D19AC6"),
    *("#228833", "#BBB84A", "#8C6D1F", "#6F7B88", "#882255"),
)
#: What a rank's time went into by class of call; -1 is computing.
CLASS_TIME = {-1: COMPUTING, **dict(enumerate(CALLS))}
#: How far a class's second, third, ... function is mixed with white (above 0) or black (below).
_SHADES = (0.0, 0.35, -0.25, 0.55, -0.42, 0.2)


def kind_marks(run: Run) -> list[Mark]:
    """A mark for each of run.kinds."""
    of_sums = run.engine_sums.filter((pl.col("of") == events.ENGINE_TASKS) & (pl.col("kind") >= 0))
    times = (
        run.tasks.select("kind", "role", (pl.col("end_ns") - pl.col("start_ns")).alias("time")),
        of_sums.select("kind", "role", pl.col("time_ns").alias("time")),
    )
    totals = (
        pl.concat(times, how="vertical_relaxed")
        .group_by("kind")
        .agg(pl.col("time").sum(), pl.col("role").max())
        .sort("time", "kind", descending=[True, False])
    )
    found = [OTHER] * len(run.kinds)
    schemes = {
        events.ROLE_TASK: KINDS,
        events.ROLE_SEND: _SENDS,
        events.ROLE_RECEIVE: _RECEIVES,
    }
    used = dict.fromkeys(schemes, 0)
    for kind, role in zip(totals["kind"], totals["role"], strict=True):
        found[kind] = mark_of(schemes[role], used[role])
        used[role] += 1
    return found


def function_marks(run: Run) -> list[Mark]:
    """A mark for each of run.functions: the colour of what it does, in shades."""
    length = (pl.col("end_ns") - pl.col("start_ns")).alias("time")
    of_calls = run.calls.select("function", "class", length)
    of_sums = run.sums.filter((pl.col("of") == events.SUM_OF_CALLS) & (pl.col("function") >= 0)).select(
        "function", "class", pl.col("time_ns").alias("time")
    )
    totals = (
        pl.concat([of_calls, of_sums], how="vertical_relaxed")
        .group_by("function")
        .agg(pl.col("time").sum(), pl.col("class").min())
        .sort("time", "function", descending=[True, False])
    )
    found = [OTHER] * len(run.functions)
    used: dict[int, int] = {}
    for function, what in zip(totals["function"], totals["class"], strict=True):
        at = used.get(what, 0)
        used[what] = at + 1
        colour = CALLS[min(what, len(CALLS) - 1)]
        found[function] = mark_of([mix(colour, shade) for shade in _SHADES], at)
    return found


def span_marks(run: Run) -> list[Mark]:
    """A mark for each of run.span_kinds."""
    return [mark_of(_SPANS, number) for number in range(len(run.span_kinds))]


def bar_marks(run: Run) -> list[Mark]:
    """Of all kinds of bars in lanes, in the order of report.lanes.bar_kinds."""
    fixed = [Mark(GAP), Mark(SENT), Mark(RECEIVED)]
    return [*kind_marks(run), *span_marks(run), *fixed, *function_marks(run)]


def module_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each file of code, in the order in which they turn up; text can be read on them."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name, mix(KINDS[len(found) % len(KINDS)], 0.5))
    return found


def rank_colour(rank: int) -> str:
    return RANKS[rank % len(RANKS)]


def rank_dash(rank: int) -> str:
    """Of the rank's curves, as matplotlib has it."""
    return ("-", "--", ":", "-.")[rank // len(RANKS) % 4]


def kind_colour(number: int) -> str:
    return KINDS[number % len(KINDS)]


def ink_on(colour: str) -> str:
    """What can be read on it."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#1b2430" if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else "#ffffff"


#: Stretches of a run's critical path, in the order of measures.run_path.WHAT.
RUN_PATH = ("#BBBBBB", "#4477AA", "#EE7733", "#CC79A7", "#DDCC77")
#: Parts of a worker's time, in the order of measures.dead_time.PARTS: work in ink, waiting in colours.
DEAD_TIME = ("#5B7FA6", "#F3D9A4", "#D55E00", "#F0A050", "#C9B3D6", "#D9DEE4")
