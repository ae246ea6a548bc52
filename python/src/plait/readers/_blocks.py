# SPDX-License-Identifier: Apache-2.0
"""Blocks of a rank's file whose checksum does not fit: what is in them cannot be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from plait import _schema
from plait._schema import SCHEMA

#: A block has one checksum, which is its last record, or follows the last record of a thread that ended.
RECORDS = 64
_WORDS = _schema.RECORD_BYTES // 8
#: Blocks that are summed together: they stay in the processor's cache meanwhile.
_TOGETHER = 256

Mask = npt.NDArray[np.bool_]
Kinds = npt.NDArray[np.uint8]


def damaged_blocks(table: npt.NDArray[np.uint8], kinds: Kinds, chunk_records: int) -> Mask:
    """Whether each whole block is damaged; empty for a file without checksums.

    `table`: the bytes of each record, contiguous. Where a block has a checksum, all before it in its
    chunk had one, and all that are filled, if any in the file fits. Cost: about 10 ns a record.
    """
    count = kinds.size // RECORDS
    is_checksum = kinds[: count * RECORDS].reshape(-1, RECORDS) == SCHEMA["block_checksum"].kind
    is_checked = is_checksum.any(axis=1)
    if chunk_records % RECORDS or not is_checked.any():
        return np.zeros(0, dtype=np.bool_)
    words = table[: count * RECORDS].reshape(-1).view(np.uint64).reshape(count, -1)
    places = is_checksum.argmax(axis=1)
    is_sound = np.zeros(count, dtype=np.bool_)
    for place in np.unique(places[is_checked]).tolist():
        blocks = np.flatnonzero(is_checked & (places == place))
        for first in range(0, blocks.size, _TOGETHER):
            some = blocks[first : first + _TOGETHER]
            is_sound[some] = _fits(words[some], place)
    is_before, is_beside = _near(is_checked if is_sound.any() else is_sound, chunk_records // RECORDS)
    is_filled = words[:, -_WORDS:].any(axis=1)
    damaged: Mask = ~is_sound & (is_checked | is_before | (is_filled & is_beside))
    return damaged


def _fits(words: npt.NDArray[np.uint64], place: int) -> Mask:
    """Whether the checksum, which is record `place` of each of these blocks, is that of those before."""
    covered = words[:, : place * _WORDS]
    stored = np.ascontiguousarray(words[:, place * _WORDS : (place + 1) * _WORDS]).view(
        SCHEMA["block_checksum"].dtype
    )[:, 0]
    times_counted = np.arange(covered.shape[1], 0, -1, dtype=np.uint64)
    fits: Any = stored["sum"] == covered.sum(axis=1)
    fits &= stored["sum_of_sums"] == np.einsum("bw,w->b", covered, times_counted)
    return np.asarray(fits, dtype=np.bool_)


def _near(is_checked: Mask, in_chunk: int) -> tuple[Mask, Mask]:
    """Whether a block with a checksum follows in the same chunk; whether there is any in it."""
    count = is_checked.size
    padded = np.zeros(-(-count // in_chunk) * in_chunk, dtype=np.bool_)
    padded[:count] = is_checked
    backwards = np.logical_or.accumulate(padded.reshape(-1, in_chunk)[:, ::-1], axis=1)
    in_any = np.repeat(backwards[:, -1], in_chunk)
    return backwards[:, ::-1].reshape(-1)[:count], in_any[:count]
