# SPDX-License-Identifier: Apache-2.0
"""How long each worker had no task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events

Times = npt.NDArray[np.int64]


def covered_ns(start_ns: Times, end_ns: Times) -> int:
    """Length of the union of the intervals: nested and overlapping ones count once."""
    if start_ns.size == 0:
        return 0
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], end_ns[order]
    reached = np.maximum.accumulate(end)
    before = np.concatenate((start[:1], reached[:-1]))
    return int(np.maximum(end - np.maximum(start, before), 0).sum())


def overlap_ns(start_ns: Times, end_ns: Times, gap_start_ns: Times, gap_end_ns: Times) -> int:
    """Summed length of the first intervals that the union of the second covers."""
    if start_ns.size == 0 or gap_start_ns.size == 0:
        return 0
    until = union_until(gap_start_ns, gap_end_ns)
    return int(np.rint(until(end_ns) - until(start_ns)).sum())


def union_until(start_ns: Times, end_ns: Times) -> Callable[[Times], npt.NDArray[np.float64]]:
    """How much of the union of the intervals, of which there is one, lies before given times."""
    order = np.argsort(start_ns, kind="stable")
    begin, end = start_ns[order], end_ns[order]
    reached = np.maximum.accumulate(end)
    begin = np.maximum(begin, np.concatenate((begin[:1], reached[:-1])))
    length = np.maximum(end - begin, 0)
    knots = np.stack([begin, begin + length], axis=1).reshape(-1).astype(np.float64)
    sums = np.stack([np.cumsum(length) - length, np.cumsum(length)], axis=1).reshape(-1)

    def until(times: Times) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = np.interp(times.astype(np.float64), knots, sums)
        return found

    return until


def idle_by_lane(tasks: pl.DataFrame, window_ns: tuple[int, int]) -> pl.DataFrame:
    """One row for each (rank, worker) that ran a task: busy_ns, idle_ns, idle_share of the window.

    Send and receive tasks occupy no worker and do not count.
    """
    whole = window_ns[1] - window_ns[0]
    rows = []
    ran = tasks.filter(pl.col("role") == events.ROLE_TASK)
    for (rank, worker), lane in ran.group_by(["rank", "worker"]):
        start = np.maximum(lane["start_ns"].to_numpy(), window_ns[0])
        end = np.minimum(lane["end_ns"].to_numpy(), window_ns[1])
        busy = covered_ns(start, np.maximum(start, end))
        share = (whole - busy) / whole if whole > 0 else 0.0
        rows.append((rank, worker, busy, whole - busy, share))
    schema = {
        "rank": pl.Int32(),
        "worker": pl.Int32(),
        "busy_ns": pl.Int64(),
        "idle_ns": pl.Int64(),
        "idle_share": pl.Float64(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort("rank", "worker")


def idle_by_rank(lanes: pl.DataFrame) -> pl.DataFrame:
    """Mean over the workers of each rank; threads that are no workers do not count."""
    return (
        lanes.filter(pl.col("worker") != events.NO_WORKER)
        .group_by("rank")
        .agg(
            pl.col("idle_share").mean(),
            pl.col("busy_ns").sum(),
            pl.col("idle_ns").sum(),
            pl.len().alias("workers"),
        )
        .sort("rank")
    )


def covered_until(
    start: npt.NDArray[np.float64],
    end: npt.NDArray[np.float64],
    edges: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Summed time of the intervals before each edge. They may overlap: each counts."""
    knots = np.concatenate((start, end))
    order = np.argsort(knots, kind="stable")
    slope = np.cumsum(np.concatenate((np.ones(start.size), -np.ones(end.size)))[order])
    knots = knots[order]
    until = np.concatenate(([0.0], np.cumsum(slope[:-1] * np.diff(knots))))
    result: npt.NDArray[np.float64] = np.interp(edges, knots, until)
    return result
