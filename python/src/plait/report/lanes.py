# SPDX-License-Identifier: Apache-2.0
"""Sorts everything with a start and an end into lanes: what the task plot draws.

For each rank, from the top: spans, one lane a worker, one a further thread, one for the calls of each
thread of a program that was recorded from outside, and thin rows for what goes on in the background and
overlaps: sends and receives, and collectives between their beginning and their end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.report.lane_groups import group_lanes

#: More lanes than this cannot be distinguished on a page: those of some ranks are drawn.
LANES_MAX = 400
#: Ranks that have lanes; of more, those that spent most and least, and groups of neighbours.
RANKS_MAX = 128
#: Rows for the sends and receives of a rank; more at once are drawn over each other in the last.
MESSAGE_ROWS_MAX = 5
#: With more ranks than this, what goes on in the background of calls is left out.
BACKGROUND_RANKS_MAX = 64
_EXTREMES = 8

Ints = npt.NDArray[np.int64]


#: Columns of bars. kind: see bar_kinds. site, peer: -1 = none or not known.
_BAR: dict[str, pl.DataType] = {
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "ready_ns": pl.Int64(),
    "kind": pl.Int32(),
    "step": pl.Int64(),
    "object": pl.UInt64(),
    "site": pl.Int32(),
    "peer": pl.Int32(),
    "bytes_given": pl.Int64(),
    "bytes_got": pl.Int64(),
}


@dataclass(frozen=True)
class Bars:
    """Rows of a table that are the bars of a lane. They are taken when they are drawn: of a long run,
    those of all lanes would need as much memory as its tables."""

    table: pl.DataFrame
    rows: pl.Series | None = None  # None: all
    is_ready: bool = False  # whether the table has the columns of _BAR

    @property
    def height(self) -> int:
        return self.table.height if self.rows is None else self.rows.len()

    def lengths_ns(self) -> Ints:
        lengths = self._taken(self.table.select(pl.col("end_ns") - pl.col("start_ns")))
        found: Ints = lengths.to_series().to_numpy()
        return found

    def take(self) -> pl.DataFrame:
        """The columns of _BAR."""
        return self.table if self.is_ready else _as_bars(self._taken(self.table))

    def _taken(self, table: pl.DataFrame) -> pl.DataFrame:
        return table if self.rows is None else table[self.rows]


_NO_BARS = Bars(events.empty(_BAR))


@dataclass(frozen=True)
class Lane:
    rank: int
    worker: int  # of worker, call and span lanes
    what: str  # worker, calls, messages, background, spans, gaps
    label: str
    last_rank: int = -1  # of a group of ranks, from `rank` on: the lane shows their mean; else -1
    content: Bars = field(default_factory=lambda: _NO_BARS, compare=False, repr=False)

    @property
    def count(self) -> int:
        return self.content.height

    def bars(self) -> pl.DataFrame:
        """The columns of _BAR, by start."""
        return self.content.take()


@dataclass(frozen=True)
class Lanes:
    lanes: list[Lane]
    lanes_left_out: int
    ranks_left_out: int = 0

    @property
    def height(self) -> int:
        """Of all bars."""
        return sum(lane.count for lane in self.lanes)

    def bars(self) -> pl.DataFrame:
        """Of all lanes, one after another."""
        tables = [lane.bars() for lane in self.lanes]
        return pl.concat(tables) if tables else events.empty(_BAR)


_NOTHING = {"site": -1, "peer": -1, "bytes_given": 0, "bytes_got": 0, "step": -1, "object": 0}
#: What lanes are chosen by, of tables that have it.
_CHOSEN_BY = ("rank", "worker", "role", "class", "start_ns", "end_ns")
GAP_NAME = "no thread polled the network"


@dataclass(frozen=True)
class KindBases:
    """Numbers of the kinds of bars: tasks, spans, the poll gap, messages of no task, functions."""

    spans: int
    gap: int
    send: int
    receive: int
    functions: int


def kind_bases(run: Run) -> KindBases:
    spans = len(run.kinds)
    gap = spans + len(run.span_kinds)
    return KindBases(spans, gap, gap + 1, gap + 2, gap + 3)


def bar_kinds(run: Run) -> list[str]:
    """Names, in the order in which kinds of bars are numbered."""
    return [*run.kinds, *run.span_kinds, GAP_NAME, "sent", "received", *run.functions]


def make_lanes(run: Run) -> Lanes:
    if run.is_profile:  # the few events that it has are not what its ranks did
        run = replace(run, calls=run.calls.clear(), messages=run.messages.clear())
    chosen = _choose_ranks(run)
    tables = _tables(run, chosen)
    by_rank = {name: _parts(table, chosen) for name, table in tables.items()}
    lanes: list[Lane] = []
    for rank in chosen:
        own = {name: parts[rank] for name, parts in by_rank.items() if rank in parts}
        lanes.extend(
            Lane(rank, worker, what, label, content=Bars(tables[source], part["row"]))
            for worker, what, label, source, part in _of_rank(own, len(run.ranks_present))
        )
    left_out = max(0, len(lanes) - LANES_MAX)
    lanes = lanes[:LANES_MAX]
    if len(chosen) < len(run.ranks_present):
        lanes.extend(_of_groups(run, kind_bases(run)))
    return Lanes(lanes, left_out, len(run.ranks_present) - len(chosen))


def _tables(run: Run, chosen: list[int]) -> dict[str, pl.DataFrame]:
    """What bars are made from."""
    bases = kind_bases(run)
    calling = run.calls["rank"].unique()
    # Messages have lanes of their own where nothing else shows them.
    others = ~pl.col("rank").is_in(calling.implode()) & pl.col("rank").is_in(chosen)
    return {
        "spans": _span_bars(run, bases),
        "tasks": run.tasks,
        "calls": _call_bars(run, bases),
        "messages": _message_bars(run.messages.filter(others), bases),
        "engine": _message_bars(run.engine_messages, bases),
        "gaps": _gap_bars(run, bases),
    }


#: worker, what, label, the table that the bars are in, and their rows there.
_Part = tuple[int, str, str, str, pl.DataFrame]


def _of_rank(own: dict[str, pl.DataFrame], ranks: int) -> list[_Part]:
    """The lanes of one rank."""
    parts: list[_Part] = []
    for worker, part in _by_worker(own.get("spans")):
        parts.append((worker, "spans", "spans", "spans", part))
    tasks, calls, gaps = (own.get(name) for name in ("tasks", "calls", "gaps"))
    background, source = None, "tasks"
    if tasks is not None:
        for worker, part in _by_worker(tasks.filter(pl.col("role") == events.ROLE_TASK)):
            label = "other thread" if worker == events.NO_WORKER else f"worker {worker}"
            parts.append((worker, "worker", label, "tasks", part))
        background = tasks.filter(pl.col("role") != events.ROLE_TASK)
    if calls is None and (background is None or not background.height):
        background, source = own.get("messages"), "messages"  # nothing else shows them
    parts.extend(_in_rows("messages", "messages", source, background))
    if calls is not None:
        parts.extend(_call_lanes(calls, ranks))
        if ranks <= BACKGROUND_RANKS_MAX:
            parts.extend(_in_rows("messages", "engine", "engine", own.get("engine")))
    if gaps is not None:
        parts.append((0, "gaps", "poll gaps", "gaps", gaps.sort("start_ns")))
    return parts


def _call_lanes(calls: pl.DataFrame, ranks: int) -> list[_Part]:
    is_begun = pl.col("class") == events.CALL_BEGUN_COLLECTIVE
    threads = _by_worker(calls.filter(~is_begun))
    parts: list[_Part] = []
    for worker, part in threads:
        name = "other thread" if worker == events.NO_WORKER else f"thread {worker}"
        parts.append((worker, "calls", name if len(threads) > 1 else "calls", "calls", part))
    if ranks <= BACKGROUND_RANKS_MAX:
        parts.extend(_in_rows("background", "begun", "calls", calls.filter(is_begun)))
    return parts


def _in_rows(what: str, label: str, source: str, table: pl.DataFrame | None) -> list[_Part]:
    if table is None:
        return []
    rows = _rows(table.sort("start_ns"))
    return [(row, what, "" if row else label, source, part) for row, part in enumerate(rows)]


def _of_groups(run: Run, bases: KindBases) -> list[Lane]:
    """Lanes of all ranks, in groups: of tasks and of calls."""
    is_begun = pl.col("class") == events.CALL_BEGUN_COLLECTIVE
    columns = ("rank", "worker", "kind", "start_ns", "end_ns")
    tasks = run.tasks.filter(pl.col("role") == events.ROLE_TASK).select(columns)
    calls = _call_bars(run, bases).filter(~is_begun).select(columns)
    ranks, window_ns = list(run.ranks_present), run.window_ns()
    return [
        Lane(group.first_rank, 0, what, what, group.last_rank, Bars(group.bars))
        for what, table in (("worker", tasks), ("calls", calls))
        if table.height
        for group in group_lanes(table, ranks, window_ns)
    ]


def _choose_ranks(run: Run) -> list[int]:
    ranks = list(run.ranks_present)
    if len(ranks) <= RANKS_MAX:
        return ranks
    table = run.calls if run.calls.height else run.tasks
    spent = table.group_by("rank").agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("time"))
    ordered = spent.sort("time", "rank")["rank"].to_list()
    return sorted({*ordered[:_EXTREMES], *ordered[-_EXTREMES:]})


def _parts(table: pl.DataFrame, chosen: list[int]) -> dict[int, pl.DataFrame]:
    """By rank: the numbers of its rows, and the columns that lanes are chosen by."""
    if not table.height:
        return {}
    names = [name for name in _CHOSEN_BY if name in table.columns]
    wanted = table.select(names).with_row_index("row").filter(pl.col("rank").is_in(chosen))
    parts = wanted.partition_by("rank", as_dict=True, maintain_order=True)
    return {int(key[0]): part for key, part in parts.items()}


def _span_bars(run: Run, bases: KindBases) -> pl.DataFrame:
    return run.spans.with_columns((pl.col("kind") + bases.spans).cast(pl.Int32))


def _gap_bars(run: Run, bases: KindBases) -> pl.DataFrame:
    return run.gaps.with_columns(pl.lit(bases.gap, dtype=pl.Int32).alias("kind"))


def _call_bars(run: Run, bases: KindBases) -> pl.DataFrame:
    return run.calls.with_columns((pl.col("function") + bases.functions).cast(pl.Int32).alias("kind"))


def _message_bars(messages: pl.DataFrame, bases: KindBases) -> pl.DataFrame:
    """Both sides of messages."""
    is_received = pl.col("received")
    size = pl.col("size_bytes")
    kind = pl.when(is_received).then(bases.receive).otherwise(bases.send).cast(pl.Int32)
    return messages.select(
        "rank",
        pl.col("posted_ns").alias("start_ns"),
        pl.max_horizontal("posted_ns", "completed_ns").alias("end_ns"),
        kind.alias("kind"),
        pl.when(is_received).then("source").otherwise("destination").alias("peer"),
        pl.when(is_received).then(0).otherwise(size).alias("bytes_given"),
        pl.when(is_received).then(size).otherwise(0).alias("bytes_got"),
    )


def _as_bars(part: pl.DataFrame) -> pl.DataFrame:
    """The columns of _BAR; those that this kind of bar does not have, filled."""
    there = set(part.columns)
    filled = [
        (
            pl.col(name)
            if name in there
            else pl.col("start_ns").alias(name)
            if name == "ready_ns"
            else pl.lit(_NOTHING[name]).alias(name)
        ).cast(kind)
        for name, kind in _BAR.items()
    ]
    return part.select(filled)


def _by_worker(table: pl.DataFrame | None) -> list[tuple[int, pl.DataFrame]]:
    if table is None or not table.height:
        return []
    parts = table.sort("start_ns").partition_by("worker", as_dict=True, maintain_order=True)
    return sorted((int(key[0]), part) for key, part in parts.items())


def _rows(messages: pl.DataFrame) -> list[pl.DataFrame]:
    """Each message into the first row that is free at its start."""
    if not messages.height:
        return []
    free = [-(1 << 62)] * MESSAGE_ROWS_MAX
    chosen = []
    for start, end in zip(messages["start_ns"].to_list(), messages["end_ns"].to_list(), strict=True):
        row = next((r for r, until in enumerate(free) if until <= start), MESSAGE_ROWS_MAX - 1)
        free[row] = max(free[row], end)
        chosen.append(row)
    rows = np.asarray(chosen)
    return [messages.filter(pl.Series(rows == row)) for row in range(int(rows.max()) + 1)]


def merge_shortest(lanes: Lanes, bars_max: int, window_ns: tuple[int, int]) -> Lanes:
    """At most about `bars_max` bars: the shortest are gathered by kind within small time bins.

    The page then shows their time where it was spent, within a bin, but not each by itself.
    """
    if lanes.height <= bars_max:
        return lanes
    length = np.concatenate([lane.content.lengths_ns() for lane in lanes.lanes])
    keep = bars_max // 2
    limit = int(np.partition(length, length.size - keep)[length.size - keep])
    bins = max(1, bars_max // (2 * max(1, len(lanes.lanes)) * 4))
    width = max(1, (window_ns[1] - window_ns[0]) // bins)
    is_long = (pl.col("end_ns") - pl.col("start_ns")) > limit
    merged: list[Lane] = []
    for lane in lanes.lanes:
        part = lane.bars()
        short = _gather(part.filter(~is_long), width, window_ns[0])
        whole = pl.concat([part.filter(is_long), short]).sort("start_ns")
        merged.append(replace(lane, content=Bars(whole, is_ready=True)))
    return replace(lanes, lanes=merged)


def _gather(short: pl.DataFrame, width_ns: int, low_ns: int) -> pl.DataFrame:
    """One bar for each (bin, kind), laid one after the other from where the bin's first began."""
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    gathered = (
        short.with_columns(((pl.col("start_ns") - low_ns) // width_ns).alias("bin"))
        .group_by("bin", "step", "kind")
        .agg(
            pl.col("start_ns").min().alias("first"),
            length.alias("length"),
        )
        .sort("bin", "first")
        .with_columns(
            pl.col("first").min().over("bin").alias("begin"),
            (pl.col("length").cum_sum().over("bin") - pl.col("length")).alias("before"),
        )
        .with_columns((pl.col("begin") + pl.col("before")).alias("start_ns"))
    )
    return _as_bars(
        gathered.select(
            "start_ns",
            (pl.col("start_ns") + pl.col("length")).alias("end_ns"),
            "kind",
            "step",
        )
    )
