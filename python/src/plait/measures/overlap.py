# SPDX-License-Identifier: Apache-2.0
"""How much of the messages' moving was hidden behind computing, how much could have been, and what was
left over."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events

Floats = npt.NDArray[np.float64]

#: Messages up to this size determine the latency, those from the second on the rate.
_SMALL_BYTES, _LARGE_BYTES = 1024, 16384
#: Fewer messages than this do not characterise the network.
_SAMPLES_MIN = 5
#: Calls that were shorter did not wait.
_WAITED_MIN_NS = 2000


@dataclass(frozen=True)
class Link:
    """What a message took in this run when nothing kept it: latency_ns + size / bytes_per_ns."""

    latency_ns: float
    bytes_per_ns: float  # infinite where the run had no large messages


def fit_link(sides: pl.DataFrame, messages: int) -> Link | None:
    """From receives of the run; None: there were too few.

    Best those for which both ranks sat in their waiting calls when the message became ready to move;
    where there are none, others, from when both had come to their calls, if their ranks then still had
    to wait.

    Latency: the quickest tenth of messages up to 1 KiB (of the smallest size, where all are larger).
    Rate: that of the quickest tenth of those of at least 16 KiB. Messages may have been in each other's
    way, or the library busy: quick ones are the least disturbed. `messages`: how many were matched.
    """
    starts = np.maximum(*_by_message(sides, messages, "call_start_ns"))
    received = sides.filter("received")
    rows = received["message"].to_numpy()
    ready, there = received["ready_ns"].to_numpy(), received["there_ns"].to_numpy()
    began = np.maximum(starts[rows], ready)
    began = np.where(there < began, ready, began)  # a thread in the background moved it
    received = received.with_columns(pl.Series("began", began), pl.Series("took", there - began))
    waited = received.filter((pl.col("began") <= pl.col("ready_ns")) & (pl.col("took") > 0))
    if waited.height < _SAMPLES_MIN:
        waited = received.filter(pl.col("took") > _WAITED_MIN_NS)
    if waited.height < _SAMPLES_MIN:
        return None
    size = waited["size_bytes"].to_numpy().astype(np.float64)
    time = waited["took"].to_numpy()
    is_small = size <= max(_SMALL_BYTES, float(size.min()))
    latency = float(np.quantile(time[is_small], 0.1))
    is_large = (size >= _LARGE_BYTES) & ~is_small
    if is_large.sum() < _SAMPLES_MIN:
        return Link(latency, float("inf"))
    rates = size[is_large] / np.maximum(time[is_large] - latency, 1.0)
    return Link(latency, float(np.quantile(rates, 0.9)))


def soonest_ns(matched: pl.DataFrame, link: Link | None) -> Floats:
    """For each message: when it would have been there at the soonest, had the network always been
    polled.

    Each rank takes in one message after another, and gives out one after another, in the order in which
    they become ready to move, at the link's rate; the latency comes on top. With no link: when it was
    there.
    """
    there = matched["arrived_ns"].to_numpy().astype(np.float64)
    if link is None or not matched.height:
        return there
    ready = matched.select(pl.max_horizontal("sent_ns", "expected_ns"))["sent_ns"].to_numpy()
    length = matched["size_bytes"].to_numpy() / link.bytes_per_ns
    found = np.zeros(matched.height)
    for side in ("source", "destination"):
        rank = matched[side].to_numpy()
        order = np.lexsort((ready, rank))
        bounds = np.flatnonzero(np.r_[True, np.diff(rank[order]) != 0, True])
        for first, last in pairwise(bounds):
            own = order[first:last]
            done = np.cumsum(length[own])
            # One after another: the end of each is the latest start of a queue before it, and all
            # lengths since.
            ends = done + np.maximum.accumulate(ready[own] - (done - length[own]))
            found[own] = np.maximum(found[own], ends)
    soonest: Floats = np.minimum(found + link.latency_ns, there)
    return soonest


def message_overlap(sides: pl.DataFrame, soonest: Floats, link: Link | None) -> pl.DataFrame:
    """Of each non-blocking side that its call was notified of: transfer_ns, possible_ns, achieved_ns.

    rank, received, size_bytes. Transfer: from when the data could move to the soonest it could be there.
    Possible: as much of that as the rank computed from when the data could move to the call that waited
    for it. Achieved: what of the possible did not have to be waited for in that call (after the last
    message that the call waited for had become ready). Sends that the library buffered are left out:
    nothing of them is waited for.
    """
    schema = {
        **{"rank": pl.Int32(), "received": pl.Boolean(), "size_bytes": pl.Int64()},
        **{name: pl.Int64() for name in ("transfer_ns", "possible_ns", "achieved_ns")},
    }
    if link is None:
        return pl.DataFrame(schema=schema)
    before = pl.col("posted_ns") < pl.col("call_start_ns")
    needed = ("call", "message", "posted_ns", "ready_ns", "call_start_ns", "computing_ns", "told_ns")
    found = (
        sides.select(*needed, "rank", "received", "size_bytes", "buffered")
        .with_columns(pl.col("ready_ns").max().over("call").alias("last_ready_ns"))
        .filter(before & ~pl.col("buffered"))
    )
    rows = found["message"].to_numpy()
    ready = found["ready_ns"].to_numpy()
    transfer = np.maximum(soonest[rows] - ready, 0.0)
    start = found["call_start_ns"].to_numpy()
    possible = np.minimum(found["computing_ns"].to_numpy(), transfer)
    waited = found["told_ns"].to_numpy() - np.maximum(start, found["last_ready_ns"].to_numpy())
    achieved = np.clip(transfer - np.maximum(waited, 0), 0.0, possible)
    return found.with_columns(
        pl.Series("transfer_ns", transfer),
        pl.Series("possible_ns", possible),
        pl.Series("achieved_ns", achieved),
    ).select(pl.col(name).cast(kind) for name, kind in schema.items())


def overlap_times(overlap: pl.DataFrame, *by: str) -> pl.DataFrame:
    """messages, transfer_ns, possible_ns, achieved_ns for each combination of `by` ("rank",
    "received")."""
    return (
        overlap.group_by(*by)
        .agg(
            pl.len().cast(pl.Int64).alias("messages"),
            pl.col("transfer_ns", "possible_ns", "achieved_ns").sum(),
        )
        .sort(*by)
    )


def stalled_calls(
    calls: pl.DataFrame, sides: pl.DataFrame, begun: pl.DataFrame, soonest: Floats, link: Link | None
) -> pl.DataFrame:
    """Calls that waited for data that was ready to move earlier: call, rank, function, site, start_ns,
    stalled_ns.

    A message could have been there sooner by no more than what one of its two ranks computed, in no call
    that polls the network, between the data being ready to move and the rank's waiting for it; and no
    sooner than the network moves it (`soonest_ns`, where the run has that). A call could have ended
    when the last of its messages could have been there. What the quickest waits take is not counted. So
    this is the most that a thread that polls the network all the time could save in this call; what
    follows in other ranks from ending sooner is not counted. `begun`: non-blocking collectives
    (`begun_collectives`): the same, with the last rank's coming for ready.
    """
    computed = _by_message(sides, soonest.size, "computing_ns")
    rows = sides["message"].to_numpy()
    shift = np.maximum(np.maximum(computed[0][rows], computed[1][rows]), 0.0)
    told = sides["told_ns"].to_numpy().astype(np.float64)
    least = soonest[rows] if link is not None else np.full(rows.size, -np.inf)
    could = np.minimum(told, np.maximum(least, told - shift))
    could[sides["buffered"].to_numpy()] = -np.inf
    until, begin = (begun[name].to_numpy().astype(np.float64) for name in ("until_ns", "call_start_ns"))
    there = begun["told_ns"].to_numpy().astype(np.float64)
    columns = ("call", "call_start_ns", "told_ns")
    whole = pl.concat([sides.select(columns), begun.select(columns)]).with_columns(
        pl.Series("could_ns", np.concatenate((could, there - np.maximum(begin - until, 0.0))))
    )
    found = whole.group_by("call").agg(
        (
            pl.col("told_ns").max()
            - pl.max_horizontal(pl.col("could_ns").max(), pl.col("call_start_ns").max())
        ).alias("stalled_ns")
    )
    least_wait = _quickest_wait(calls)
    return (
        found.with_columns((pl.col("stalled_ns") - least_wait).clip(0).cast(pl.Int64))
        .filter(pl.col("stalled_ns") > 0)
        .join(
            calls.with_row_index("call").select("call", "rank", "function", "site", "start_ns"),
            on="call",
        )
        .select("call", "rank", "function", "site", "start_ns", "stalled_ns")
        .sort("rank", "start_ns")
    )


def _by_message(sides: pl.DataFrame, messages: int, column: str) -> tuple[Floats, Floats]:
    """Of each message: the column's value of its sending and of its receiving; -inf: none waited."""
    found = (np.full(messages, -np.inf), np.full(messages, -np.inf))
    waited = sides.select("message", "received", "buffered", column).filter(~pl.col("buffered"))
    for received, values in enumerate(found):
        own = waited.filter(pl.col("received") == bool(received))
        values[own["message"].to_numpy()] = own[column].to_numpy()
    return found


def _quickest_wait(calls: pl.DataFrame) -> float:
    """What a wait takes that has nothing to wait for: no more than posting a message does."""
    quick = []
    for what in (events.CALL_COMPLETES, events.CALL_BEGINS):
        own = calls.select("class", "start_ns", "end_ns").filter(pl.col("class") == what)
        if own.height:
            quick.append(float(np.quantile((own["end_ns"] - own["start_ns"]).to_numpy(), 0.1)))
    return min(quick) if len(quick) == 2 else 0.0
