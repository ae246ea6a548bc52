# SPDX-License-Identifier: Apache-2.0
"""Sorts everything with a start and an end into lanes: what the task plot draws.

For each rank, from the top: spans, one lane a worker, one a further thread, and thin rows for the
sends and receives, which occupy no worker and overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run

#: More lanes than this cannot be told apart on a page: the first ones are drawn.
LANES_MAX = 400
#: Rows for the sends and receives of a rank; more at once are drawn over each other in the last.
MESSAGE_ROWS_MAX = 5

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lane:
    rank: int
    worker: int  # of worker and span lanes
    what: str  # worker, messages, spans, gaps
    label: str
    first: int  # its bars are rows first to first + count of Lanes.bars
    count: int


@dataclass(frozen=True)
class Lanes:
    lanes: list[Lane]
    #: start_ns, end_ns, ready_ns, kind (an index into the page's list), step, object; by (lane, start)
    bars: pl.DataFrame
    lanes_left_out: int


_BAR = ["start_ns", "end_ns", "ready_ns", "kind", "step", "object"]


def make_lanes(run: Run) -> Lanes:
    """Kinds of spans are numbered after those of tasks, and the poll gap after those."""
    parts: list[tuple[int, int, str, str, pl.DataFrame]] = []
    span_base, gap_kind = len(run.kinds), len(run.kinds) + len(run.span_kinds)
    spans = run.spans.with_columns(
        pl.col("start_ns").alias("ready_ns"), (pl.col("kind") + span_base).cast(pl.Int32)
    )
    gaps = run.gaps.with_columns(
        pl.col("start_ns").alias("ready_ns"),
        pl.lit(gap_kind, dtype=pl.Int32).alias("kind"),
        pl.lit(-1, dtype=pl.Int64).alias("step"),
        pl.lit(0, dtype=pl.UInt64).alias("object"),
    )
    for rank in run.ranks_present:
        here = pl.col("rank") == rank
        own = run.tasks.filter(here)
        for worker, part in _by_worker(spans.filter(here)):
            parts.append((rank, worker, "spans", "spans", part))
        for worker, part in _by_worker(own.filter(pl.col("role") == events.ROLE_TASK)):
            label = "other thread" if worker == events.NO_WORKER else f"worker {worker}"
            parts.append((rank, worker, "worker", label, part))
        messages = own.filter(pl.col("role") != events.ROLE_TASK).sort("start_ns")
        for row, part in enumerate(_rows(messages)):
            parts.append((rank, row, "messages", "" if row else "messages", part))
        unwatched = gaps.filter(here).sort("start_ns")
        if unwatched.height:
            parts.append((rank, 0, "gaps", "poll gaps", unwatched))
    lanes: list[Lane] = []
    tables: list[pl.DataFrame] = []
    first = 0
    for rank, worker, what, label, part in parts[:LANES_MAX]:
        lanes.append(Lane(rank, worker, what, label, first, part.height))
        tables.append(part.select(_BAR))
        first += part.height
    empty = events.empty(events.TASKS).select(_BAR)
    bars = pl.concat(tables) if tables else empty
    return Lanes(lanes, bars, max(0, len(parts) - LANES_MAX))


def _by_worker(table: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
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
    bars = lanes.bars
    if bars.height <= bars_max:
        return lanes
    length = (bars["end_ns"] - bars["start_ns"]).to_numpy()
    keep = bars_max // 2
    limit = int(np.partition(length, length.size - keep)[length.size - keep])
    bins = max(1, bars_max // (2 * max(1, len(lanes.lanes)) * 4))
    width = max(1, (window_ns[1] - window_ns[0]) // bins)
    tables: list[pl.DataFrame] = []
    merged: list[Lane] = []
    first = 0
    for lane in lanes.lanes:
        part = bars[lane.first : lane.first + lane.count]
        is_long = (pl.col("end_ns") - pl.col("start_ns")) > limit
        short = _gather(part.filter(~is_long), width, window_ns[0])
        whole = pl.concat([part.filter(is_long), short]).sort("start_ns")
        tables.append(whole)
        merged.append(Lane(lane.rank, lane.worker, lane.what, lane.label, first, whole.height))
        first += whole.height
    return Lanes(merged, pl.concat(tables), lanes.lanes_left_out)


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
    return gathered.select(
        "start_ns",
        (pl.col("start_ns") + pl.col("length")).alias("end_ns"),
        pl.col("start_ns").alias("ready_ns"),
        "kind",
        "step",
        pl.lit(0, dtype=pl.UInt64).alias("object"),
    )
