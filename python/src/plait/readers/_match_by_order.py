# SPDX-License-Identifier: Apache-2.0
"""Gives the messages of programs recorded from outside their sequence numbers, as MPI matches them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

#: From here on, sequence numbers of received messages that nobody sent.
SENT_BY_NOBODY = 0x80000000

Ints = npt.NDArray[np.int64]


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
    pair = _label(*(part[name].to_numpy() for name in ("source", "destination", "communicator")))
    kind = _label(pair, part["tag"].to_numpy())
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


def _label(*columns: npt.NDArray[np.generic]) -> Ints:
    """One small number for each combination of values that turns up."""
    label = np.zeros(columns[0].size, dtype=np.int64)
    count = 1
    for column in columns:
        numbers, size = _small(column)
        if count * size >= 1 << 31:
            label, count = _small(label)
        label = label * size + numbers
        count *= size
    return label if count < 1 << 31 else _small(label)[0]


def _small(column: npt.NDArray[Any]) -> tuple[Ints, int]:
    """Numbers from 0 in place of the values, in their order, and how many there may be."""
    if column.size == 0:
        return column.astype(np.int64), 1
    least, most = int(column.min()), int(column.max())
    if most - least < 1 << 16:
        return (column - column.dtype.type(least)).astype(np.int64), most - least + 1
    values = pl.Series(column).unique().sort().to_numpy()  # polars hashes: quick where there are few
    return np.searchsorted(values, column), values.size


def _order(label: Ints, number: Ints) -> Ints:
    """By label, then by number; both below 2^31 and 2^32, so one sort of one key does."""
    key = (label.astype(np.uint64) << np.uint64(32)) | number.astype(np.uint64)
    order: Ints = np.argsort(key, kind="stable")
    return order


def _nth(sorted_label: Ints) -> Ints:
    """How many of the same label stand before each."""
    if not sorted_label.size:
        return sorted_label
    begins = np.flatnonzero(np.r_[True, np.diff(sorted_label) != 0])
    lengths = np.diff(np.r_[begins, sorted_label.size])
    counted: Ints = np.arange(sorted_label.size) - np.repeat(begins, lengths)
    return counted


def _places(label: Ints, number: Ints) -> Ints:
    """The place of each among those of its label, by number."""
    order = _order(label, number)
    places = np.empty(label.size, dtype=np.int64)
    places[order] = _nth(label[order])
    return places


def _sorted_keys(rows: Ints, kind: Ints, number: Ints) -> tuple[Ints, npt.NDArray[np.uint64]]:
    """The rows by (kind, number), and (kind, n-th of its kind) of each, which rises."""
    rows = rows[_order(kind[rows], number[rows])]
    label = kind[rows]
    return rows, (label.astype(np.uint64) << np.uint64(32)) | _nth(label).astype(np.uint64)
