# SPDX-License-Identifier: Apache-2.0
"""The graphs of one rank: their tasks, what comes before what, and which step ran which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait.readers import _layout as layout
from plait.readers._clocks import ClockMap
from plait.readers._frames import frame, rank_column
from plait.readers._rank_file import RankFile

Renumber = Callable[[npt.NDArray[np.uint32], dict[tuple[int, int], str], int], npt.NDArray[np.int32]]


def graph_tables(file: RankFile, clock: ClockMap, renumber: Renumber) -> dict[str, pl.DataFrame]:
    return {
        "graph_tasks": _task_table(file, renumber),
        "dependencies": _dependency_table(file),
        "graph_runs": _run_table(file, clock),
    }


def _task_table(file: RankFile, renumber: Renumber) -> pl.DataFrame:
    found = file.graph_tasks
    table = frame(
        {
            "rank": rank_column(file, found),
            "graph": found["graph"],
            "place": found["place"],
            "kind": renumber(found["name"], file.names, 0),
            "role": found["part"],
        },
        events.GRAPH_TASKS,
    )
    # A task that many come after has several records.
    return table.unique(["graph", "place"], keep="first", maintain_order=True)


def _dependency_table(file: RankFile) -> pl.DataFrame:
    found = file.graph_tasks
    is_used: npt.NDArray[Any] = np.arange(layout.LATER_IN_RECORD) < found["later_count"][:, None]
    count = found["later_count"]
    later = found["later"][is_used]
    table = frame(
        {
            "rank": rank_column(file, later),
            "graph": np.repeat(found["graph"], count),
            "earlier": np.repeat(found["place"], count),
            "later": later,
        },
        events.DEPENDENCIES,
    )
    return table.unique(maintain_order=True)


def _run_table(file: RankFile, clock: ClockMap) -> pl.DataFrame:
    found = file.graph_runs
    table = frame(
        {
            "rank": rank_column(file, found),
            "graph": found["graph"],
            "step": found["step"],
            "start_ns": clock.apply(found["start"]),
            "active": found["active"],
        },
        events.GRAPH_RUNS,
    )
    return table.unique("step", keep="first", maintain_order=True)
