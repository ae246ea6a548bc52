# SPDX-License-Identifier: Apache-2.0
"""What the time of each rank of a recorded program went into: parts that add up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures import profile
from plait.measures.communication import CallMeasures
from plait.measures.thread_usage import asleep_outside
from plait.measures.wait_states import KIND_TEXTS

#: Columns, in the order in which they are shown: computing, a wait state each, waiting for data that was
#: ready to move before (`stalled_calls`), asleep outside of calls, all other time in calls.
PARTS = (
    "computing_ns",
    *(f"wait_{kind}_ns" for kind in range(len(KIND_TEXTS))),
    *("stalled_ns", "asleep_ns", "other_ns"),
)
PART_TEXTS = (
    "computing (in no call)",
    *KIND_TEXTS,
    "data that was ready earlier",
    "asleep outside of calls",
    "other time in calls",
)


def rank_times(run: Run, calls: CallMeasures) -> pl.DataFrame:
    """rank and PARTS, a row for each rank that called: sums over its threads that did, in the window."""
    length = calls.window_ns[1] - calls.window_ns[0]
    called = run.calls.select("rank", "worker", "class").filter(
        pl.col("class") != events.CALL_BEGUN_COLLECTIVE
    )
    if run.is_profile:
        called = profile.lanes(run)
    threads = called.group_by("rank").agg(pl.col("worker").n_unique().cast(pl.Int64).alias("threads"))
    in_calls = calls.by_rank.select("rank", pl.col("time_ns").alias("in_calls_ns"))
    table = in_calls.join(threads, on="rank", how="left").sort("rank")
    waits = calls.waits_by_rank
    for kind in range(len(KIND_TEXTS)):
        own = waits.filter(pl.col("kind") == kind).select(
            "rank", pl.col("lost_ns").alias(f"wait_{kind}_ns")
        )
        table = table.join(own, on="rank", how="left")
    lost = [f"wait_{kind}_ns" for kind in range(len(KIND_TEXTS))]
    stalled = calls.stalled.group_by("rank").agg(pl.col("stalled_ns").sum())
    rest = pl.col("in_calls_ns") - pl.sum_horizontal(lost)
    return (
        table.join(stalled, on="rank", how="left")
        .with_columns(pl.col(*lost, "stalled_ns").fill_null(0))
        .with_columns(pl.min_horizontal("stalled_ns", rest.clip(0)).alias("stalled_ns"))
        .with_columns(
            (pl.col("threads") * length - pl.col("in_calls_ns")).clip(0).alias("outside_ns"),
            (rest - pl.col("stalled_ns")).clip(0).alias("other_ns"),
        )
        .join(asleep_outside(run), on="rank", how="left")
        .with_columns(
            pl.min_horizontal(pl.col("asleep_ns").fill_null(0), "outside_ns").alias("asleep_ns")
        )
        .with_columns((pl.col("outside_ns") - pl.col("asleep_ns")).alias("computing_ns"))
        .select("rank", *PARTS)
    )


def large_parts(values: npt.NDArray[np.float64]) -> list[int]:
    """Those that can be seen: computing, other time in calls, and what is more than 0.3 % of the whole.

    `values`: [rank, part]. What is left out belongs to the other time in calls, the last part.
    """
    sums = values.sum(axis=0)
    last = len(PARTS) - 1
    return [i for i in range(len(PARTS)) if i in (0, last) or sums[i] > 0.003 * sums.sum()]
