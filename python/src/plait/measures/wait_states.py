# SPDX-License-Identifier: Apache-2.0
"""Time lost in calls because another rank came late.

The kinds and their definitions are those of the field: M. Geimer et al., "The Scalasca performance
toolset architecture", Concurrency and Computation: Practice and Experience 22 (2010) 702, and the list
of patterns in the documentation of Scalasca. Where ours differ, the kind has another name.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from plait._events import Run
from plait.measures import collectives
from plait.measures.calls import call_at
from plait.measures.neighbours import last_sources
from plait.measures.polling import polled_waits

#: What a call waited for; the values of `kind`.
(LATE_SENDER, LATE_RECEIVER, BARRIER, COLLECTIVE, ROOT, AT_ROOT, END) = range(7)
KIND_TEXTS = (
    "late sender",
    "late receiver",
    "wait at barrier",
    "wait at collective",
    "wait for the root",
    "root waits for the others",
    "wait at the end",
)
WAITS: dict[str, pl.DataType] = {
    "call": pl.UInt32(),  # row of the calls
    "kind": pl.Int8(),
    "rank": pl.Int32(),
    "function": pl.Int32(),
    "site": pl.Int32(),
    "start_ns": pl.Int64(),
    "lost_ns": pl.Int64(),
    "peer": pl.Int32(),  # who came last
    "messages": pl.Int64(),  # that were late in this call; of collectives 0
}


def wait_states(
    run: Run, calls: pl.DataFrame, sides: pl.DataFrame, met: pl.DataFrame, begun: pl.DataFrame
) -> pl.DataFrame:
    """One row for each call that lost time to another rank (WAITS).

    Of `calls_within`, `message_sides`, `meetings`, `begun_collectives`.

    - Late sender: a receive, or a wait for one, began before the message was sent. Lost: until it was.
      Of tests and probes before the call that received it, too (`polled_waits`).
    - Late receiver: a send, or a wait for one, that needs its receive began before that was posted.
      Lost: until it was. Sends that the library buffers need none (`is_buffered`).
    - Wait at barrier, wait at collective (Scalasca: wait at N x N): from coming to it to the last rank's
      coming. Of a prefix operation: to that of the last rank before in the communicator's order. Among
      neighbours: to that of the last one that it gets data from.
    - Wait for the root (late broadcast): from coming to a broadcast or scatter to the root's coming.
    - Root waits for the others (early reduce): from the root's coming to a reduce or gather to the last
      rank's coming; to the last, not to the first: the root needs all of them.
    - Wait at the end: from going into MPI_Finalize to when the last rank did.

    Nothing is lost after a call's end, or before its start. A call that completes several messages has
    lost what the latest of them cost, and is of that one's kind: so losses of one thread never overlap,
    and add up. Times of two ranks are compared: they are right to `run.clock_error_ns`.
    """
    parts = [
        _messages(sides),
        _polled(run, calls, sides),
        _collectives(met),
        _begun(begun),
        _ends(run, calls),
    ]
    lost = pl.concat(parts).filter(pl.col("lost_ns") > 0)
    worst = lost.group_by("call").agg(
        pl.col("kind", "lost_ns", "peer").sort_by("lost_ns").last(), pl.col("messages").sum()
    )
    return (
        worst.join(
            calls.with_row_index("call").select("call", "rank", "function", "site", "start_ns"),
            on="call",
        )
        .select(pl.col(name).cast(kind) for name, kind in WAITS.items())
        .sort("rank", "start_ns")
    )


def wait_times(waits: pl.DataFrame, *by: str) -> pl.DataFrame:
    """lost_ns, calls, messages, longest_ns for each combination of `by` ("kind", "rank", "site", "peer",
    ...)."""
    return (
        waits.group_by(*by)
        .agg(
            pl.col("lost_ns").sum(),
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("messages").sum(),
            pl.col("lost_ns").max().alias("longest_ns"),
        )
        .sort("lost_ns", *by, descending=[True, *[False] * len(by)])
    )


_LOSS: dict[str, pl.DataType] = {
    name: WAITS[name] for name in ("call", "kind", "lost_ns", "peer", "messages")
}


def _losses(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.col(name).cast(kind) for name, kind in _LOSS.items())


def _messages(sides: pl.DataFrame) -> pl.DataFrame:
    until = pl.min_horizontal("other_ns", "call_end_ns")
    return _losses(
        sides.select("call", "peer", "received", "buffered", "other_ns", "call_start_ns", "call_end_ns")
        .filter(~pl.col("buffered"))
        .with_columns(
            pl.when("received").then(LATE_SENDER).otherwise(LATE_RECEIVER).alias("kind"),
            (until - pl.col("call_start_ns")).clip(0).alias("lost_ns"),
            (pl.col("other_ns") > pl.col("call_start_ns")).cast(pl.Int64).alias("messages"),
        )
    )


def _polled(run: Run, calls: pl.DataFrame, sides: pl.DataFrame) -> pl.DataFrame:
    found = polled_waits(calls, sides, run.functions)
    kinds = (pl.lit(LATE_SENDER).alias("kind"), pl.lit(0).alias("messages"))
    return _losses(found.with_columns(*kinds))


def meetings(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    """The collectives (`collective_calls`), with when the last rank came that each had to wait for
    (`until_ns`; null: it needed no rank), which one (`peer`), and the kind."""
    found = collectives.collective_calls(run, calls)
    if collectives.PREFIX in found["flow"]:
        found = _with_those_before(run, found)
    else:
        found = found.with_columns(pl.lit(None, dtype=pl.Int64).alias("before_ns"))
    flow, is_root = pl.col("flow"), pl.col("rank") == pl.col("peer")
    if collectives.NEIGHBOURS in found["flow"]:
        key = ["communicator", "count", "rank"]
        found = found.join(last_sources(run, found), on=key, how="left", maintain_order="left")
    else:
        found = found.with_columns(source_ns=pl.lit(None, pl.Int64), source=pl.lit(None, pl.Int32))
    return found.with_columns(
        pl.when(flow == collectives.FROM_ROOT)
        .then(pl.when(is_root).then(None).otherwise(pl.col("root_ns")))
        .when(flow == collectives.TO_ROOT)
        .then(pl.when(is_root).then(pl.col("last_ns")))
        .when(flow == collectives.PREFIX)
        .then(pl.col("before_ns"))
        .when(flow == collectives.NEIGHBOURS)
        .then(pl.col("source_ns"))
        .when(flow.is_in([collectives.ALL, collectives.BARRIER]))
        .then(pl.col("last_ns"))
        .alias("until_ns"),
        pl.when(flow == collectives.BARRIER)
        .then(BARRIER)
        .when(flow == collectives.FROM_ROOT)
        .then(ROOT)
        .when(flow == collectives.TO_ROOT)
        .then(AT_ROOT)
        .otherwise(COLLECTIVE)
        .alias("kind"),
        pl.when(flow == collectives.FROM_ROOT)
        .then(pl.col("peer"))
        .when(flow == collectives.NEIGHBOURS)
        .then(pl.col("source"))
        .otherwise(pl.col("last_rank"))
        .alias("peer"),
    )


def _with_those_before(run: Run, found: pl.DataFrame) -> pl.DataFrame:
    """before_ns: when the last of the ranks came that are before this one in the communicator."""
    members = run.communicators.select("communicator", "rank", "index").unique(["communicator", "rank"])
    place = pl.col("index").fill_null(pl.col("rank").cast(pl.Int64))
    key = ["communicator", "count"]
    return (
        found.join(members, on=["communicator", "rank"], how="left")
        .with_columns(place)
        .sort(*key, "index")
        .with_columns(pl.col("start_ns").cum_max().shift(1).over(key).alias("before_ns"))
    )


def _collectives(met: pl.DataFrame) -> pl.DataFrame:
    # `min_horizontal` would pass over nulls.
    own = met.filter(pl.col("call").is_not_null() & pl.col("until_ns").is_not_null())
    lost = pl.min_horizontal("until_ns", "end_ns") - pl.col("start_ns")
    return _losses(own.with_columns(lost.clip(0).alias("lost_ns"), pl.lit(0).alias("messages")))


def begun_collectives(met: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Of the `meetings`, the non-blocking ones that need another rank, each with the call that was
    notified of its end, as in `message_sides`: call, call_start_ns, call_end_ns, told_ns."""
    return notified_collectives(met, calls).filter(pl.col("until_ns").is_not_null())


