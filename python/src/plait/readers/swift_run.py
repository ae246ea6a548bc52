# SPDX-License-Identifier: Apache-2.0
"""SWIFT's logs as the event tables of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.readers.swift import SwiftLog

_STEP = "step"


def run_of_swift(log: SwiftLog, ended: datetime | None = None) -> Run:
    """Requests become messages whose communicator is the subtype, as SWIFT has a communicator for each;
    tasks keep thread, type and subtype; steps become spans. What the logs lack (when data left or
    arrived) is not known. `ended`: when the logs were written.
    """
    first = [log.steps["start_ns"].min(), log.requests["posted_ns"].min(), log.tasks["start_ns"].min()]
    # A time of 0 means "not known" in a trace.
    later = max(0, 1 - min(int(str(time)) for time in first if time is not None))
    kinds, tasks = _tasks(log, later)
    return Run(
        meta=_meta(log, ended),
        ranks=log.ranks,
        ranks_present=log.ranks_present,
        tasks=tasks,
        messages=_messages(log, later),
        spans=_spans(log, later),
        communicators=_communicators(log),
        kinds=kinds,
        span_kinds=(_STEP,),
        notices=log.notices,
    )


def _meta(log: SwiftLog, ended: datetime | None) -> dict[str, Any]:
    threads = [log.tasks["thread"].max(), log.requests["thread"].max()]
    names = log.names
    return {
        "program": "SWIFT",
        "command": [],
        "workers": 1 + max((int(str(thread)) for thread in threads if thread is not None), default=0),
        "hosts": [],
        "started": None,
        "ended": (ended or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "mpi": "",
        "revision": "",
        "options": {},
        "recorder": "swift",
        "swift": {
            "frequency_hz": log.frequency_hz,
            "types": {str(number): name for number, name in sorted(names.types.items())},
            "subtypes": {str(number): name for number, name in sorted(names.subtypes.items())},
            "kinds": {
                names.task(kind, subtype): [kind, subtype] for kind, subtype in _kinds(log).iter_rows()
            },
        },
    }


def _kinds(log: SwiftLog) -> pl.DataFrame:
    return log.tasks.select("type", "subtype").unique().sort("type", "subtype")


def _tasks(log: SwiftLog, later: int) -> tuple[tuple[str, ...], pl.DataFrame]:
    kinds = _kinds(log)
    names = tuple(log.names.task(kind, subtype) for kind, subtype in kinds.iter_rows())
    found = log.tasks.join(
        kinds.with_row_index("kind"), on=["type", "subtype"], how="left", maintain_order="left"
    ).sort("rank", "end_ns", maintain_order=True)
    start = pl.col("start_ns") + later
    table = found.with_columns(
        pl.col("thread").alias("worker"),
        pl.lit(events.ROLE_TASK).alias("role"),
        pl.Series("object", found["flags"].to_numpy().view(np.uint64)),
        start.alias("ready_ns"),
        start,
        pl.col("end_ns") + later,
        (pl.int_range(pl.len()).over("rank") + 1).alias("id"),
        pl.lit(0).alias("released_by"),
        pl.lit(0).alias("place"),
    )
    return names, _as(table, events.TASKS)


def _messages(log: SwiftLog, later: int) -> pl.DataFrame:
    received, rank, peer = pl.col("received"), pl.col("rank"), pl.col("peer")
    posted = pl.col("posted_ns") + later
    completed = pl.coalesce("completed_ns", "posted_ns") + later
    table = log.requests.with_columns(
        pl.lit(events.PROTOCOL_NOT_KNOWN).alias("protocol"),
        pl.when(received).then(peer).otherwise(rank).alias("source"),
        pl.when(received).then(rank).otherwise(peer).alias("destination"),
        pl.col("subtype").alias("communicator"),
        posted.alias("posted_ns"),
        posted.alias("handed_ns"),
        completed.alias("arrived_ns"),
        completed.alias("completed_ns"),
        pl.col("completed_ns").is_null().alias("unfinished"),
        pl.lit(False).alias("non_contiguous"),
        pl.col("thread").alias("worker"),
        pl.lit(0).alias("number"),
        pl.lit(-1).alias("function"),
        pl.lit(-1).alias("site"),
    )
    return _as(table, events.MESSAGES)


def _spans(log: SwiftLog, later: int) -> pl.DataFrame:
    table = log.steps.with_columns(
        pl.lit(0).alias("worker"),
        pl.lit(0).alias("kind"),
        pl.lit(0).alias("object"),
        pl.col("start_ns") + later,
        pl.col("end_ns") + later,
    )
    return _as(table, events.SPANS)


def _communicators(log: SwiftLog) -> pl.DataFrame:
    numbers = log.requests["subtype"].unique().sort()
    members = pl.DataFrame({"rank": np.arange(log.ranks)}).with_columns(pl.col("rank").alias("index"))
    table = pl.DataFrame({"communicator": numbers.filter(numbers != 0)}).join(members, how="cross")
    return _as(table, events.COMMUNICATORS)


def _as(table: pl.DataFrame, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return table.select([pl.col(name).cast(kind) for name, kind in schema.items()])
