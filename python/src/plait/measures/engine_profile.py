# SPDX-License-Identifier: Apache-2.0
"""Measures of a profile of plait's engine (`plait run --profile`): sums of tasks and messages."""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.profile import with_quantiles


def task_sums(run: Run) -> pl.DataFrame:
    """A row for each kind of task, longest time first: kind (-1: folded), role, count, time_ns, max_ns,
    quantiles (`with_quantiles`), and waited_ns, waited_p99_ns: from being ready to the start."""
    return _with_waits(run, events.ENGINE_TASKS, events.ENGINE_TASK_WAITS, "kind", "role")


def message_sums(run: Run) -> pl.DataFrame:
    """Of messages as they were sent, a row for each size class and protocol, by size: size_class (255:
    folded), protocol, count, bytes, time_ns, max_ns, quantiles, and waited_ns, waited_p99_ns: from
    posting until the network had them."""
    found = _with_waits(run, events.ENGINE_SENT, events.ENGINE_SENT_WAITS, "size_class", "protocol")
    return found.sort("size_class", "protocol")


def region_sums(run: Run) -> pl.DataFrame:
    """Regions and phases: span (-1: folded), count, time_ns, max_ns, quantiles; longest time first."""
    return _summed(run, events.ENGINE_SPANS, "span")


def task_time_by_rank(run: Run) -> pl.DataFrame:
    """rank, workers (that ran a task), time_ns (in tasks)."""
    tasks = run.engine_sums.filter(
        (pl.col("of") == events.ENGINE_TASKS) & (pl.col("role") == events.ROLE_TASK)
    )
    return (
        tasks.group_by("rank")
        .agg(pl.col("worker").n_unique().alias("workers"), pl.col("time_ns").sum())
        .sort("rank")
    )


def _with_waits(run: Run, of: int, waits: int, *by: str) -> pl.DataFrame:
    waited = _summed(run, waits, *by).select(
        *by, pl.col("time_ns").alias("waited_ns"), pl.col("p99_ns").alias("waited_p99_ns")
    )
    return _summed(run, of, *by).join(waited, on=list(by), how="left", maintain_order="left")


def _summed(run: Run, of: int, *by: str) -> pl.DataFrame:
    own = (pl.col("communicator") >= events.OWN_COMMUNICATORS) & (pl.col("communicator") >= 0)
    found = (
        run.engine_sums.filter((pl.col("of") == of) & ~own)
        .group_by(*by)
        .agg(
            pl.col("count", "bytes", "time_ns").sum(),
            pl.col("time_max_ns").max().alias("max_ns"),
            pl.col(*events.BIN_COLUMNS).sum(),
        )
        .sort("time_ns", *by, descending=[True, *[False] * len(by)])
    )
    return with_quantiles(found)
