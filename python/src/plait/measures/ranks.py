# SPDX-License-Identifier: Apache-2.0
"""Each rank of a run in a few numbers."""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures import profile
from plait.measures.balance import Balance

RANKS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "is_present": pl.Boolean(),
    "threads": pl.Int64(),
    "computing_ns": pl.Int64(),
    "idle_share": pl.Float64(),
    "in_calls_ns": pl.Int64(),
    "sent_messages": pl.Int64(),
    "sent_bytes": pl.Int64(),
    "received_messages": pl.Int64(),
    "received_bytes": pl.Int64(),
}


def rank_table(
    run: Run, balance: Balance, idle: pl.DataFrame, calls_by_rank: pl.DataFrame
) -> pl.DataFrame:
    """A row for each rank of the run, also for those that left no file (`is_present`).

    threads: those that ran a task or made a call; computing_ns: in tasks, or in no call, the sum over
    threads; idle_share: the mean over workers; in_calls_ns: the sum over threads. Null: the rank has no
    such thing. `idle`: `idle_by_rank`; `calls_by_rank`: `call_times` by rank.
    """
    every = pl.DataFrame({"rank": pl.Series(range(run.ranks), dtype=pl.Int32)})
    active = run.tasks.filter(pl.col("role") == events.ROLE_TASK) if run.tasks.height else run.calls
    if run.is_profile:
        active = profile.lanes(run)
    threads = active.group_by("rank").agg(pl.col("worker").n_unique().alias("threads"))
    computing = pl.DataFrame(
        {"rank": balance.ranks, "computing_ns": balance.computing_ns.sum(axis=1).round()},
        schema={"rank": pl.Int32, "computing_ns": pl.Float64},
    )
    in_calls = calls_by_rank.select("rank", pl.col("time_ns").alias("in_calls_ns"))
    parts = [threads, computing, idle.select("rank", "idle_share"), in_calls]
    for side in ("sent", "received"):
        own = run.messages.filter(pl.col("received") == (side == "received"))
        counted = own.group_by("rank").agg(
            pl.len().alias(f"{side}_messages"), pl.col("size_bytes").sum().alias(f"{side}_bytes")
        )
        if run.is_profile:
            counted = profile.sides_by_rank(run).select("rank", f"{side}_messages", f"{side}_bytes")
        parts.append(counted)
    for part in parts:
        every = every.join(part.cast({"rank": pl.Int32}), on="rank", how="left")
    is_present = pl.col("rank").is_in(list(run.ranks_present)).alias("is_present")
    counts = [name for name in RANKS if name.startswith(("sent_", "received_"))]
    every = every.with_columns(is_present).with_columns(
        pl.when("is_present").then(pl.col(counts).fill_null(0)).otherwise(pl.col(counts))
    )
    return every.select(*RANKS).cast(RANKS).sort("rank")  # type: ignore[arg-type]
