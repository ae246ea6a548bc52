# SPDX-License-Identifier: Apache-2.0
"""Time in the calls of a communication library: by function, by call site, by class, by rank."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.idle import union_until

_LANE = ["rank", "worker"]
_ALWAYS = (*_LANE, "class", "start_ns", "end_ns")


def parallel_window(run: Run) -> tuple[int, int]:
    """From when the first rank came back from MPI_Init to when the last one went into MPI_Finalize.

    Where a run has no such calls, that of everything recorded. Times in calls are counted within it:
    what starting and ending the library takes is unrelated to the program, but a rank that waits in
    MPI_Finalize for another does.
    """
    low, high = run.window_ns()
    ends = run.calls.filter(pl.col("class") == events.CALL_BEGINS_OR_ENDS)
    if not ends.height:
        return low, high
    middle = (low + high) // 2
    begun = ends.filter(pl.col("end_ns") <= middle).group_by("rank").agg(pl.col("end_ns").max())
    ended = ends.filter(pl.col("end_ns") > middle).group_by("rank").agg(pl.col("start_ns").min())
    first = int(begun["end_ns"].to_numpy().min()) if begun.height else low
    last = int(ended["start_ns"].to_numpy().max()) if ended.height else high
    return (first, last) if last > first else (low, high)


def calls_within(run: Run, window_ns: tuple[int, int], *columns: str) -> pl.DataFrame:
    """The calls proper, cut to the window; those outside it are left out. Sorted by lane and start.

    `columns`: beside rank, worker, class, start_ns and end_ns; none: all.
    """
    low, high = window_ns
    calls = run.calls.select(*dict.fromkeys((*_ALWAYS, *columns))) if columns else run.calls
    found = calls.filter(
        (pl.col("class") != events.CALL_BEGUN_COLLECTIVE)
        & (pl.col("end_ns") > low)
        & (pl.col("start_ns") < high)
    ).with_columns(pl.col("start_ns").clip(low, high), pl.col("end_ns").clip(low, high))
    lane, start = lane_of(found["rank"], found["worker"]), found["start_ns"].to_numpy()
    rises = (np.diff(lane) > 0) | ((np.diff(lane) == 0) & (np.diff(start) >= 0))
    # Those of ranks with one thread are sorted from the beginning.
    return found if rises.all() else found[np.lexsort((found["end_ns"].to_numpy(), start, lane))]


def call_times(calls: pl.DataFrame, whole_ns: int, *by: str) -> pl.DataFrame:
    """One row for each combination of the columns `by` ("function", "site", "class", "rank", ...),
    longest first.

    count, time_ns, bytes_given, bytes_got; mean_ns of a call; max_ns of a record, which may have many
    tests and probes (`repeats`); share of `whole_ns` (see `lane_time`). `calls`: as
    `calls_within` gives them. Calls of one thread are not nested, so sums count nothing twice.
    """
    return (
        calls.with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("time_ns"))
        .group_by(*by)
        .agg(
            (pl.col("repeats") + 1).sum().alias("count"),
            pl.col("time_ns").sum(),
            pl.col("bytes_given", "bytes_got").sum(),
            pl.col("time_ns").max().alias("max_ns"),
        )
        .with_columns(
            (pl.col("time_ns") / pl.col("count")).alias("mean_ns"),
            (pl.col("time_ns") / max(1, whole_ns)).alias("share"),
        )
        .sort("time_ns", *by, descending=[True, *[False] * len(by)])
    )


def lane_time(calls: pl.DataFrame, window_ns: tuple[int, int]) -> int:
    """The time of all threads that call: what shares are of. A rank that calls from two threads counts
    twice."""
    lanes = calls.select(_LANE).unique().height
    return lanes * (window_ns[1] - window_ns[0])


def call_at(
    calls: pl.DataFrame, rank: pl.Series, worker: pl.Series, time_ns: pl.Series
) -> npt.NDArray[np.int64]:
    """The row of `calls` in which each (rank, worker) was at a time; -1 where it was in none.

    `calls` must be sorted by rank, worker and start (`calls_within`). For what a message's completion
    was reported by.
    """
    found = np.full(len(rank), -1, dtype=np.int64)
    if not calls.height or not len(rank):
        return found
    lane_of_call = lane_of(calls["rank"], calls["worker"])
    wanted = lane_of(rank, worker)
    times = time_ns.to_numpy()
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    firsts = np.flatnonzero(np.r_[True, np.diff(lane_of_call) != 0])
    bounds = np.r_[firsts, lane_of_call.size]
    order = np.argsort(wanted, kind="stable")
    sorted_wanted = wanted[order]
    for first, last in pairwise(bounds):
        low, high = np.searchsorted(sorted_wanted, lane_of_call[first] + np.array([0, 1]))
        rows = order[low:high]
        at = first + np.searchsorted(start[first:last], times[rows], side="right") - 1
        inside = (at >= first) & (end[np.maximum(at, 0)] >= times[rows])
        found[rows[inside]] = at[inside]
    return found


def computing_between(
    calls: pl.DataFrame, rank: pl.Series, from_ns: pl.Series, to_ns: pl.Series
) -> npt.NDArray[np.int64]:
    """For how long no thread of a rank was in a call between two times; 0 if the second is first.

    `calls` must be sorted by rank (`calls_within`).
    """
    ranks, low, high = rank.to_numpy(), from_ns.to_numpy(), to_ns.to_numpy()
    found: npt.NDArray[np.int64] = np.maximum(high - low, 0)
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    of_call = calls["rank"].to_numpy()
    bounds = np.r_[0, np.flatnonzero(np.diff(of_call)) + 1, of_call.size] if of_call.size else [0]
    for first, last in pairwise(bounds):
        rows = np.flatnonzero((ranks == of_call[first]) & (high > low))
        if rows.size:
            until = union_until(start[first:last], end[first:last])
            inside = until(high[rows]) - until(low[rows])
            found[rows] = np.maximum(found[rows] - np.rint(inside).astype(np.int64), 0)
    return found


def lane_of(rank: pl.Series, worker: pl.Series) -> npt.NDArray[np.int64]:
    """A number for each thread of the run, which rises with rank and worker."""
    lane: npt.NDArray[np.int64] = rank.to_numpy().astype(np.int64) << 17 | worker.to_numpy()
    return lane
