# SPDX-License-Identifier: Apache-2.0
"""Numbers of each kind of task: how many, how long, how long they queued, how the ranks differ."""

from __future__ import annotations

import polars as pl

from plait._events import Run


def kind_statistics(run: Run) -> pl.DataFrame:
    """One row for each (kind, role) that ran, those that took most time first.

    kind, role, name, count; min_ns, median_ns, p95_ns, p99_ns, max_ns, mean_ns and sum_ns of the
    tasks' lengths (of messages: from posting to the end); share of the sum of its role; queued_ns
    and queued_p95_ns, the mean and the 95th percentile of the time from ready to start; low_mean_ns
    and high_mean_ns, of the rank whose tasks of this kind were shortest and longest in the mean.
    """
    length, queued = pl.col("length"), pl.col("queued")
    tasks = run.tasks.with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("length"),
        (pl.col("start_ns") - pl.col("ready_ns")).alias("queued"),
    )
    of_rank = (
        tasks.group_by("kind", "role", "rank")
        .agg(length.mean().alias("mean"))
        .group_by("kind", "role")
        .agg(pl.col("mean").min().alias("low_mean_ns"), pl.col("mean").max().alias("high_mean_ns"))
    )
    names = pl.DataFrame(
        {"kind": pl.Series(range(len(run.kinds)), dtype=pl.Int32), "name": list(run.kinds)},
        schema={"kind": pl.Int32, "name": pl.String},
    )
    whole = pl.col("sum_ns").sum().over("role").clip(1)
    return (
        tasks.group_by("kind", "role")
        .agg(
            pl.len().alias("count"),
            length.min().alias("min_ns"),
            length.quantile(0.5, "nearest").alias("median_ns"),
            length.quantile(0.95, "nearest").alias("p95_ns"),
            length.quantile(0.99, "nearest").alias("p99_ns"),
            length.max().alias("max_ns"),
            length.mean().alias("mean_ns"),
            length.sum().alias("sum_ns"),
            queued.mean().alias("queued_ns"),
            queued.quantile(0.95, "nearest").alias("queued_p95_ns"),
        )
        .with_columns((pl.col("sum_ns") / whole).alias("share"))
        .join(of_rank, on=["kind", "role"])
        .join(names, on="kind", how="left")
        .sort("role", "sum_ns", "kind", descending=[False, True, False])
    )
