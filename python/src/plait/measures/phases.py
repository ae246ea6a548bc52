# SPDX-License-Identifier: Apache-2.0
"""Time in each phase: task kinds and spans, over the ranks."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def phase_times(table: pl.DataFrame, names: Sequence[str], ranks: Sequence[int]) -> pl.DataFrame:
    """One row for each kind: phase, count, total_ns, and mean_ns, min_ns, max_ns over the ranks.

    `imbalance` is the largest rank's time over the mean: 1 is perfect. Ranks that spent nothing in
    a phase count with zero.
    """
    of_rank = (
        table.with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("time_ns"))
        .group_by("kind", "rank")
        .agg(pl.col("time_ns").sum(), pl.len().alias("count"))
    )
    labels = pl.DataFrame(
        {"kind": pl.Series(range(len(names)), dtype=pl.Int32), "phase": list(names)},
        schema={"kind": pl.Int32, "phase": pl.String},
    )
    everywhere = max(1, len(ranks))
    return (
        of_rank.group_by("kind")
        .agg(
            pl.col("count").sum(),
            pl.col("time_ns").sum().alias("total_ns"),
            pl.col("time_ns").max().alias("max_ns"),
            pl.when(pl.len() < everywhere).then(0).otherwise(pl.col("time_ns").min()).alias("min_ns"),
        )
        .with_columns((pl.col("total_ns") / everywhere).alias("mean_ns"))
        .with_columns(
            pl.when(pl.col("mean_ns") > 0)
            .then(pl.col("max_ns") / pl.col("mean_ns"))
            .otherwise(1.0)
            .alias("imbalance")
        )
        .join(labels, on="kind", how="left")
        .sort("total_ns", descending=True)
    )
