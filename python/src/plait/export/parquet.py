# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of a run as Parquet files, one a table, for pandas, polars, DuckDB, R."""

from __future__ import annotations

import json
from pathlib import Path

from plait._events import Run
from plait._files import make_folder, write_file
from plait.measures.event_tables import COLUMNS, EVENT_TABLES


def write_parquet(run: Run, folder: Path) -> list[Path]:
    """Writes the tables that hold anything, and returns their paths.

    Names are in the tables instead of numbers. The metadata of each file has `plait.run` (meta.json),
    `plait.columns` (`COLUMNS`) and `plait.notices`, as JSON.
    """
    make_folder(folder)
    metadata = {
        "plait.run": json.dumps(run.meta),
        "plait.columns": json.dumps(COLUMNS),
        "plait.notices": json.dumps(run.notices),
    }
    written = []
    for name, make in EVENT_TABLES.items():
        table = make(run)
        if table.height:
            path = folder / f"{name}.parquet"
            write_file(path, lambda file, table=table: table.write_parquet(file, metadata=metadata))  # type: ignore[misc]
            written.append(path)
    return written
