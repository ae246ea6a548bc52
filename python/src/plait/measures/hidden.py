# SPDX-License-Identifier: Apache-2.0
"""How much of the time in which messages were under way was spent computing."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait import _events as events
from plait.measures.idle import union_until

_SCHEMA = {"rank": pl.Int32(), "step": pl.Int64(), "moving_ns": pl.Int64(), "hidden_ns": pl.Int64()}


def hidden_times(tasks: pl.DataFrame, matched: pl.DataFrame) -> pl.DataFrame:
    """For each rank and step: moving_ns, in which a message to the rank was under way (from when both
    sides had posted it until the receiver was notified), and hidden_ns, as much of that as its workers
    computed, the mean over workers."""
    rows = []
    for (rank,), own in tasks.group_by(["rank"]):
        coming = matched.filter((pl.col("destination") == rank) & (pl.col("source") != rank))
        if not coming.height:
            continue
        posted = np.maximum(coming["sent_ns"].to_numpy(), coming["expected_ns"].to_numpy())
        until = union_until(posted, np.maximum(posted, coming["received_ns"].to_numpy()))
        ran = own.filter(pl.col("role") == events.ROLE_TASK)
        inside = until(ran["end_ns"].to_numpy()) - until(ran["start_ns"].to_numpy())
        workers = max(1, ran["worker"].n_unique())
        hidden = (
            ran.select("step")
            .with_columns(pl.Series("hidden_ns", np.asarray(inside) / workers))
            .group_by("step")
            .agg(pl.col("hidden_ns").sum())
        )
        bounds = own.group_by("step").agg(pl.col("ready_ns").min(), pl.col("end_ns").max())
        moving = until(bounds["end_ns"].to_numpy()) - until(bounds["ready_ns"].to_numpy())
        rows.append(
            bounds.select("step")
            .with_columns(pl.lit(rank, pl.Int32).alias("rank"), pl.Series("moving_ns", moving))
            .join(hidden, on="step", how="left")
            .with_columns(
                pl.min_horizontal(pl.col("hidden_ns").fill_null(0.0), "moving_ns").alias("hidden_ns")
            )
            .select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
        )
    return pl.concat(rows).sort("rank", "step") if rows else pl.DataFrame(schema=_SCHEMA)
