# SPDX-License-Identifier: Apache-2.0
"""Small numbers in place of combinations of values: sorting and joining by one column is quick."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

#: Labels are below this.
LABELS_MAX = 1 << 31


def label(*columns: npt.NDArray[Any]) -> Ints:
    """A number below 2^31 for each combination of values; they rise with these, first column first."""
    labels = np.zeros(columns[0].size, dtype=np.int64)
    count = 1
    for column in columns:
        numbers, size = _small(column)
        if count * size >= LABELS_MAX:
            labels, count = _dense(labels)
        if count * size >= LABELS_MAX:
            numbers, size = _dense(numbers)
        labels = labels * size + numbers
        count *= size
    return labels if count < LABELS_MAX else _dense(labels)[0]


def _small(column: npt.NDArray[Any]) -> tuple[Ints, int]:
    """Numbers from 0 in place of the values, in their order, and how many there may be."""
    if column.size == 0:
        return column.astype(np.int64), 1
    least, most = int(column.min()), int(column.max())
    if most - least < 1 << 16:
        return (column - column.dtype.type(least)).astype(np.int64), most - least + 1
    return _dense(column)


def _dense(column: npt.NDArray[Any]) -> tuple[Ints, int]:
    values = pl.Series(column).unique().sort().to_numpy()  # polars hashes: quick where there are few
    return np.searchsorted(values, column), values.size
