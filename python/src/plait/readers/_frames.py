# SPDX-License-Identifier: Apache-2.0
"""From records to the columns of an event table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait.readers._columns import Columns
from plait.readers._rank_file import RankFile

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


def rank_column(file: RankFile, records: Columns | npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    return np.full(records.size, file.rank, dtype=np.int32)