def notified_collectives(met: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """As `begun_collectives`, of all non-blocking ones."""
    own = met.filter(pl.col("call").is_null())
    call = call_at(calls, own["rank"], own["worker"], own["end_ns"])
    times = calls.with_row_index("call").select(
        "call", pl.col("start_ns").alias("call_start_ns"), pl.col("end_ns").alias("call_end_ns")
    )
    return (
        own.with_columns(pl.Series("call", call), pl.col("end_ns").alias("told_ns"))
        .filter(pl.col("call") >= 0)
        .with_columns(pl.col("call").cast(pl.UInt32))
        .join(times, on="call")
    )


def _begun(begun: pl.DataFrame) -> pl.DataFrame:
    until = pl.min_horizontal("until_ns", "call_end_ns")
    return _losses(
        begun.with_columns(
            (until - pl.col("call_start_ns")).clip(0).alias("lost_ns"), pl.lit(0).alias("messages")
        )
    )


def _ends(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    """`calls` end at the last rank's MPI_Finalize."""
    is_end = [i for i, name in enumerate(run.functions) if "finalize" in name.lower()]
    found = run.calls.filter(pl.col("function").is_in(is_end))
    last = -1
    if found.height:
        last = int(found["rank"].item(int(np.argmax(found["start_ns"].to_numpy()))))
    here = calls.with_row_index("call").filter(pl.col("function").is_in(is_end))
    return _losses(
        here.with_columns(
            pl.lit(END).alias("kind"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("lost_ns"),
            pl.lit(last).alias("peer"),
            pl.lit(0).alias("messages"),
        )
    )
