# SPDX-License-Identifier: Apache-2.0
"""The critical path of a whole run, through calls and tasks: what decided when the run ended.

Walks backwards from the thread that ended last, at each time to what this thread had to wait for last.

- In a call: to the rank that came late, at the time when it came (`call_causes`).
- At the begin of a task: to the task before it on its worker, or to what released it: a task, or the
  message of a receive task, and so to its sender. Of an element of a collection: to the last task of its
  phase that can have sent to it, as the sender is not recorded.
- After a graph: to the task that ended it, as the thread that runs a graph waits for the tasks of its
  rank; after a phase of a collection, for those of all ranks.
- Elsewhere the program itself computes.

`critical_path` has the paths of single steps, with their waits in more detail.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from operator import itemgetter

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.call_lanes import CallLanes, Thread
from plait.measures.calls import calls_within, parallel_window
from plait.measures.message_sides import message_sides
from plait.measures.wait_states import begun_collectives, meetings

#: What a stretch of the path is; the values of the `what` column.
PROGRAM, TASK, CALL, MESSAGE, WAIT = range(5)
WHAT = (
    "the program itself",
    "a task",
    "a call",
    "message or collective under way, from when the last rank came",
    "ready, or released, and not started",
)
#: Columns of `run_path`. `kind`: of TASK the task kind, of CALL and of MESSAGE in a call the function;
#: else -1.
RUN_PATH: dict[str, pl.DataType] = {
    "rank": pl.Int32(),
    "worker": pl.Int32(),
    "what": pl.Int8(),
    "kind": pl.Int32(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
_End = tuple[int, int, "_Task"]  # time, rank, and the task that ended
_Row = tuple[int, int, int, int, int, int]
#: Steps without progress in time, after which a path is at its end: clocks of ranks disagree.
_STUCK_MAX = 16


@dataclass
class _Task:
    start_ns: int
    end_ns: int
    kind: int
    ready_ns: int
    worker: int
    role: int
    released_by: int
    message: tuple[int, int] = (-1, 0)  # of send and receive tasks: peer, sequence number
    phase: int = -1  # step of a phase of a collection, which has no graph


@dataclass
class _Threads:
    calls: CallLanes
    tasks: dict[Thread, list[_Task]]  # of each worker by start; none overlap
    workers: dict[int, list[Thread]]  # the threads of each rank that call
    task_of: dict[tuple[int, int], _Task]  # (rank, task id)
    sent: dict[tuple[int, int, int], _Task]  # (source, destination, sequence) -> send task
    sent_ns: dict[tuple[int, int, int], int]
    #: Of each rank, by time: when a step ended, and the rank and the task that ended it.
    ends: dict[int, list[_End]]
    phases: dict[int, list[_End]]  # of each phase: all of its tasks, on all ranks, by end

    def at(self, rank: int, time_ns: int) -> Thread:
        """The thread of a rank that came into a call at a time; its first where that is not known."""
        for thread in self.workers.get(rank, []):
            call = self.calls.before(thread, time_ns + 1)
            if call >= 0 and self.calls.end_ns[call] >= time_ns:
                return thread
        return rank, 0

    def task_before(self, thread: Thread, time_ns: int) -> _Task | None:
        """The last that began before a time."""
        tasks = self.tasks.get(thread, [])
        at = bisect_left(tasks, time_ns, key=lambda task: task.start_ns)
        return tasks[at - 1] if at else None


def run_path(run: Run, matched: pl.DataFrame, causes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Stretches in order of time (RUN_PATH), from the end of MPI_Init to the last thing that was done.

    Empty where a run has no calls. `matched`: `match_messages`; `causes`: `call_causes` (None: they are
    found here). Times of two ranks are right to `run.clock_error_ns`.
    """
    if not run.calls.height:
        return pl.DataFrame(schema=RUN_PATH)
    window_ns = parallel_window(run)
    if causes is not None:
        calls = calls_within(run, window_ns, "function")
    else:
        calls = calls_within(run, window_ns)
        sides = message_sides(calls, matched.filter(~events.IS_OF_ENGINE), run.clock_error_ns)
        met = meetings(run, calls)
        causes = call_causes(calls, sides, met, begun_collectives(met, calls))
    threads = _threads(run, matched, CallLanes(calls, causes, window_ns[0]))
    walk = _Walk(threads, window_ns[0], _last(threads, window_ns[1]))
    walk.go()
    return walk.path()


