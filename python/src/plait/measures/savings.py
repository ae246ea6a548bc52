# SPDX-License-Identifier: Apache-2.0
"""What would help: estimates of the time that background progression, packing and balance would save at
most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.calls import lane_time
from plait.measures.idle import Times

#: Messages up to this size are worth packing with others.
SMALL_BYTES = 4096
_SCHEMA: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "in_calls_ns": pl.Int64(),
    "late_ns": pl.Int64(),
    "progression_ns": pl.Int64(),
    "packing_ns": pl.Int64(),
}


#: Messages that are the same in these can be packed together.
_POSTED = ("rank", "received", "source", "destination", "communicator", "function")


@dataclass(frozen=True)
class Savings:
    """Upper bounds, one at a time: they do not add up, as one may save what another would have.

    ranks: a row for each rank: in_calls_ns, its time in calls; of that, what perfect balance would save:
    late_ns; background progression: progression_ns; packing of small messages: packing_ns.
    """

    ranks: pl.DataFrame
    whole_ns: int  # of all threads that call: `lane_time`
    small_messages: int  # sent ones that could have gone with another

    def share(self, column: str) -> float:
        """Of all ranks' time."""
        return float(self.ranks[column].sum()) / self.whole_ns if self.whole_ns > 0 else 0.0


def savings(
    run: Run,
    calls: pl.DataFrame,
    waits: pl.DataFrame,
    stalled: pl.DataFrame,
    window_ns: tuple[int, int],
) -> Savings:
    """What would help, and how much at most.

    - Progression: the sum of `stalled_calls`.
    - Packing: what posting took of all but one of the small messages (up to SMALL_BYTES) that a thread
      posted for the same rank and communicator with no wait and no collective between. Copying them
      together is not counted.
    - Balance: what was lost by waiting for ranks that came late (`wait_states`): if all came at the same
      time, no rank would wait.
    """
    in_calls = calls.group_by("rank").agg(
        (pl.col("end_ns") - pl.col("start_ns")).sum().alias("in_calls_ns")
    )
    late = waits.group_by("rank").agg(pl.col("lost_ns").sum().alias("late_ns"))
    packed = _packing(run, calls)
    parts = (
        late,
        stalled.group_by("rank").agg(pl.col("stalled_ns").sum().alias("progression_ns")),
        packed.group_by("rank").agg(pl.col("saved_ns").sum().alias("packing_ns")),
    )
    for part in parts:
        in_calls = in_calls.join(part, on="rank", how="left")
    ranks = in_calls.fill_null(0).select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
    small = int(packed.filter(~pl.col("received"))["extra"].sum())
    return Savings(ranks.sort("rank"), lane_time(calls, window_ns), small)


def _packing(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    """rank, received, extra (messages beside the first of their group), saved_ns."""
    posted = run.messages.select(*_POSTED, "posted_ns", "size_bytes", "number").filter(
        (pl.col("size_bytes") <= SMALL_BYTES) & (pl.col("number") > 0) & (pl.col("function") >= 0)
    )
    begins = (
        calls.select("rank", "function", "class", "start_ns", "end_ns")
        .filter(pl.col("class") == events.CALL_BEGINS)
        .select("rank", "function", (pl.col("end_ns") - pl.col("start_ns")).alias("cost"))
    )
    cost = begins.group_by("rank", "function").agg(pl.col("cost").mean())
    return (
        posted.with_columns(pl.Series("epoch", _epochs(posted, calls)))
        .group_by(*_POSTED, "epoch")
        .agg((pl.len().cast(pl.Int64) - 1).alias("extra"))
        .join(cost, on=["rank", "function"], how="inner")
        .with_columns((pl.col("extra") * pl.col("cost")).cast(pl.Int64).alias("saved_ns"))
        .select("rank", "received", "extra", "saved_ns")
    )


def _epochs(posted: pl.DataFrame, calls: pl.DataFrame) -> Times:
    """For each message: how many waits and collectives its rank had behind it when it was posted."""
    parting = calls.select("rank", "class", "start_ns").filter(
        pl.col("class").is_in([events.CALL_COMPLETES, events.CALL_MESSAGE, events.CALL_COLLECTIVE])
    )
    found = np.zeros(posted.height, dtype=np.int64)
    rank, time = posted["rank"].to_numpy(), posted["posted_ns"].to_numpy()
    for (one,), part in parting.group_by("rank"):
        own = rank == one
        found[own] = np.searchsorted(np.sort(part["start_ns"].to_numpy()), time[own], side="right")
    return found
