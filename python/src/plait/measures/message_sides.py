# SPDX-License-Identifier: Apache-2.0
"""What each call that waited for messages waited for: the messages that it completed, seen from its
rank."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait import _events as events
from plait.measures.calls import call_at, computing_between

EAGER, RENDEZVOUS, NOT_KNOWN = 0, 1, events.PROTOCOL_NOT_KNOWN


def message_sides(calls: pl.DataFrame, matched: pl.DataFrame, clock_error_ns: int) -> pl.DataFrame:
    """A row for each side of a message of which a call was notified of the end.

    call: the row of `calls` (as `calls_within` gives them) in which its thread was notified, and
    call_start_ns, call_end_ns of it; received; rank, peer; size_bytes; posted_ns, other_ns: when this
    side and the other one posted; ready_ns: the later of these: from then on the data can move;
    there_ns: when it had left this side, or was here (told_ns where that is not known); told_ns,
    other_told_ns: when the sides were notified of the end; computing_ns: how long the rank was in no
    call from ready_ns until it waited (or the other side had been notified): then no thread on it polled
    the network; buffered: of a send that did not need its receive; message: the row of `matched`.
    """
    whole = matched.with_row_index("message").with_columns(is_buffered(matched, clock_error_ns))
    received = _completed(whole.with_columns(buffered=False), _OF_RECEIVER, calls, received=True)
    sent = whole.filter(~pl.col("send_unfinished")) if whole["send_unfinished"].any() else whole
    found = pl.concat([received, _completed(sent, _OF_SENDER, calls, received=False)])
    until = found.select(pl.min_horizontal("call_start_ns", "other_told_ns"))["call_start_ns"]
    computing = computing_between(calls, found["rank"], found["ready_ns"], until)
    return found.with_columns(pl.Series("computing_ns", computing))


#: Columns of `matched` by what they are to a side.
_OF_RECEIVER = {
    **{"rank": "destination", "peer": "source", "worker": "receive_worker", "posted_ns": "expected_ns"},
    **{"other_ns": "sent_ns", "told_ns": "received_ns", "other_told_ns": "freed_ns"},
    "there_ns": "arrived_ns",
}
_OF_SENDER = {
    **{"rank": "source", "peer": "destination", "worker": "send_worker", "posted_ns": "sent_ns"},
    **{"other_ns": "expected_ns", "told_ns": "freed_ns", "other_told_ns": "received_ns"},
    "there_ns": "left_ns",
}


def _completed(
    matched: pl.DataFrame, columns: dict[str, str], calls: pl.DataFrame, *, received: bool
) -> pl.DataFrame:
    """Those of whose end a waiting call was notified, with this call."""
    lane = (matched[columns[name]] for name in ("rank", "worker", "told_ns"))
    call = call_at(calls, *lane)
    is_waiting = calls["class"].is_in([events.CALL_COMPLETES, events.CALL_MESSAGE]).to_numpy()
    rows = np.flatnonzero((call >= 0) & is_waiting[call]) if calls.height else np.empty(0, np.int64)
    named = (pl.col(column).alias(name) for name, column in columns.items())
    times = calls.select(
        pl.col("start_ns").alias("call_start_ns"), pl.col("end_ns").alias("call_end_ns")
    )
    sides = matched.select(
        "message", "size_bytes", pl.lit(received).alias("received"), *named, "buffered"
    )[rows]
    return pl.DataFrame(
        [*sides, pl.Series("call", call[rows].astype(np.uint32)), *times[call[rows]]]
    ).select(
        pl.exclude("call_start_ns", "call_end_ns"),
        pl.max_horizontal("posted_ns", "other_ns").alias("ready_ns"),
        *("call_start_ns", "call_end_ns"),
    )


def eager_limit(matched: pl.DataFrame, clock_error_ns: int) -> int:
    """Size of the largest message whose sender was notified before the receive was posted; -1: none.

    Up to this size sends need no receive, as far as the run shows: for messages of which the recording
    does not know the protocol.
    """
    early = pl.col("freed_ns") < pl.col("expected_ns") - clock_error_ns
    sizes = matched.filter(early & ~pl.col("send_unfinished"))["size_bytes"]
    return int(sizes.to_numpy().max()) if sizes.len() else -1


def is_buffered(matched: pl.DataFrame, clock_error_ns: int) -> pl.Series:
    """Which messages were sent without waiting for their receive, named `buffered`."""
    protocol = pl.col("protocol")
    small = pl.col("size_bytes") <= eager_limit(matched, clock_error_ns)
    told = (protocol != RENDEZVOUS) & (protocol != NOT_KNOWN)
    return matched.select((told | ((protocol == NOT_KNOWN) & small)).alias("buffered"))["buffered"]
