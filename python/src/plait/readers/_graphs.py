# SPDX-License-Identifier: Apache-2.0
"""The graphs of one rank: their tasks, what comes before what, and which step ran which."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait import _events as events
from plait._schema import SCHEMA
from plait.readers._clocks import ClockMap
from plait.readers._frames import Renumber, event_table, frame, list_entries
from plait.readers._rank_file import RankFile


def graph_tables(file: RankFile, clock: ClockMap, renumber: Renumber) -> dict[str, pl.DataFrame]:
    """Nothing where the rank has no graphs."""
    if not file["graph_task"].size:
        return {}
    tasks = event_table(file, SCHEMA["graph_task"], clock, renumber)
    return {
        # A task with many successors has several records.
        "graph_tasks": tasks.unique(["graph", "place"], keep="first", maintain_order=True),
        "dependencies": _dependency_table(file),
    }


def _dependency_table(file: RankFile) -> pl.DataFrame:
    found = file["graph_task"]
    row, _, later = list_entries(file, SCHEMA["graph_task"])
    table = frame(
        {
            "rank": np.full(later.size, file.rank),
            "graph": found["graph"][row],
            "earlier": found["place"][row],
            "later": later,
        },
        events.DEPENDENCIES,
    )
    return table.unique(maintain_order=True)
