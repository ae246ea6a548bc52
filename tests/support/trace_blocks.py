# SPDX-License-Identifier: Apache-2.0
"""The checksums of a trace that a test has changed, as docs/reference/trace-format.md describes them."""

from __future__ import annotations

import struct

HEADER_BYTES, RECORD_BYTES, BLOCK_BYTES, CHECKSUM = 4096, 64, 4096, 35


def seal(data: bytearray) -> None:
    """Makes the checksums of a rank's file fit what is in it now."""
    for begin in range(HEADER_BYTES, len(data), BLOCK_BYTES):
        for at in range(begin, min(begin + BLOCK_BYTES, len(data)), RECORD_BYTES):
            if data[at] == CHECKSUM:
                total, total_of_totals = 0, 0
                for (word,) in struct.iter_unpack("<Q", data[begin:at]):
                    total += word
                    total_of_totals += total
                struct.pack_into("<QQ", data, at + 8, total % 2**64, total_of_totals % 2**64)
                break
