# SPDX-License-Identifier: Apache-2.0
"""From records to the columns of an event table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _schema
from plait._schema import Field, Record
from plait.readers._clocks import ClockMap
from plait.readers._rank_file import RankFile, list_counts

Renumber = Callable[[npt.NDArray[np.uint32], dict[tuple[int, int], str], int], npt.NDArray[np.int32]]

_OF_POLARS: dict[pl.DataType, type[np.generic]] = {
    **{pl.Int8(): np.int8, pl.Int32(): np.int32, pl.Int64(): np.int64},
    **{pl.UInt64(): np.uint64, pl.Float64(): np.float64, pl.Boolean(): np.bool_},
}


def frame(columns: dict[str, Any], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Values must fit into the schema's types: that is checked where records are read."""
    return pl.DataFrame(
        {
            name: pl.Series(name, np.ascontiguousarray(columns[name], dtype=_OF_POLARS[kind]))
            for name, kind in schema.items()
        },
        schema=schema,
    )


def event_columns(file: RankFile, record: Record, clock: ClockMap, renumber: Renumber) -> dict[str, Any]:
    """All of `record.columns`: times of rank 0's clock, names numbered in the run, -1 for none."""
    found = file[record.name]
    columns: dict[str, Any] = {"rank": np.full(found.size, file.rank, dtype=np.int32)}
    for field in record.plain:
        columns[field.column] = _column(file, record, field, clock, renumber)
    return columns


def event_table(file: RankFile, record: Record, clock: ClockMap, renumber: Renumber) -> pl.DataFrame:
    return frame(event_columns(file, record, clock, renumber), record.columns)


def _column(file: RankFile, record: Record, field: Field, clock: ClockMap, renumber: Renumber) -> Any:
    found = file[record.name]
    if field.type == "flag":
        return (found["flags"] & field.options["bit"]) != 0
    values = found[field.name]
    if field.type == "time":
        other = field.options.get("unknown")
        if isinstance(other, str):
            values = np.where(values == 0, found[other], values)
        return clock.apply(values)
    if field.type == "name":
        role = _schema.ROLES[field.options["role"]]
        if not field.optional:
            return renumber(values, file.names, role)
        known = values != _schema.NOTHING
        numbers = np.full(found.size, -1, dtype=np.int32)
        numbers[known] = renumber(values[known], file.names, role)
        return numbers
    if field.optional:
        values = values.astype(np.int64)
        values[values == _schema.NOTHING] = -1
    return values


def list_entries(
    file: RankFile, record: Record
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[Any]]:
    """The entries of all lists of such records: of each its record, its place there, and the entry."""
    found = file[record.name]
    assert record.list is not None
    used = np.arange(record.list.length) < list_counts(record, found)[:, None]
    row, place = np.nonzero(used)
    return row, place, found[record.list.name][used]
