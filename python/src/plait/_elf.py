# SPDX-License-Identifier: Apache-2.0
"""What a program's file has of its functions: names with their sizes, and where functions start.

The layout is that of the System V ABI (ELF, 64 bits, little-endian) and of .eh_frame_hdr in the
Linux Standard Base.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

_SYMBOL = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("at", "<u8"),
        ("size", "<u8"),
    ]
)
_SECTION_TYPES = {"symbols": 2, "exported": 11}
_NOTES, _FRAME_TABLE = 4, 0x6474E550
_FUNCTION, _FUNCTION_CHOSEN_AT_START = 2, 10
_FRAME_TABLE_HEAD = bytes([1, 0x1B, 0x03, 0x3B])  # as linkers write it; other encodings are not read


@dataclass(frozen=True)
class Code:
    """The functions of a file. Addresses are those that tools count in the file."""

    build_id: str = ""
    #: Sorted by address; of each its end and its name.
    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _frames: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def function_at(self, address: int) -> str | None:
        """The symbol of the function that has the address; None: none has, or its size is not known."""
        at = bisect_right(self._starts, address) - 1
        return self._names[at] if at >= 0 and address < self._ends[at] else None

    def start_of(self, address: int) -> int | None:
        """Where the function of an address starts, by the table for exceptions; it needs no symbols."""
        at = int(np.searchsorted(self._frames, address, side="right")) - 1
        return int(self._frames[at]) if at >= 0 else None


def read_code(path: Path) -> Code:
    """What is readable; nothing of a file that is missing, damaged, or no ELF file of this kind."""
    try:
        data = path.read_bytes()
    except OSError:
        return Code()
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        return Code()
    try:
        symbols = _symbols(data)
        parts = list(_entries(data, 32, 54))
        return Code(_build_id(data, parts), *symbols, _frame_starts(data, parts))
    except (struct.error, ValueError, IndexError):
        return Code()


def _entries(data: bytes, table_at: int, size_at: int) -> Iterator[bytes]:
    """The headers of parts (32, 54) or sections (40, 58)."""
    (first,) = struct.unpack_from("<Q", data, table_at)
    size, count = struct.unpack_from("<HH", data, size_at)
    for index in range(count):
        yield data[first + index * size : first + (index + 1) * size]


def _symbols(data: bytes) -> tuple[list[int], list[int], list[str]]:
    """Of all functions if they have names, else of the exported ones."""
    sections = [struct.unpack_from("<IIQQQQII", one) for one in _entries(data, 40, 58) if len(one) >= 64]
    for wanted in _SECTION_TYPES.values():
        found = next((one for one in sections if one[1] == wanted), None)
        if found is None or not 0 <= found[6] < len(sections):
            continue
        _, _, _, _, offset, size, texts, _ = found
        strings = sections[texts]
        symbols = np.frombuffer(data, _SYMBOL, min(size, len(data) - offset) // _SYMBOL.itemsize, offset)
        kind = symbols["info"] & 15
        is_function = (kind == _FUNCTION) | (kind == _FUNCTION_CHOSEN_AT_START)
        symbols = symbols[is_function & (symbols["section"] != 0) & (symbols["size"] > 0)]
        # Of several names for one function, a global one: compilers add local ones.
        symbols = symbols[np.argsort(symbols["info"] >> 4 != 1, kind="stable")]
        symbols = symbols[np.unique(symbols["at"], return_index=True)[1]]
        text = data[strings[4] : strings[4] + strings[5]]
        names = [_text(text, int(at)) for at in symbols["name"]]
        starts = symbols["at"].astype(np.int64)
        return starts.tolist(), (starts + symbols["size"].astype(np.int64)).tolist(), names
    return [], [], []


def _text(texts: bytes, at: int) -> str:
    return texts[at : texts.find(b"\0", at)].decode("utf-8", "replace")


def _build_id(data: bytes, parts: list[bytes]) -> str:
    for part in parts:
        kind, _, offset, _, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", part)
        end = min(offset + size, len(data))
        while kind == _NOTES and offset + 12 <= end:
            name, description, note = struct.unpack_from("<III", data, offset)
            begin = offset + 12 + (name + 3) // 4 * 4
            if note == 3 and data[offset + 12 : offset + 16] == b"GNU\0":
                return data[begin : begin + description].hex()
            offset = begin + (description + 3) // 4 * 4
    return ""


def _frame_starts(data: bytes, parts: list[bytes]) -> npt.NDArray[np.int64]:
    for part in parts:
        kind, _, offset, address, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", part)
        if kind != _FRAME_TABLE or data[offset : offset + 4] != _FRAME_TABLE_HEAD:
            continue
        (count,) = struct.unpack_from("<I", data, offset + 8)
        count = min(count, (size - 12) // 8, (len(data) - offset - 12) // 8)
        table = np.frombuffer(data, "<i4", 2 * count, offset + 12)
        starts: npt.NDArray[np.int64] = table[::2].astype(np.int64) + address
        return starts
    return np.zeros(0, dtype=np.int64)
