# SPDX-License-Identifier: Apache-2.0
"""Records as columns, gathered in one pass over a file: what is between is read from memory once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]

#: Records that are processed together, for all columns: they stay in the processor's cache meanwhile.
_BLOCK = 1 << 13


class Columns:
    """The records of one kind: a contiguous array for each field."""

    def __init__(self, columns: Mapping[str, Array], where: Index) -> None:
        self._columns = columns
        self.where = where  # numbers of the records in the file

    def __getitem__(self, field: str) -> Array:
        return self._columns[field]

    @property
    def size(self) -> int:
        return int(self.where.size)

    def row(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in self._columns.items()}

    def kept(self, keep: npt.NDArray[np.bool_]) -> Columns:
        columns = {name: column[keep] for name, column in self._columns.items()}
        return Columns(columns, self.where[keep])


def gather(
    table: npt.NDArray[np.uint8],
    kinds: npt.NDArray[np.uint8],
    layouts: Mapping[int, np.dtype[Any]],
) -> dict[int, Columns]:
    """The records of each of the kinds, by kind. `kinds`: of each record of the table."""
    counts = np.bincount(kinds, minlength=256).tolist()
    present = [kind for kind in layouts if counts[kind]]
    wheres = {kind: np.empty(counts[kind], dtype=np.int64) for kind in present}
    columns = {kind: _room(layouts[kind], counts[kind]) for kind in present}
    filled = dict.fromkeys(present, 0)
    for first in range(0, kinds.size, _BLOCK):
        of_block = kinds[first : first + _BLOCK]
        block = table[first : first + _BLOCK]
        for kind in present:
            where = np.flatnonzero(of_block == kind)
            if not where.size:
                continue
            records = block[where].view(layouts[kind])[:, 0]
            begin, end = filled[kind], filled[kind] + where.size
            wheres[kind][begin:end] = where + first
            for name, column in columns[kind].items():
                column[begin:end] = records[name]
            filled[kind] = end
    return {
        kind: Columns(columns[kind], wheres[kind]) if counts[kind] else _none_of(layout)
        for kind, layout in layouts.items()
    }


def _room(layout: np.dtype[Any], count: int) -> dict[str, Array]:
    return {
        name: np.empty((count, *layout[name].shape), dtype=layout[name].base)
        for name in layout.names or ()
        if name != "record"
    }


@cache
def _none_of(layout: np.dtype[Any]) -> Columns:
    """Most kinds are in no file. Of many ranks, to make their columns would take most of the time."""
    return Columns(_room(layout, 0), np.empty(0, dtype=np.int64))
