# SPDX-License-Identifier: Apache-2.0
"""What messages of non-contiguous datatypes take, beside contiguous ones of the same size."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait.measures.network import Network

#: One row for each place of sending and class of sizes, of non-contiguous data only; those that lose
#: most first.
SCATTERED: dict[str, pl.DataType] = {
    "site": pl.Int32(),  # of the send
    "size_class": pl.Int64(),  # n: below 2^n bytes, not below half of that
    "size_bytes": pl.Float64(),  # the median
    "messages": pl.Int64(),
    "took_ns": pl.Float64(),  # what all but a twentieth take at least
    "contiguous_ns": pl.Float64(),  # the same of contiguous ones, or what the network needs
    "measured": pl.Boolean(),  # whether the run has contiguous messages of this class
    "ranks": pl.Int64(),  # that send them
}
_LOW = 0.05


def scattered_messages(matched: pl.DataFrame, sides: pl.DataFrame, network: Network) -> pl.DataFrame:
    """SCATTERED, of receives that a rank sat in a waiting call for when both sides had been posted.

    Times are from then until the receiver was notified: they include packing and unpacking. `matched`:
    `match_messages`; `sides`: `message_sides`.
    """
    waited = sides.filter(
        pl.col("received") & (pl.col("call_start_ns") <= pl.col("ready_ns")) & (pl.col("size_bytes") > 0)
    )
    rows = waited["message"].to_numpy().astype(np.int64)
    timed = matched.select("send_site", "source", "non_contiguous")[rows].with_columns(
        waited["size_bytes"].alias("size_bytes"),
        (waited["told_ns"] - waited["ready_ns"]).alias("took_ns"),
        (waited["size_bytes"].log(2).floor() + 1).cast(pl.Int64).alias("size_class"),
    )
    low = pl.col("took_ns").quantile(_LOW, "lower")
    contiguous = (
        timed.filter(~pl.col("non_contiguous")).group_by("size_class").agg(low.alias("known_ns"))
    )
    found = (
        timed.filter("non_contiguous")
        .group_by(pl.col("send_site").alias("site"), "size_class")
        .agg(
            pl.col("size_bytes").median(),
            pl.len().alias("messages"),
            low.alias("took_ns"),
            pl.col("source").n_unique().alias("ranks"),
        )
        .join(contiguous, on="size_class", how="left")
    )
    needs = [network.costs.time_ns(round(size)) for size in found["size_bytes"]]
    lost = (pl.col("took_ns") - pl.col("contiguous_ns")) * pl.col("messages")
    return (
        found.with_columns(pl.Series("needs_ns", needs, dtype=pl.Float64))
        .with_columns(
            pl.coalesce("known_ns", "needs_ns").alias("contiguous_ns"),
            pl.col("known_ns").is_not_null().alias("measured"),
        )
        .select(pl.col(name).cast(kind) for name, kind in SCATTERED.items())
        .sort(lost, descending=True)
    )
