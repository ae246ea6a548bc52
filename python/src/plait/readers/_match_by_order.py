# SPDX-License-Identifier: Apache-2.0
"""Gives the messages of programs recorded from outside their sequence numbers, as MPI matches them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait._labels import Ints, label

#: From here on, sequence numbers of received messages without a send.
SENT_BY_NOBODY = 0x80000000


def match_by_order(messages: pl.DataFrame, by_order: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """The messages with `sequence` the same on both sides, as it is from the start in other runs.

    Of all with the same source, destination, communicator and tag, the n-th sent is the n-th received,
    each in the order of their `number`. `by_order`: which rows that holds for; the others keep theirs.
    """
    where = np.flatnonzero(by_order)
    if not where.size:
        return messages
    part = messages if where.size == messages.height else messages[where]
    received = part["received"].to_numpy()
    number = part["number"].to_numpy()
    pair = label(*(part[name].to_numpy() for name in ("source", "destination", "communicator")))
    kind = label(pair, part["tag"].to_numpy())
    found = np.empty(where.size, dtype=np.int64)
    sent, got = np.flatnonzero(~received), np.flatnonzero(received)
    found[sent] = _places(pair[sent], number[sent])
    found[got] = SENT_BY_NOBODY + np.arange(got.size)
    # Both sides sorted by (kind, n-th of it): where these agree, it is one message.
    sent, sent_key = _sorted_keys(sent, kind, number)
    got, got_key = _sorted_keys(got, kind, number)
    if sent.size and got.size:
        at = np.minimum(np.searchsorted(sent_key, got_key), sent.size - 1)
        both = sent_key[at] == got_key
        found[got[both]] = found[sent[at[both]]]
        found[got[~both]] = SENT_BY_NOBODY + np.arange(int((~both).sum()))
    sequence = messages["sequence"].to_numpy().copy()
    sequence[where] = found
    return messages.with_columns(pl.Series("sequence", sequence))


def _order(labels: Ints, number: Ints) -> Ints:
    """By label, then by number; both below 2^31 and 2^32, so one sort of one key does."""
    key = (labels.astype(np.uint64) << np.uint64(32)) | number.astype(np.uint64)
    order: Ints = np.argsort(key, kind="stable")
    return order


def _nth(sorted_labels: Ints) -> Ints:
    """How many of the same label are before each."""
    if not sorted_labels.size:
        return sorted_labels
    begins = np.flatnonzero(np.r_[True, np.diff(sorted_labels) != 0])
    lengths = np.diff(np.r_[begins, sorted_labels.size])
    counted: Ints = np.arange(sorted_labels.size) - np.repeat(begins, lengths)
    return counted


def _places(labels: Ints, number: Ints) -> Ints:
    """The place of each among those of its label, by number."""
    order = _order(labels, number)
    places = np.empty(labels.size, dtype=np.int64)
    places[order] = _nth(labels[order])
    return places


def _sorted_keys(rows: Ints, kind: Ints, number: Ints) -> tuple[Ints, npt.NDArray[np.uint64]]:
    """The rows by (kind, number), and (kind, n-th of its kind) of each, which rises."""
    rows = rows[_order(kind[rows], number[rows])]
    labels = kind[rows]
    return rows, (labels.astype(np.uint64) << np.uint64(32)) | _nth(labels).astype(np.uint64)
