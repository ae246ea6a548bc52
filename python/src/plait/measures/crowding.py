# SPDX-License-Identifier: Apache-2.0
"""Computing time that is lost because more threads compute at once on a host than it has cores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.calls import calls_within

Floats = npt.NDArray[np.float64]


def crowded_ns(run: Run, window_ns: tuple[int, int], ranks: npt.NDArray[np.integer]) -> Floats:
    """For each of `ranks`: the time that its threads computed, but had no core.

    While n threads of a host compute, and it has c cores, each of them has lost 1 - c / n of that time.
    Threads that wait in calls may occupy cores, too: they are not counted, so this is the least. 0 where
    the run does not hold the number of cores. All hosts count as having as many as that of rank 0.
    """
    lost = np.zeros(ranks.size)
    cores, hosts = run.meta.get("cores"), run.meta.get("hosts")
    if not isinstance(cores, int) or cores <= 0 or not isinstance(hosts, list):
        return lost
    computing = _computing(run, window_ns)
    host_of = {rank: str(host) for rank, host in enumerate(hosts)}
    for host in sorted(set(host_of.values())):
        here = [rank for rank, name in host_of.items() if name == host]
        own = computing.filter(pl.col("rank").is_in(here))
        if own.select("rank", "worker").unique().height > cores:
            lost += _lost(own, cores, ranks)
    return lost


def _computing(run: Run, window_ns: tuple[int, int]) -> pl.DataFrame:
    """rank, worker, start_ns, end_ns: tasks, or, of a program recorded from outside, the time between
    the calls of a thread."""
    low, high = window_ns
    columns = ["rank", "worker", "start_ns", "end_ns"]
    if run.calls.height:
        lane = ["rank", "worker"]
        calls = calls_within(run, window_ns, *columns).select(columns)
        lanes = calls.select(lane).unique()
        edges = [
            lanes.with_columns(pl.lit(t).alias("start_ns"), pl.lit(t).alias("end_ns")) for t in window_ns
        ]
        ordered = pl.concat([calls, *edges], how="vertical_relaxed").sort(*lane, "start_ns", "end_ns")
        reached = pl.col("end_ns").cum_max().shift(1).over(lane)
        found = ordered.select(*lane, reached.alias("from"), pl.col("start_ns").alias("end_ns"))
        return found.select(*lane, pl.col("from").alias("start_ns"), "end_ns").filter(
            pl.col("end_ns") > pl.col("start_ns")
        )
    tasks = run.tasks.filter(
        (pl.col("role") == events.ROLE_TASK) & (pl.col("worker") != events.NO_WORKER)
    ).select(columns)
    return tasks.with_columns(pl.col("start_ns", "end_ns").clip(low, high))


def _lost(own: pl.DataFrame, cores: int, ranks: npt.NDArray[np.integer]) -> Floats:
    """Of threads on one host."""
    start, end = own["start_ns"].to_numpy(), own["end_ns"].to_numpy()
    times = np.concatenate((start, end))
    change = np.concatenate((np.ones(start.size), -np.ones(end.size)))
    order = np.argsort(times, kind="stable")
    at_once = np.cumsum(change[order])[:-1]
    times = times[order]
    without = np.maximum(0.0, 1.0 - cores / np.maximum(at_once, 1.0))  # of each thread, in each stretch
    until = np.concatenate(([0.0], np.cumsum(without * np.diff(times))))
    lost = until[np.searchsorted(times, end)] - until[np.searchsorted(times, start)]
    sums = (
        own.select("rank")
        .with_columns(pl.Series("lost", lost))
        .group_by("rank")
        .agg(pl.col("lost").sum())
    )
    of_rank = dict(sums.iter_rows())
    return np.asarray([float(of_rank.get(int(rank), 0.0)) for rank in ranks])
