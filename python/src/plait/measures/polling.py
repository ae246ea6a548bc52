# SPDX-License-Identifier: Apache-2.0
"""Waiting by polling: tests and probes before a message that had not been sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait.measures.calls import lane_of


def polled_waits(calls: pl.DataFrame, sides: pl.DataFrame, functions: Sequence[str]) -> pl.DataFrame:
    """A row for each call that polled for a message before that was sent: call (its row of `calls`),
    lost_ns (of its time, until the message was sent), peer (that sent it).

    Such are tests that completed nothing, and probes, if no other call is between them and the call that
    received the message. `calls`: `calls_within`; `sides`: `message_sides`.
    """
    late = (
        sides.select("call", "other_ns", "peer", "received")
        .filter("received")
        .group_by("call")
        .agg(pl.col("other_ns").max(), pl.col("peer").sort_by("other_ns").last())
    )
    polls = _polls(calls, functions)
    if not late.height or not polls.any():
        return pl.DataFrame(schema={"call": pl.UInt32(), "lost_ns": pl.Int64(), "peer": pl.Int32()})
    rows = np.flatnonzero(polls)
    after = pl.DataFrame(
        {"call": rows.astype(np.uint32), "next": _next_others(calls, polls)[rows]},
        schema={"call": pl.UInt32(), "next": pl.Int64()},
    )
    times = calls.with_row_index("call").select("call", "start_ns", "end_ns")
    found = after.join(
        late.select(pl.col("call").cast(pl.Int64).alias("next"), "other_ns", "peer"), on="next"
    )
    lost = pl.min_horizontal("other_ns", "end_ns") - pl.col("start_ns")
    return (
        found.join(times, on="call")
        .select("call", lost.clip(0).alias("lost_ns"), "peer")
        .filter(pl.col("lost_ns") > 0)
    )


def _polls(calls: pl.DataFrame, functions: Sequence[str]) -> npt.NDArray[np.bool_]:
    probes = [index for index, name in enumerate(functions) if "probe" in name.lower()]
    is_poll = (pl.col("count") == 0) | pl.col("function").is_in(probes)
    found: npt.NDArray[np.bool_] = (
        calls.select((pl.col("class") == events.CALL_COMPLETES) & is_poll).to_series().to_numpy()
    )
    return found


def _next_others(calls: pl.DataFrame, polls: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Of each call: the next one of its thread that is no poll; -1: there is none."""
    lane = lane_of(calls["rank"], calls["worker"])
    at = np.where(polls, polls.size, np.arange(polls.size))
    following = np.minimum.accumulate(at[::-1])[::-1]
    known = following < polls.size
    known &= lane[np.minimum(following, polls.size - 1)] == lane
    found: npt.NDArray[np.int64] = np.where(known, following, -1)
    return found
