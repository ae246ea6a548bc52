# SPDX-License-Identifier: Apache-2.0
"""Both sides of each message joined; data in flight and data rate over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait._labels import Ints, label

_KEY = ["source", "destination", "communicator", "sequence"]


def match_messages(messages: pl.DataFrame) -> pl.DataFrame:
    """One row for each message that has both sides and was received, in order of posting.

    sent_ns: posted by the sender; left_ns: free on the sender; freed_ns: the sender was notified;
    expected_ns: posted by the receiver; arrived_ns: all bytes at the receiver; received_ns: the receiver
    was notified. send_worker, send_site, receive_worker, receive_site: as in the table of messages.
    """
    sent, got = _pairs(messages)
    sends = messages.select(
        *_KEY,
        "size_bytes",
        "protocol",
        "tag",
        pl.col("posted_ns").alias("sent_ns"),
        pl.col("arrived_ns").alias("left_ns"),
        pl.col("completed_ns").alias("freed_ns"),
        pl.col("unfinished").alias("send_unfinished"),
        "non_contiguous",
        pl.col("worker").alias("send_worker"),
        pl.col("site").alias("send_site"),
    )
    receives = messages.select(
        pl.col("posted_ns").alias("expected_ns"),
        "arrived_ns",
        pl.col("completed_ns").alias("received_ns"),
        pl.col("worker").alias("receive_worker"),
        pl.col("site").alias("receive_site"),
    )
    return pl.DataFrame([*sends[sent], *receives[got]])


def _pairs(messages: pl.DataFrame) -> tuple[Ints, Ints]:
    """The rows of the sends and of the receives that are the same message, in order of posting. Of
    several with the same key the first."""
    key = _key(messages).to_numpy()
    received = messages["received"].to_numpy()
    rows = np.flatnonzero(~received)
    order = rows[np.argsort(key[rows], kind="stable")]
    sent = order[np.diff(key[order], prepend=-1) != 0]
    got = np.flatnonzero(received & ~messages["unfinished"].to_numpy())
    if not sent.size or not got.size:
        return sent[:0], got[:0]
    at = np.minimum(np.searchsorted(key[sent], key[got]), sent.size - 1)
    is_known = key[sent[at]] == key[got]
    at, got = at[is_known], got[is_known]
    first = np.full(sent.size, -1, dtype=np.int64)
    first[at[::-1]] = got[::-1]
    sent, got = sent[first >= 0], first[first >= 0]
    by_row = np.argsort(sent, kind="stable")
    by_time = by_row[np.argsort(messages["posted_ns"].to_numpy()[sent[by_row]], kind="stable")]
    return sent[by_time], got[by_time]


def _key(messages: pl.DataFrame) -> pl.Series:
    """`key`: the same number for both sides of a message, and for no others."""
    pair = label(*(messages[name].to_numpy() for name in ("source", "destination", "communicator")))
    return pl.Series("key", pair << 32 | messages["sequence"].to_numpy(), dtype=pl.Int64)


@dataclass(frozen=True)
class Unmatched:
    sends: int
    receives: int


def count_unmatched(messages: pl.DataFrame, matched: pl.DataFrame) -> Unmatched:
    received = int(messages["received"].sum())
    return Unmatched(messages.height - received - matched.height, received - matched.height)


def unmatched_messages(messages: pl.DataFrame) -> pl.DataFrame:
    """The sides of messages that have no other side, or whose receive never completed: rows of the
    table.

    Of programs recorded from outside, `function` and `site` identify what posted them.
    """
    key, received = _key(messages), messages["received"]
    sent_keys, received_keys = key.filter(~received), key.filter(received)
    has_other = (key.is_in(received_keys.implode()) & ~received) | (
        key.is_in(sent_keys.implode()) & received
    )
    return messages.filter(~has_other | (received & messages["unfinished"])).sort("posted_ns")


@dataclass(frozen=True)
class Curve:
    """A value that changes in steps: `value[i]` from `time_ns[i]` until `time_ns[i + 1]`."""

    time_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]

    def peak(self) -> float:
        return float(self.value.max()) if self.value.size else 0.0

    def mean(self) -> float:
        """Over time, from the first to the last change."""
        lengths = np.diff(self.time_ns)
        whole = float(lengths.sum())
        return float((self.value[:-1] * lengths).sum()) / whole if whole > 0 else 0.0


def thinned(curve: Curve, window_ns: tuple[int, int], bins: int) -> Curve:
    """The curve with at most four changes in each of so many equal parts of the window: the first, the
    last, the least and the most. A figure of as many pixels shows no difference."""
    if curve.time_ns.size <= 4 * bins:
        return curve
    low, high = window_ns
    part = (curve.time_ns - low) * bins // max(1, high - low)
    firsts = np.flatnonzero(np.diff(part, prepend=part[0] - 1))
    lasts = np.r_[firsts[1:], part.size] - 1
    order = np.lexsort((curve.value, part))  # within each part from the least to the most
    kept = np.unique(np.concatenate((firsts, lasts, order[firsts], order[lasts])))
    return Curve(curve.time_ns[kept], curve.value[kept])


def in_flight(matched: pl.DataFrame) -> dict[int, Curve]:
    """For each sending rank: bytes that it has posted and that were not yet received."""
    curves = {}
    for (rank,), part in matched.group_by(["source"]):
        begin, end = part["sent_ns"].to_numpy(), part["received_ns"].to_numpy()
        size = part["size_bytes"].to_numpy().astype(np.float64)
        end = np.maximum(begin, end)
        times = np.concatenate((begin, end))
        change = np.concatenate((size, -size))
        order = np.argsort(times, kind="stable")
        curves[int(str(rank))] = Curve(times[order], np.maximum(np.cumsum(change[order]), 0.0))
    return dict(sorted(curves.items()))


def data_rate(
    matched: pl.DataFrame, window_ns: tuple[int, int], bins: int
) -> tuple[npt.NDArray[np.float64], dict[int, npt.NDArray[np.float64]]]:
    """Bin edges, and for each receiving rank the bytes that arrived per second in each bin.

    The bytes of a message are spread evenly over the time from its posting, on whichever side was
    later, to its arrival.
    """
    low, high = window_ns
    edges = np.linspace(low, max(high, low + 1), bins + 1)
    rates = {}
    width_s = (edges[1] - edges[0]) * 1e-9
    for (rank,), part in matched.group_by(["destination"]):
        rates[int(str(rank))] = _spread(part, edges) / width_s
    return edges, dict(sorted(rates.items()))


def _spread(part: pl.DataFrame, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Bytes in each bin: the difference at its edges of the bytes arrived until then."""
    end = part["arrived_ns"].to_numpy().astype(np.float64)
    begin = np.maximum(part["sent_ns"].to_numpy(), part["expected_ns"].to_numpy())
    begin = np.minimum(begin.astype(np.float64), end - 1.0)
    slope = part["size_bytes"].to_numpy() / (end - begin)
    # Arrived until t = sum of slope * (clamp(t, begin, end) - begin): piecewise linear in t.
    knots = np.concatenate((begin, end))
    order = np.argsort(knots, kind="stable")
    knots = knots[order]
    slopes = np.cumsum(np.concatenate((slope, -slope))[order])
    until = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(knots))))
    return np.maximum(np.diff(np.interp(edges, knots, until)), 0.0)


def since_step_start(
    times_ns: npt.NDArray[np.int64],
    reference_ns: npt.NDArray[np.int64],
    step_starts_ns: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """`times_ns` counted from the start of the step in which `reference_ns` falls."""
    if step_starts_ns.size == 0:
        return times_ns - (times_ns.min() if times_ns.size else 0)
    which = np.searchsorted(step_starts_ns, reference_ns, side="right") - 1
    result: npt.NDArray[np.int64] = times_ns - step_starts_ns[np.maximum(which, 0)]
    return result
