# SPDX-License-Identifier: Apache-2.0
"""The event tables that readers return and measures take: columns, dtypes, units.

All times are int64 nanoseconds on rank 0's clock, counted from its time 0. A time that the trace
calls unknown has been filled with its neighbour (ready with start, handed with posted, and so on),
so that there are no missing values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import polars as pl

#: What a task is; the values of the `role` column of the task table. Joins stand in graphs only.
ROLE_TASK, ROLE_SEND, ROLE_RECEIVE, ROLE_JOIN = 0, 1, 2, 3
#: Communicators from this on are the runtime's own: clock exchange, gathering.
OWN_COMMUNICATORS = 0xFFFFFFF0
#: The worker number of a thread that is no worker.
NO_WORKER = 65535
PROTOCOLS = ("eager", "rendezvous", "active message", "not known")
PROTOCOL_NOT_KNOWN = 3

#: What a call does: the values of the `class` column of the call table, and what to call them.
CALL_OTHER, CALL_BEGINS, CALL_COMPLETES, CALL_MESSAGE, CALL_COLLECTIVE = 0, 1, 2, 3, 4
CALL_BEGINS_COLLECTIVE, CALL_ONE_SIDED, CALL_SETS_UP, CALL_FILE = 5, 6, 7, 8
CALL_BEGINS_OR_ENDS, CALL_BEGUN_COLLECTIVE = 9, 10
CALL_CLASSES = (
    *("other", "begins a message", "waits, tests, probes", "sends or receives and waits", "collective"),
    *("begins a collective", "one-sided", "sets up", "files", "initialises or finalises"),
    "non-blocking collective, as a whole",
)

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
    "completed_ns": pl.Int64(),  # unfinished: the last that is known of it
    "unfinished": pl.Boolean(),  # had not completed when the record ended
    "worker": pl.Int32(),  # the thread that was told of the end; NO_WORKER: not known
    "number": pl.Int64(),  # of its posting, in the order of posting on the rank; 0 = not known
    "function": pl.Int32(),  # that posted it: index into Run.functions; -1 = not known
    "site": pl.Int32(),  # where that was called: index into Run.sites; -1 = not known
}
#: Calls of a communication library; only programs that were recorded from outside have them. Those of
#: one worker follow one another, but for CALL_BEGUN_COLLECTIVE, which are no calls of their own.
CALLS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "worker": pl.Int32(),  # the thread that called
    "function": pl.Int32(),  # index into Run.functions
    "site": pl.Int32(),  # index into Run.sites; -1 = not known
    "communicator": pl.Int64(),  # -1 = none
    "class": pl.Int8(),  # CALL_OTHER and so on
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "bytes_given": pl.Int64(),
    "bytes_got": pl.Int64(),
    "peer": pl.Int32(),  # or root, as a rank of the run; -1 = none, several, or any
    "number": pl.Int64(),  # rises in the order of posting on the rank; as in MESSAGES
    "count": pl.Int64(),  # collectives: how many before on the communicator; waits: how many completed
}
#: Who is in a communicator; that of all ranks, 0, is not listed.
COMMUNICATORS: dict[str, pl.DataType] = {
    "communicator": pl.Int64(),
    "index": pl.Int64(),
    "rank": pl.Int32(),
}
#: What a vector collective gives to each member, where that is not the same for all.
SHARES: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "number": pl.Int64(),  # of the call
    "index": pl.Int64(),  # of the member, in the communicator
    "bytes_given": pl.Int64(),
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
class Site:
    """Where in the program something was called."""

    place: str  # module+0xOFFSET
    function: str | None = None
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is not None:
            where = PurePath(self.file).name + ("" if self.line is None else f":{self.line}")
        else:
            where = self.place
        return where if self.function is None else f"{_short(self.function)} ({where})"


def _short(function: str) -> str:
    """Without the types of its parameters, which readers do not need beside a line."""
    name = function.replace("(anonymous namespace)::", "")
    closing = name.rfind(")")
    depth = 0
    for index in range(closing, -1, -1):
        depth += (name[index] == ")") - (name[index] == "(")
        if depth == 0:
            # "operator()" has parentheses of its own.
            return name[:index] if index > 0 and not name[:index].endswith("operator") else name
    return name


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
    calls: pl.DataFrame = field(default_factory=lambda: empty(CALLS))
    communicators: pl.DataFrame = field(default_factory=lambda: empty(COMMUNICATORS))
    shares: pl.DataFrame = field(default_factory=lambda: empty(SHARES))
    kinds: tuple[str, ...] = ()
    span_kinds: tuple[str, ...] = ()
    counter_kinds: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()
    #: Largest half round trip of the clock exchanges used: times of two ranks differ by this much.
    clock_error_ns: int = 0
    #: Messages of the runtime itself, which are in none of the tables: sent or received, each counts.
    own_messages: int = 0
    #: What the reader of a report must know first: missing files, records left out, a killed run.
    notices: tuple[str, ...] = ()

    @property
    def event_count(self) -> int:
        tables = (self.tasks, self.messages, self.spans, self.gaps, self.counters, self.calls)
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
            (self.calls, "start_ns", "end_ns"),
            (self.counters, "time_ns", "time_ns"),
        ):
            if table.height:
                lows.append(int(table[first].to_numpy().min()))
                highs.append(int(table[last].to_numpy().max()))
        return (min(lows), max(highs)) if lows else (0, 0)
