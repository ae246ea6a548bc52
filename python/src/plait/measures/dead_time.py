# SPDX-License-Identifier: Apache-2.0
"""Where the time of each worker went that it spent in no task.

A step of a rank lasts from the start of the graph's run there to the end of the last of its tasks and
messages. What a worker does not compute in it lies before its first task, after its last, or between
two; between two, either something was ready on its rank (a lock, or the scheduler) or nothing was.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.idle import union_until

#: The parts of a worker's time, in the order in which they are drawn; columns of both tables.
PARTS = ("busy_ns", "before_ns", "held_ns", "starved_ns", "after_ns", "outside_ns")
PART_TEXTS = (
    "in tasks",
    "before the first task",
    "between tasks, something was ready",
    "between tasks, nothing was ready",
    "after the last task",
    "no graph was running",
)
#: More workers than this in meta.json is taken for a mistake.
_WORKERS_MAX = 4096
_LANE = ["rank", "step", "worker"]


def dead_times(run: Run) -> pl.DataFrame:
    """One row for each (step, rank, worker): tasks, length_ns of the step there, and its parts.

    A worker that ran nothing in a step has all of it before its first task. Threads that are no
    workers are left out.
    """
    schema = {
        **{"step": pl.Int64(), "rank": pl.Int32(), "worker": pl.Int32(), "tasks": pl.Int64()},
        **{name: pl.Int64() for name in ("length_ns", *PARTS[:-1])},
    }
    is_work = (pl.col("role") == events.ROLE_TASK) & (pl.col("worker") != events.NO_WORKER)
    ran = run.tasks.filter(is_work).sort(*_LANE, "start_ns")
    if not ran.height:
        return pl.DataFrame(schema=schema)
    steps = rank_steps(run)
    # Tasks may be nested: what a worker has reached counts, not the end of the task before.
    reached = pl.col("end_ns").cum_max().shift(1).over(_LANE)
    gaps = ran.with_columns(pl.max_horizontal(reached, "start_ns").alias("from"), reached.alias("gap"))
    gaps = gaps.with_columns(
        (pl.col("end_ns") - pl.col("from")).clip(0).alias("busy"),
        (pl.col("start_ns") - pl.col("gap")).clip(0).fill_null(0).alias("idle"),
        pl.Series("held", _held(ran, gaps["gap"].fill_null(pl.Series(gaps["start_ns"])))),
    )
    of_lane = gaps.group_by(_LANE).agg(
        pl.len().cast(pl.Int64).alias("tasks"),
        pl.col("start_ns").min().alias("first"),
        pl.col("end_ns").max().alias("last"),
        pl.col("busy").sum().alias("busy_ns"),
        pl.col("idle").sum(),
        pl.col("held").sum(),
    )
    length = pl.col("stop_ns") - pl.col("begin_ns")
    return (
        _workers(run, ran)
        .join(steps, on="rank")
        .join(of_lane, on=_LANE, how="left")
        .with_columns(
            length.alias("length_ns"),
            pl.col("tasks", "busy_ns").fill_null(0),
            (pl.col("first") - pl.col("begin_ns")).fill_null(length).alias("before_ns"),
            pl.min_horizontal("held", "idle").fill_null(0).alias("held_ns"),
            (pl.col("stop_ns") - pl.col("last")).fill_null(0).alias("after_ns"),
            (pl.col("idle") - pl.min_horizontal("held", "idle")).fill_null(0).alias("starved_ns"),
        )
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
        .sort("step", "rank", "worker")
    )


def dead_time_totals(dead: pl.DataFrame, window_ns: tuple[int, int]) -> pl.DataFrame:
    """One row for each (rank, worker): tasks and PARTS, which add up to the window."""
    whole = window_ns[1] - window_ns[0]
    return (
        dead.group_by("rank", "worker")
        .agg(pl.col("tasks", "length_ns", *PARTS[:-1]).sum())
        .with_columns((whole - pl.col("length_ns")).clip(0).alias("outside_ns"))
        .select("rank", "worker", "tasks", *PARTS)
        .sort("rank", "worker")
    )


def rank_steps(run: Run) -> pl.DataFrame:
    """begin_ns and stop_ns of each (rank, step) in which the rank had a task or a message."""
    bounds = run.tasks.group_by("rank", "step").agg(
        pl.col("ready_ns").min().alias("ready"), pl.col("end_ns").max().alias("stop_ns")
    )
    starts = run.graph_runs.select("rank", "step", pl.col("start_ns").alias("told"))
    return (
        bounds.join(starts, on=["rank", "step"], how="left")
        .with_columns(pl.min_horizontal("ready", "told").alias("begin_ns"))
        .select("rank", "step", "begin_ns", "stop_ns")
        .sort("rank", "step")
    )


def _workers(run: Run, ran: pl.DataFrame) -> pl.DataFrame:
    """All workers of the ranks: also those that never had a task, where their number is known."""
    told = run.meta.get("workers")
    seen = ran.select("rank", "worker").unique()
    if not isinstance(told, int) or not 0 < told <= _WORKERS_MAX:
        return seen
    ranks = seen.select("rank").unique()
    numbers = pl.DataFrame({"worker": pl.Series(range(told), dtype=pl.Int32)})
    return pl.concat([seen, ranks.join(numbers, how="cross")]).unique()


def _held(ran: pl.DataFrame, gap_start: pl.Series) -> npt.NDArray[np.int64]:
    """Of the gap before each task: the part in which a task of its rank was ready and not started."""
    rank, ready, start = (ran[name].to_numpy() for name in ("rank", "ready_ns", "start_ns"))
    begin = np.minimum(gap_start.to_numpy(), start)
    held = np.zeros(ran.height, dtype=np.int64)
    for one in np.unique(rank):
        own = rank == one
        until = union_until(ready[own], start[own])
        held[own] = np.rint(until(start[own]) - until(begin[own])).astype(np.int64)
    return held
