# SPDX-License-Identifier: Apache-2.0
"""The event tables that readers return and measures take: columns, dtypes, units.

All times are int64 nanoseconds on rank 0's clock, counted from its time 0. A time that the trace
calls unknown has been filled with its neighbour (ready with start, handed with posted, and so on),
so that there are no missing values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

#: What a task is; the values of the `role` column of the task table. Joins stand in graphs only.
ROLE_TASK, ROLE_SEND, ROLE_RECEIVE, ROLE_JOIN = 0, 1, 2, 3
#: Communicators from this on are the runtime's own: clock exchange, gathering.
OWN_COMMUNICATORS = 0xFFFFFFF0
#: The worker number of a thread that is no worker.
NO_WORKER = 65535
PROTOCOLS = ("eager", "rendezvous", "active message")

TASKS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "worker": pl.Int32(),
    "kind": pl.Int32(),  # index into Run.kinds
    "role": pl.Int8(),
    "object": pl.UInt64(),
    "ready_ns": pl.Int64(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "id": pl.UInt64(),
    "released_by": pl.UInt64(),
    "step": pl.Int64(),
    "place": pl.Int64(),  # in the graph that ran, from 1; 0 = of no graph, or not known
}
#: One row for each side of a message, as recorded.
MESSAGES: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "received": pl.Boolean(),
    "protocol": pl.Int8(),
    "source": pl.Int32(),
    "destination": pl.Int32(),
    "communicator": pl.Int64(),
    "sequence": pl.Int64(),
    "tag": pl.UInt64(),
    "size_bytes": pl.Int64(),
    "posted_ns": pl.Int64(),
    "handed_ns": pl.Int64(),  # send: handed to the network; receive: matched
    "arrived_ns": pl.Int64(),  # send: left; receive: all bytes are here
    "completed_ns": pl.Int64(),
}
SPANS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "worker": pl.Int32(),
    "kind": pl.Int32(),  # index into Run.span_kinds
    "object": pl.UInt64(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "step": pl.Int64(),
}
GAPS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "worker": pl.Int32(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
COUNTERS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "kind": pl.Int32(),  # index into Run.counter_kinds
    "time_ns": pl.Int64(),
    "value": pl.Float64(),
    "step": pl.Int64(),
}
#: What is in the graphs of each rank: each graph once. Older traces tell nothing of them.
GRAPH_TASKS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "graph": pl.Int64(),
    "place": pl.Int64(),
    "kind": pl.Int32(),  # index into Run.kinds
    "role": pl.Int8(),
}
DEPENDENCIES: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "graph": pl.Int64(),
    "earlier": pl.Int64(),  # places
    "later": pl.Int64(),
}
#: Which graph a step was a run of.
GRAPH_RUNS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "graph": pl.Int64(),
    "step": pl.Int64(),
    "start_ns": pl.Int64(),
    "active": pl.Int64(),
}


def empty(schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(schema))


@dataclass(frozen=True)
class Run:
    """Everything that was readable in a run's folder."""

    meta: dict[str, Any]
    ranks: int  # in the run; some may have left no file
    ranks_present: tuple[int, ...]
    tasks: pl.DataFrame = field(default_factory=lambda: empty(TASKS))
    messages: pl.DataFrame = field(default_factory=lambda: empty(MESSAGES))
    spans: pl.DataFrame = field(default_factory=lambda: empty(SPANS))
    gaps: pl.DataFrame = field(default_factory=lambda: empty(GAPS))
    counters: pl.DataFrame = field(default_factory=lambda: empty(COUNTERS))
    graph_tasks: pl.DataFrame = field(default_factory=lambda: empty(GRAPH_TASKS))
    dependencies: pl.DataFrame = field(default_factory=lambda: empty(DEPENDENCIES))
    graph_runs: pl.DataFrame = field(default_factory=lambda: empty(GRAPH_RUNS))
    kinds: tuple[str, ...] = ()
    span_kinds: tuple[str, ...] = ()
    counter_kinds: tuple[str, ...] = ()
    #: Largest half round trip of the clock exchanges used: times of two ranks differ by this much.
    clock_error_ns: int = 0
    #: Messages of the runtime itself, which are in none of the tables: sent or received, each counts.
    own_messages: int = 0
    #: What the reader of a report must know first: missing files, records left out, a killed run.
    notices: tuple[str, ...] = ()

    @property
    def event_count(self) -> int:
        tables = (self.tasks, self.messages, self.spans, self.gaps, self.counters)
        return sum(table.height for table in tables)

    def window_ns(self) -> tuple[int, int]:
        """First start and last end of anything recorded; (0, 0) when there is nothing."""
        lows: list[int] = []
        highs: list[int] = []
        for table, first, last in (
            (self.tasks, "start_ns", "end_ns"),
            (self.messages, "posted_ns", "completed_ns"),
            (self.spans, "start_ns", "end_ns"),
            (self.gaps, "start_ns", "end_ns"),
            (self.counters, "time_ns", "time_ns"),
        ):
            if table.height:
                lows.append(int(table[first].to_numpy().min()))
                highs.append(int(table[last].to_numpy().max()))
        return (min(lows), max(highs)) if lows else (0, 0)