def run_path_shares(path: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Time on the path by name, what and rank, the largest first.

    Columns: name, what, rank, count, time_ns, share.
    """
    whole = max(1, int((path["end_ns"] - path["start_ns"]).sum()))
    grouped = (
        path.with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("time_ns"))
        .group_by("what", "kind", "rank")
        .agg(pl.len().alias("count"), pl.col("time_ns").sum())
        .sort("time_ns", "what", "kind", "rank", descending=[True, False, False, False])
    )
    names = [stretch_name(run, what, kind) for what, kind in grouped.select("what", "kind").rows()]
    return grouped.select(
        pl.Series("name", names, dtype=pl.String),
        *("what", "rank", "count", "time_ns"),
        (pl.col("time_ns") / whole).alias("share"),
    )


def stretch_name(run: Run, what: int, kind: int) -> str:
    if what == TASK:
        return run.kinds[kind]
    if what == CALL:
        return run.functions[kind]
    if what == MESSAGE and kind >= 0:
        return f"{run.functions[kind]}, from when the last rank came"
    return "message under way" if what == MESSAGE else WHAT[what]


def call_causes(
    calls: pl.DataFrame, sides: pl.DataFrame, met: pl.DataFrame, begun: pl.DataFrame
) -> pl.DataFrame:
    """Of each call that waited for another rank: call (its row), rank, came_ns: who came last, and when.

    Of `calls_within`, `message_sides`, `meetings`, `begun_collectives`. As in `wait_states`, of all that
    a call completed the latest.
    """
    parts = [
        sides.select("call", "peer", "other_ns", "buffered")
        .filter(~pl.col("buffered"))
        .select("call", pl.col("peer").alias("rank"), pl.col("other_ns").alias("came_ns")),
        met.filter(pl.col("call").is_not_null() & pl.col("until_ns").is_not_null()).select(
            "call", pl.col("peer").alias("rank"), pl.col("until_ns").alias("came_ns")
        ),
        begun.select("call", pl.col("peer").alias("rank"), pl.col("until_ns").alias("came_ns")),
    ]
    kinds = {"call": pl.UInt32(), "rank": pl.Int32(), "came_ns": pl.Int64()}
    joined = pl.concat([part.select(pl.col(n).cast(t) for n, t in kinds.items()) for part in parts])
    times = calls.with_row_index("call").select("call", "start_ns", "end_ns", own="rank")
    return (
        joined.join(times, on="call")
        .filter(
            (pl.col("rank") != pl.col("own"))
            & (pl.col("came_ns") > pl.col("start_ns"))
            & (pl.col("came_ns") < pl.col("end_ns"))
        )
        .sort("call", "came_ns")
        .unique("call", keep="last", maintain_order=True)
        .select("call", "rank", "came_ns")
    )


# --- what the threads did ---------------------------------------------------------------------------


def _threads(run: Run, matched: pl.DataFrame, lanes: CallLanes) -> _Threads:
    workers: dict[int, list[Thread]] = {}
    for thread in lanes.rows:
        workers.setdefault(thread[0], []).append(thread)
    threads = _Threads(lanes, {}, workers, {}, {}, {}, {}, {})
    tasks = run.tasks.sort("rank", "worker", "start_ns")
    _add_tasks(threads, tasks)
    _add_ends(threads, tasks, set(run.graph_runs["step"].unique().to_list()))
    columns = ("source", "destination", "sequence", "sent_ns")
    of_engine = matched.filter(events.IS_OF_ENGINE) if run.engines.height else matched.head(0)
    for source, to, sequence, sent_ns in of_engine.select(columns).iter_rows():
        threads.sent_ns[source, to, sequence] = sent_ns
    return threads


def _add_tasks(threads: _Threads, tasks: pl.DataFrame) -> None:
    columns = ("start_ns", "end_ns", "kind", "ready_ns", "worker", "role", "released_by")
    others = ("rank", "id", "object")
    split = len(columns)
    for row in tasks.select(*columns, *others).iter_rows():
        rank, number, message = row[split:]
        task = _Task(*row[:split])
        task.message = message >> 32, message & 0xFFFFFFFF
        threads.task_of[rank, number] = task
        if task.role == events.ROLE_TASK:
            threads.tasks.setdefault((rank, task.worker), []).append(task)
        elif task.role == events.ROLE_SEND:
            threads.sent[rank, *task.message] = task


def _add_ends(threads: _Threads, tasks: pl.DataFrame, graphs: set[int]) -> None:
    """The thread that runs a graph waits for the rank's tasks; one in a phase of a collection, which has
    no graph, for those of all ranks."""
    lasts: dict[tuple[int, int], tuple[int, int, _Task]] = {}
    members: dict[tuple[int, int], set[int]] = {}
    for rank, number, step in tasks.select("rank", "id", "step").iter_rows():
        task = threads.task_of[rank, number]
        key = (step, rank if step in graphs else -1)
        if step not in graphs and task.role == events.ROLE_TASK:
            task.phase = step
            threads.phases.setdefault(step, []).append((task.end_ns, rank, task))
        members.setdefault(key, set()).add(rank)
        if key not in lasts or lasts[key][0] < task.end_ns:
            lasts[key] = task.end_ns, rank, task
    for key, last in lasts.items():
        for rank in members[key]:
            threads.ends.setdefault(rank, []).append(last)
    for ends in (*threads.ends.values(), *threads.phases.values()):
        ends.sort(key=itemgetter(0))


# --- the walk -----------------------------------------------------------------------------------------


class _Walk:
    """From a thread and a time back to the begin of the run."""

    def __init__(self, threads: _Threads, low_ns: int, place: tuple[int, int, int]) -> None:
        self._threads = threads
        self._calls = threads.calls
        self._low_ns = low_ns
        self._rank, self._worker, self._time_ns = place
        self._rows: list[_Row] = []  # without gaps or overlaps, but for those of the ranges
        self._ranges: list[tuple[int, int]] = []  # rows of calls, and of times between them, as they are

    def go(self) -> None:
        stuck = 0
        while self._time_ns > self._low_ns and stuck < _STUCK_MAX:
            before = self._time_ns
            self._step()
            stuck = 0 if self._time_ns < before else stuck + 1
        self._add(PROGRAM, -1, self._low_ns)

    def path(self) -> pl.DataFrame:
        """RUN_PATH, by time."""
        calls, between = self._calls.stretches(self._ranges)
        kinds = ((calls, CALL, pl.col("function")), (between, PROGRAM, pl.lit(-1)))
        parts = [pl.DataFrame(self._rows, schema=RUN_PATH, orient="row")]
        for table, what, kind in kinds:
            named = table.with_columns(pl.lit(what).alias("what"), kind.alias("kind"))
            parts.append(named.select(pl.col(name).cast(kept) for name, kept in RUN_PATH.items()))
        return pl.concat(parts).filter(pl.col("end_ns") > pl.col("start_ns")).sort("start_ns")

    def _step(self) -> None:
        thread = self._rank, self._worker
        calls, call = self._calls, self._calls.before(thread, self._time_ns)
        task = self._threads.task_before(thread, self._time_ns)
        if call >= 0 and calls.end_ns[call] >= self._time_ns:
            self._through_call(call)
        elif task is not None and task.end_ns >= self._time_ns:
            nested = call >= 0 and calls.end_ns[call] > task.start_ns
            self._add(TASK, task.kind, calls.end_ns[call] if nested else task.start_ns)
            if not nested:
                self._before_task(thread, task)
        else:
            self._through_program(call, task)

    def _through_call(self, call: int) -> None:
        late_rank, came_ns = self._calls.late_rank[call], self._calls.came_ns[call]
        if late_rank >= 0 and came_ns < self._time_ns:
            self._add(MESSAGE, self._calls.function[call], came_ns)
            self._rank, self._worker = self._threads.at(late_rank, came_ns)
        else:
            self._add(CALL, self._calls.function[call], self._calls.start_ns[call])

    def _before_task(self, thread: Thread, task: _Task) -> None:
        """From the begin of a task."""
        previous = self._threads.task_before(thread, task.start_ns)
        if previous is not None and task.ready_ns < previous.end_ns <= self._time_ns:
            self._add(WAIT, -1, previous.end_ns)
        else:
            self._add(WAIT, -1, task.ready_ns)
            self._to_what_released(task)

    def _to_what_released(self, task: _Task) -> None:
        before = self._threads.task_of.get((self._rank, task.released_by))
        if before is None:
            self._to_sender_in_phase(task)
        else:
            self._add(WAIT, -1, before.end_ns)
            self._to_end_of(before)

    def _to_sender_in_phase(self, task: _Task) -> None:
        """To the last task of the phase that ended before; else to the thread that has begun the graph
        or the phase."""
        ends = self._threads.phases.get(task.phase, [])
        at = bisect_left(ends, self._time_ns + 1, key=itemgetter(0))
        if at:
            end_ns, rank, before = ends[at - 1]
            self._add(MESSAGE, -1, end_ns)
            self._rank, self._worker = rank, before.worker
        else:
            self._worker = 0

    def _to_end_of(self, task: _Task) -> None:
        """To the task, on this rank; of a receive task through its message."""
        if task.role == events.ROLE_TASK:
            self._worker = task.worker
            return
        peer, sequence = task.message
        sent = None
        if task.role == events.ROLE_RECEIVE:
            key = (peer, self._rank, sequence)
            sent_ns = self._threads.sent_ns.get(key)
            if sent_ns is not None and sent_ns > task.start_ns:
                self._add(MESSAGE, -1, sent_ns)
                self._rank, self._worker, sent = peer, 0, self._threads.sent.get(key)
        if sent is None and self._rank != peer:
            self._add(MESSAGE, -1, task.start_ns)
            sent = task
        if sent is not None:
            self._to_what_released(sent)

    def _through_program(self, call: int, task: _Task | None) -> None:
        """In neither a call nor a task."""
        begin_ns = max(
            self._low_ns,
            self._calls.end_ns[call] if call >= 0 else self._low_ns,
            task.end_ns if task is not None else self._low_ns,
        )
        if self._worker != 0:
            self._worker = 0  # between two graphs
            return
        ends = self._threads.ends.get(self._rank, [])
        if not ends and task is None:
            self._add(PROGRAM, -1, begin_ns)
            self._past_calls(call)
            return
        at = bisect_left(ends, self._time_ns + 1, key=itemgetter(0))
        if at and ends[at - 1][0] > begin_ns:
            end_ns, rank, last = ends[at - 1]
            self._add(PROGRAM, -1, end_ns)
            self._rank = rank
            self._to_end_of(last)
        else:
            self._add(PROGRAM, -1, begin_ns)

    def _past_calls(self, call: int) -> None:
        """From the end of a call, where there are no tasks, to that of the call before that waited for
        another rank: all at once, as most calls wait for none."""
        if call < 0:
            return
        waited = self._calls.waited_before((self._rank, self._worker), call)
        first = waited + 1 if waited >= 0 else self._calls.rows[self._rank, self._worker][0]
        if first <= call:
            self._ranges.append((first, call))
            self._time_ns = self._calls.previous_end[first]

    def _add(self, what: int, kind: int, begin_ns: int) -> None:
        """The stretch from `begin_ns` to where the path has come; nothing when it has no length."""
        begin_ns = max(begin_ns, self._low_ns)
        if begin_ns < self._time_ns:
            self._rows.append((self._rank, self._worker, what, kind, begin_ns, self._time_ns))
            self._time_ns = begin_ns


def _last(threads: _Threads, high_ns: int) -> tuple[int, int, int]:
    """The thread that did something last, and when that ended."""
    last = (0, 0, 0)
    for (rank, worker), (_, after) in threads.calls.rows.items():
        last = max(last, (rank, worker, threads.calls.end_ns[after - 1]), key=itemgetter(2))
    for (rank, worker), tasks in threads.tasks.items():
        last = max(last, (rank, worker, tasks[-1].end_ns), key=itemgetter(2))
    return last[0], last[1], min(last[2], high_ns)
