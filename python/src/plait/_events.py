# SPDX-License-Identifier: Apache-2.0
"""The event tables that readers return and measures take: columns, dtypes, units.

All times are int64 nanoseconds on rank 0's clock, counted from its time 0. A time that the trace
calls unknown has been filled with its neighbour (ready with start, handed with posted, and so on),
so that there are no missing values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from typing import Any

import polars as pl

from plait import _schema
from plait._function_names import without_parameters
from plait._schema import SCHEMA

#: What a task is; the values of the `role` column of the task table. Joins are in graphs only.
ROLE_TASK, ROLE_SEND, ROLE_RECEIVE, ROLE_JOIN = 0, 1, 2, 3
#: Communicators from this on are the runtime's own: clock exchange, gathering.
OWN_COMMUNICATORS = 0xFFFFFFF0
#: In a run that also has calls, the communicators of plait's engine are numbered from this on.
ENGINE_COMMUNICATORS = 1 << 32
#: Which messages of such a run are the engine's, of tables with a communicator.
IS_OF_ENGINE = pl.col("communicator") >= ENGINE_COMMUNICATORS
#: The worker number of a thread that is no worker.
NO_WORKER = _schema.NO_WORKER
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

#: Columns of tables that are records as they are (docs/reference/trace-format.md): times end in "_ns";
#: `kind`, `function` and `site` are indices into Run.kinds, Run.span_kinds and so on; -1 = none.
TASKS = SCHEMA["task"].columns
SPANS = SCHEMA["span"].columns
GAPS = SCHEMA["poll_gap"].columns
COUNTERS = SCHEMA["counter"].columns
#: The graphs of each rank: each graph once. Older traces have none.
GRAPH_TASKS = SCHEMA["graph_task"].columns
#: Which graph a step was a run of.
GRAPH_RUNS = SCHEMA["graph_run"].columns
#: Calls of a communication library; only programs that were recorded from outside have them. Those of
#: one worker follow one another, but for CALL_BEGUN_COLLECTIVE, which are no calls of their own.
CALLS = SCHEMA["call"].columns
#: Regions that had not ended when their thread, or the recording, did.
OPEN_REGIONS = SCHEMA["open_region"].columns
#: The span of a time in which MPI_Pcontrol(0) had switched the recording off.
RECORDING_OFF = "recording off (MPI_Pcontrol)"
#: Ranks on which plait's engine recorded beside the calls of the program.
ENGINES = SCHEMA["engine"].columns
_MESSAGE = SCHEMA["message"].columns
#: One row for each side of a message, as recorded.
MESSAGES: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "received": pl.Boolean(),
    "protocol": _MESSAGE["protocol"],
    "source": pl.Int32(),
    "destination": pl.Int32(),
    **{n: t for n, t in _MESSAGE.items() if n not in ("direction", "peer", "is_matched_by_order")},
    "worker": pl.Int32(),  # the thread that was notified of the end; NO_WORKER: not known
    "number": pl.Int64(),  # of its posting, in the order of posting on the rank; 0 = not known
    "function": pl.Int32(),  # that posted it: index into Run.functions; -1 = not known
    "site": pl.Int32(),  # where that was called: index into Run.sites; -1 = not known
}
#: The members of communicators; that of all ranks, 0, is not listed.
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
#: Collectives whose data has gaps in the memory of a rank.
COLLECTIVE_LAYOUTS = SCHEMA["collective_layout"].columns
#: What recording takes of a rank's processor; one row a rank, if it was measured.
RECORDER_COSTS = SCHEMA["recorder_costs"].columns
#: What polls in the background took of a processor.
BACKGROUND_TIMES = SCHEMA["background_time"].columns
#: Bins of durations of a sum: bin 0 is below 2^8 ns, bin n from 2^(n+7) to 2^(n+8) ns, the last all
#: above.
TIME_BINS = 24
BIN_COLUMNS = tuple(f"bin_{index}" for index in range(TIME_BINS))
#: What a sum counts: the values of its column `of`; what it has lost: of `folded`.
SUM_OF_CALLS, SUM_OF_SENT, SUM_OF_RECEIVED = 0, 1, 2
FOLDED_WHOLE, FOLDED_WITHOUT_PEER, FOLDED_CLASS_ONLY = 0, 1, 2
#: The sums of a profile, with how often each duration was (BIN_COLUMNS).
SUMS: dict[str, pl.DataType] = {
    **{
        name: pl.Int64() if kind == pl.UInt64() else kind for name, kind in SCHEMA["sum"].columns.items()
    },
    **dict.fromkeys(BIN_COLUMNS, pl.Int64()),
}
#: What a sum of plait's engine counts: the values of its column `of`.
(ENGINE_TASKS, ENGINE_TASK_WAITS, ENGINE_SENT, ENGINE_SENT_WAITS) = range(4)
(ENGINE_RECEIVED, ENGINE_RECEIVED_WAITS, ENGINE_SPANS, ENGINE_POLL_GAPS) = range(4, 8)
#: The sums of what plait's engine did, of a profile of it, with how often each duration was.
ENGINE_SUMS: dict[str, pl.DataType] = {
    **{
        name: pl.Int64() if kind == pl.UInt64() else kind
        for name, kind in SCHEMA["engine_sum"].columns.items()
    },
    **dict.fromkeys(BIN_COLUMNS, pl.Int64()),
}
#: The windows of a profile on each rank: each once.
WINDOWS = SCHEMA["window"].columns
PROFILE_STATES = SCHEMA["profile_state"].columns
#: Where threads were, in equal intervals of their processor time. `thread`: of the rank, from 0;
#: `worker`: NO_WORKER if it never called the library. `site` has callers.
SAMPLES = SCHEMA["sample"].columns
#: What counters of the processor or kernel counted in a region or task: one has `region`, the
#: other `task`.
COUNTS = SCHEMA["count"].columns
DEPENDENCIES: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "graph": pl.Int64(),
    "earlier": pl.Int64(),  # places
    "later": pl.Int64(),
}
#: The tasks of flows, and the messages that flows send and receive, in order of submission on each rank.
FLOW_TASKS: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "id": pl.UInt64(),  # of a message: a number from the same row
    "role": pl.Int8(),
    "communicator": pl.Int64(),
    "tag": pl.UInt64(),
    "submitted_ns": pl.Int64(),
    "step": pl.Int64(),  # of a message: that of the task before it
    "written_by": pl.UInt64(),  # of a message: id of what last wrote its data before; 0 = none
}


def empty(schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(schema))


#: In the words for a place; a path may have more.
_CALLERS_SHOWN_MAX = 4
#: The first functions of a program or thread: their callers, in the C library, explain no cost.
_OUTERMOST = ("main", "MAIN__", "start_thread")


@dataclass(frozen=True)
class Site:
    """Where in the program something was called."""

    place: str  # module+0xOFFSET
    function: str | None = None
    file: str | None = None
    line: int | None = None
    start: str | None = None  # of a function without a name: module+0xOFFSET of where it starts
    #: Of a call path: the call of its function, the call of that one's, and so on. They have none.
    callers: tuple[Site, ...] = ()

    @property
    def function_name(self) -> str:
        """For a reader; of a function without a name, where it starts."""
        if self.function is not None:
            return without_parameters(self.function)
        return self.start or _plain(self.place)

    @property
    def path(self) -> tuple[Site, ...]:
        """This one and its callers, up to the program's first function."""
        whole = (self, *self.callers)
        ends = [index for index, one in enumerate(whole) if one.function_name in _OUTERMOST]
        return whole[: ends[-1] + 1] if ends else whole

    def __str__(self) -> str:
        if self.file is not None:
            where = PurePath(self.file).name + ("" if self.line is None else f":{self.line}")
        else:
            where = _plain(self.place)
        own = where if self.function is None else f"{without_parameters(self.function)} ({where})"
        return own + "".join(f" < {one.function_name}" for one in self.path[1 : 1 + _CALLERS_SHOWN_MAX])


