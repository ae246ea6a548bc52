# SPDX-License-Identifier: Apache-2.0
"""From records to the columns of an event table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait.readers._rank_file import RankFile


def frame(columns: dict[str, Any], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: pl.Series(name, np.ascontiguousarray(columns[name])).cast(kind)
            for name, kind in schema.items()
        }
    )


def rank_column(file: RankFile, records: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    return np.full(records.shape[0], file.rank, dtype=np.int32)
