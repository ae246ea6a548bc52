# SPDX-License-Identifier: Apache-2.0
"""What each phase of a run takes of a rank, and how that grows with the number of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from plait import _events as events
from plait._events import Run

#: Time and messages that no task contains.
OUTSIDE = "outside of tasks"
_ROLES = {events.ROLE_TASK: "", events.ROLE_SEND: " (send)", events.ROLE_RECEIVE: " (receive)"}


def phases(run: Run) -> pl.DataFrame:
    """By kind of task: `phase`, `tasks`, `time_ns`, `messages` and `size_bytes`, all of a mean rank.

    A message belongs to the task that runs on its rank when it is posted. Tasks that send or receive are
    phases of their own, whose time ends with the message. The largest time is first.
    """
    kinds = dict(enumerate(run.kinds))
    named = run.tasks.filter(pl.col("role").is_in(list(_ROLES))).with_columns(
        pl.col("kind").replace_strict(kinds, default="", return_dtype=pl.String)
        + pl.col("role").replace_strict(_ROLES, return_dtype=pl.String)
    )
    times = named.group_by(pl.col("kind").alias("phase")).agg(
        pl.len().alias("tasks"), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("time_ns")
    )
    bodies = named.filter(pl.col("role") == events.ROLE_TASK)
    sent = (
        _with_task(run.messages.filter(~pl.col("received")), bodies)
        .group_by("phase")
        .agg(pl.len().alias("messages"), pl.col("size_bytes").sum())
    )
    per_rank = [pl.col(name).fill_null(0) / run.ranks for name in _COLUMNS]
    return (
        times.join(sent, on="phase", how="full", coalesce=True)
        .select("phase", *per_rank)
        .sort(["time_ns", "messages", "phase"], descending=[True, True, False])
    )


_COLUMNS = ("tasks", "time_ns", "messages", "size_bytes")


def _with_task(messages: pl.DataFrame, bodies: pl.DataFrame) -> pl.DataFrame:
    """Adds the column `phase`: the task that runs when a message is posted."""
    begun = bodies.select("rank", "start_ns", "end_ns", pl.col("kind").alias("body")).sort("start_ns")
    return (
        messages.sort("posted_ns")
        .join_asof(
            begun,
            left_on="posted_ns",
            right_on="start_ns",
            by="rank",
            strategy="backward",
            check_sortedness=False,
        )
        .with_columns(
            pl.when(pl.col("posted_ns") <= pl.col("end_ns"))
            .then(pl.col("body"))
            .otherwise(pl.lit(OUTSIDE))
            .alias("phase")
        )
    )


def exponent(by_ranks: Mapping[int, float]) -> float | None:
    """The p of ranks^p that fits best, by least squares of the logarithms.

    None for fewer than two values above 0.
    """
    points = [(math.log(ranks), math.log(value)) for ranks, value in by_ranks.items() if value > 0]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 0 else None
