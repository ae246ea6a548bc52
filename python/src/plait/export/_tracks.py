# SPDX-License-Identifier: Apache-2.0
"""What happened in a run as rows of bars that nest, for the formats that draw such rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run

#: Rows for the messages, or non-blocking collectives, of a rank; more at once share the last one.
ROWS_MAX = 32
UNWATCHED = "no thread polled the network"

Ints = npt.NDArray[np.int64]

#: Columns of the bars of all tracks: name is an index into `names_of`, row that of the table they are
#: of.
BARS = ("start_ns", "end_ns", "name", "row")


@dataclass(frozen=True)
class Track:
    rank: int
    what: str  # thread, spans, gaps, messages, collectives
    number: int  # of the thread, or of the row
    #: BARS, by start, the longer first. No two overlap but where one lies in the other.
    bars: pl.DataFrame
    table: str  # the table of Run that `row` is a place in: tasks, calls, spans, gaps, messages

    @property
    def label(self) -> str:
        if self.what == "thread":
            if self.number == events.NO_WORKER:
                return "other thread"
            return f"{'thread' if self.table == 'calls' else 'worker'} {self.number}"
        names = {"spans": "phases", "gaps": "poll gaps", "collectives": "non-blocking collectives"}
        label = names.get(self.what, self.what)
        return label if self.number == 0 else f"{label} {self.number + 1}"


def zero_ns(run: Run) -> int:
    """What exports count times from: that of rank 0's monotonic clock, or the first event if that is
    before it.
    """
    return min(-run.clock_ns, run.window_ns()[0])


def names_of(run: Run) -> list[str]:
    """Of the bars: kinds of tasks, functions, kinds of spans, poll gaps, send and receive."""
    return [*run.kinds, *run.functions, *run.span_kinds, UNWATCHED, "send", "receive"]


def make_tracks(run: Run) -> Iterator[Track]:
    """For each rank: spans, the threads with their tasks, the threads with their calls, begun
    collectives, messages, poll gaps; those that hold nothing are left out.
    """
    first_function = len(run.kinds)
    first_span = first_function + len(run.functions)
    gap = first_span + len(run.span_kinds)
    begun = pl.col("class") == events.CALL_BEGUN_COLLECTIVE
    tables = {
        "spans": _bars(run.spans, pl.col("kind") + first_span),
        "tasks": _bars(run.tasks, pl.col("kind")).filter(pl.col("role") == events.ROLE_TASK),
        "calls": _bars(run.calls, pl.col("function") + first_function),
        "messages": _bars(_as_bars(run.messages), pl.lit(gap + 1) + pl.col("received").cast(pl.Int32)),
        "gaps": _bars(run.gaps, pl.lit(gap)),
    }
    calls, begun_calls = tables["calls"].filter(~begun), tables["calls"].filter(begun)
    for rank in run.ranks_present:
        own = pl.col("rank") == rank
        yield from _by_worker(rank, "spans", "spans", tables["spans"].filter(own))
        yield from _by_worker(rank, "thread", "tasks", tables["tasks"].filter(own))
        yield from _by_worker(rank, "thread", "calls", calls.filter(own))
        yield from _in_rows(rank, "collectives", "calls", begun_calls.filter(own))
        yield from _in_rows(rank, "messages", "messages", tables["messages"].filter(own))
        unwatched = tables["gaps"].filter(own)
        if unwatched.height:
            yield Track(rank, "gaps", 0, _nested(unwatched), "gaps")


def _as_bars(messages: pl.DataFrame) -> pl.DataFrame:
    return messages.with_columns(
        pl.col("posted_ns").alias("start_ns"), pl.col("completed_ns").alias("end_ns")
    )


def _bars(table: pl.DataFrame, name: pl.Expr) -> pl.DataFrame:
    return table.with_row_index("row").with_columns(
        name.cast(pl.Int64).alias("name"), pl.max_horizontal("start_ns", "end_ns").alias("end_ns")
    )


def _by_worker(rank: int, what: str, table: str, bars: pl.DataFrame) -> Iterator[Track]:
    parts = bars.partition_by("worker", as_dict=True, maintain_order=True)
    for (worker,), part in sorted(parts.items(), key=lambda item: int(item[0][0])):
        yield Track(rank, what, int(worker), _nested(part), table)


def _in_rows(rank: int, what: str, table: str, bars: pl.DataFrame) -> Iterator[Track]:
    """Each bar in the first row that is free at its start."""
    if not bars.height:
        return
    bars = bars.sort("start_ns", maintain_order=True)
    free: list[int] = []
    chosen = np.empty(bars.height, dtype=np.int64)
    spans = zip(bars["start_ns"].to_list(), bars["end_ns"].to_list(), strict=True)
    for place, (start, end) in enumerate(spans):
        row = next((number for number, until in enumerate(free) if until <= start), len(free))
        if row == len(free) and row < ROWS_MAX:
            free.append(end)
        row = min(row, ROWS_MAX - 1)
        free[row] = max(free[row], end)
        chosen[place] = row
    for number in range(len(free)):
        yield Track(rank, what, number, _nested(bars.filter(pl.Series(chosen == number))), table)


def _nested(bars: pl.DataFrame) -> pl.DataFrame:
    """Sorted, and those that reach beyond the end of one that they began in cut there."""
    bars = bars.select(BARS).sort("start_ns", "end_ns", descending=[False, True], maintain_order=True)
    start, end = bars["start_ns"].to_numpy(), bars["end_ns"].to_numpy()
    if not bool((start[1:] < np.maximum.accumulate(end)[:-1]).any()):
        return bars  # one after the other, as nearly always
    cut = end.tolist()
    open_ends: list[int] = []
    for place, begin in enumerate(start.tolist()):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends:
            cut[place] = min(cut[place], open_ends[-1])
        open_ends.append(cut[place])
    return bars.with_columns(pl.Series("end_ns", cut, dtype=pl.Int64()))


def edges(track: Track) -> Iterator[tuple[int, bool, int, int]]:
    """(time, whether it begins, name, row) of both ends of each bar, in an order that nests."""
    open_: list[tuple[int, int, int]] = []
    for start, end, name, row in track.bars.select(BARS).iter_rows():
        while open_ and open_[-1][0] <= start:
            until, ended, of = open_.pop()
            yield until, False, ended, of
        yield start, True, name, row
        open_.append((end, name, row))
    while open_:
        until, ended, of = open_.pop()
        yield until, False, ended, of