def _plain(place: str) -> str:
    """Without the number of its call path."""
    return place.partition("~")[0]


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
    flow_tasks: pl.DataFrame = field(default_factory=lambda: empty(FLOW_TASKS))
    calls: pl.DataFrame = field(default_factory=lambda: empty(CALLS))
    communicators: pl.DataFrame = field(default_factory=lambda: empty(COMMUNICATORS))
    shares: pl.DataFrame = field(default_factory=lambda: empty(SHARES))
    collective_layouts: pl.DataFrame = field(default_factory=lambda: empty(COLLECTIVE_LAYOUTS))
    recorder_costs: pl.DataFrame = field(default_factory=lambda: empty(RECORDER_COSTS))
    background_times: pl.DataFrame = field(default_factory=lambda: empty(BACKGROUND_TIMES))
    open_regions: pl.DataFrame = field(default_factory=lambda: empty(OPEN_REGIONS))
    engines: pl.DataFrame = field(default_factory=lambda: empty(ENGINES))
    samples: pl.DataFrame = field(default_factory=lambda: empty(SAMPLES))
    counts: pl.DataFrame = field(default_factory=lambda: empty(COUNTS))
    #: What plait's engine sent and received for a program that `plait accelerate` ran. `number`,
    #: `function` and `site`: of the call that posted it; number 0: none, as of a collective's blocks.
    engine_messages: pl.DataFrame = field(default_factory=lambda: empty(MESSAGES))
    #: Of a profile (`plait record --profile`): without calls and messages, but for the first and the
    #: last.
    sums: pl.DataFrame = field(default_factory=lambda: empty(SUMS))
    #: Of a profile of plait's engine (`plait run --profile`): without tasks, messages and spans.
    engine_sums: pl.DataFrame = field(default_factory=lambda: empty(ENGINE_SUMS))
    windows: pl.DataFrame = field(default_factory=lambda: empty(WINDOWS))
    profile_states: pl.DataFrame = field(default_factory=lambda: empty(PROFILE_STATES))
    kinds: tuple[str, ...] = ()
    span_kinds: tuple[str, ...] = ()
    counter_kinds: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()
    #: Reading of rank 0's monotonic clock at its time 0; without rank 0, of the first rank there is.
    clock_ns: int = 0
    #: Largest half round trip of the clock exchanges used: times of two ranks differ by this much.
    clock_error_ns: int = 0
    #: Messages of the runtime itself, which are in none of the tables: sent or received, each counts.
    own_messages: int = 0
    #: What the reader of a report must know first: missing files, records left out, a killed run.
    notices: tuple[str, ...] = ()
    #: Names of files of ranks that could not be read.
    unusable: tuple[str, ...] = ()
    #: Whether only some ranks were read, as requested.
    is_part: bool = False
    #: Tables of records that only the schema knows, which the run was read with.
    other: dict[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def is_profile(self) -> bool:
        return self.sums.height > 0 or self.engine_sums.height > 0

    @property
    def event_count(self) -> int:
        tables = (self.tasks, self.messages, self.spans, self.gaps, self.counters, self.calls)
        return sum(table.height for table in (*tables, self.sums, self.engine_sums))

    def window_ns(self) -> tuple[int, int]:
        """First start and last end of anything recorded; (0, 0) when there is nothing."""
        lows: list[int] = [0] if self.engine_sums.height else []  # they are from the begin on
        highs: list[int] = [0] if self.engine_sums.height else []
        for table, first, last in (
            (self.tasks, "start_ns", "end_ns"),
            (self.messages, "posted_ns", "completed_ns"),
            (self.spans, "start_ns", "end_ns"),
            (self.gaps, "start_ns", "end_ns"),
            (self.calls, "start_ns", "end_ns"),
            (self.counters, "time_ns", "time_ns"),
            (self.profile_states, "last_ns", "last_ns"),
        ):
            if table.height:
                lows.append(int(table[first].to_numpy().min()))
                highs.append(int(table[last].to_numpy().max()))
        return (min(lows), max(highs)) if lows else (0, 0)


#: The fields of a run that are tables.
TABLES = tuple(one.name for one in fields(Run) if one.type == "pl.DataFrame")


def empty_tables() -> dict[str, pl.DataFrame]:
    """Each of TABLES without rows."""
    nothing = Run({}, 0, ())
    return {name: getattr(nothing, name) for name in TABLES}
