# SPDX-License-Identifier: Apache-2.0
"""The chain of tasks and messages that decided when a step ended.

Walks backwards from the task that ended last, at each task to what it had to wait for last: the
task that ran before it on its worker, when that ended after the task was ready, else the task that
released it. The time in which it was ready and its worker had nothing to do is a wait for a lock or
for the scheduler. A receive task leads to its sender's send task when the message was what it
waited for, and to the task that posted it when it was posted late; a send task by rendezvous leads
likewise to a late receiver. What waited for a task waited for those that it spawned, too: the path
goes to the one that ended last. The time from when a message was through until its task ended is
separate: no thread polled the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events

#: What a stretch of the path is; the values of the `what` column.
RUN, WORKER_WAIT, TRANSFER, RELEASE, START, NOTICE = range(6)
WHAT = (
    "computing",
    "ready, but not started",
    "message under way",
    "released, not yet noticed",
    "before the first task",
    "message through, not yet noticed",
)

_COLUMNS = {
    "step": pl.Int64(),
    "rank": pl.Int32(),
    "worker": pl.Int32(),
    "role": pl.Int8(),
    "kind": pl.Int32(),
    "what": pl.Int8(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "id": pl.UInt64(),
}
_Row = tuple[int, int, int, int, int, int, int, int, int]
#: How a task of the path led to the one after it; the values of the `led` column.
LAST, RELEASED, WORKER, MESSAGE = range(4)
_HOPS = {"step": pl.Int64(), "rank": pl.Int32(), "id": pl.UInt64(), "led": pl.Int8()}
_Hop = tuple[int, int, int, int]


_Key = tuple[int, int]  # (source << 32 | destination, sequence)


@dataclass(frozen=True)
class _Message:
    sent_ns: int
    left_ns: int
    arrived_ns: int
    rendezvous: bool


@dataclass(frozen=True)
class _Tables:
    columns: dict[str, list[Any]]
    position: dict[tuple[int, int], int]  # (rank, task id) -> row
    send_of: dict[_Key, int]  # row of the send task
    receive_of: dict[_Key, int]
    messages: dict[_Key, _Message]
    previous: list[int]  # the row that ran before on the same worker; -1 where there is none
    last_spawned: dict[int, int]  # row -> row of the task that ended last of those it spawned

    def key(self, row: int) -> _Key:
        """Of the message of a send or receive task."""
        peer, sequence = self.columns["object"][row] >> 32, self.columns["object"][row] & 0xFFFFFFFF
        rank = self.columns["rank"][row]
        sends = self.columns["role"][row] == events.ROLE_SEND
        return (rank << 32 | peer if sends else peer << 32 | rank), sequence


def critical_paths(
    tasks: pl.DataFrame, matched: pl.DataFrame, steps: Iterable[int] | None = None
) -> pl.DataFrame:
    """The paths of all steps, or of some: stretches in order of time.

    Columns: step, rank, worker, role, kind (of the task), what (see WHAT), start_ns, end_ns, id (of
    the task).
    """
    if steps is not None:
        tasks = tasks.filter(pl.col("step").is_in(list(steps)))
    return walk_paths(tasks, matched)[0]


def walk_paths(tasks: pl.DataFrame, matched: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`critical_paths` of all steps, and the tasks that they go through, the first of a step first.

    Columns of the latter: step, rank, id, and led: how it led to the next one, by having released it
    (RELEASED), by having run before it on its worker (WORKER), or as the other side of its message
    (MESSAGE); LAST for the last.
    """
    if not tasks.height:
        return pl.DataFrame(schema=_COLUMNS), pl.DataFrame(schema=_HOPS)
    tasks = tasks.sort("step", "end_ns")
    tables = _index(tasks, matched)
    step = tasks["step"].to_numpy()
    lasts = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    firsts = tasks.group_by("step").agg(pl.col("ready_ns").min()).sort("step")["ready_ns"].to_list()
    rows: list[_Row] = []
    hops: list[_Hop] = []
    for last, first_ns in zip(lasts.tolist(), firsts, strict=True):
        path, through = _walk(tables, last, first_ns)
        rows.extend(reversed(path))
        hops.extend(reversed(through))
    return (
        pl.DataFrame(rows, schema=_COLUMNS, orient="row"),
        pl.DataFrame(hops, schema=_HOPS, orient="row"),
    )


def _index(tasks: pl.DataFrame, matched: pl.DataFrame) -> _Tables:
    names = ("rank", "worker", "role", "kind", "ready_ns", "start_ns", "end_ns", "step")
    columns = {name: tasks[name].to_list() for name in (*names, "id", "released_by", "object")}
    identities = zip(columns["rank"], columns["id"], strict=True)
    position = dict(zip(identities, range(tasks.height), strict=True))
    tables = _Tables(columns, position, {}, {}, {}, _previous_on_worker(tasks).tolist(), {})
    roles = tasks["role"].to_numpy()
    for role, found in ((events.ROLE_SEND, tables.send_of), (events.ROLE_RECEIVE, tables.receive_of)):
        where: list[int] = np.flatnonzero(roles == role).tolist()
        found.update((tables.key(row), row) for row in where)
    _add_messages(tables, matched)
    _add_spawned(tables)
    return tables


def _add_messages(tables: _Tables, matched: pl.DataFrame) -> None:
    """Task records have no communicator: of two messages of one number, the one posted nearer."""
    wanted = ("source", "destination", "sequence", "sent_ns", "left_ns", "arrived_ns", "protocol")
    for source, to, sequence, sent, left, arrived, protocol in matched.select(wanted).iter_rows():
        key = (source << 32 | to, sequence)
        row = tables.send_of.get(key)
        known = tables.messages.get(key)
        if known is not None and row is not None:
            start = tables.columns["start_ns"][row]
            if abs(known.sent_ns - start) <= abs(sent - start):
                continue
        tables.messages[key] = _Message(sent, left, arrived, protocol == 1)


def _add_spawned(tables: _Tables) -> None:
    """Rows are in order of their ends: of the tasks that one spawned, the last stays."""
    get = tables.columns
    for row, (rank, released_by) in enumerate(zip(get["rank"], get["released_by"], strict=True)):
        parent = tables.position.get((rank, released_by)) if released_by else None
        if parent is None or get["role"][parent] != events.ROLE_TASK:
            continue  # messages spawn nothing; one is forwarded before it has been received whole
        # What waits for the end of another is not ready before it; what is spawned is.
        if get["ready_ns"][row] < get["end_ns"][parent]:
            tables.last_spawned[parent] = row


def _ended_last(tables: _Tables, row: int, until_ns: int) -> int:
    """`row`, or, of what it spawned and what those spawned, the task that ended last before then."""
    get = tables.columns
    last, spawned = row, tables.last_spawned.get(row)
    while spawned is not None and get["end_ns"][spawned] <= until_ns:
        if get["end_ns"][spawned] > get["end_ns"][last]:
            last = spawned
        spawned = tables.last_spawned.get(spawned)
    return last


def _previous_on_worker(tasks: pl.DataFrame) -> npt.NDArray[np.int64]:
    columns = ("start_ns", "worker", "rank", "role")
    start, worker, rank, role = (tasks[name].to_numpy() for name in columns)
    ran = np.flatnonzero(role == events.ROLE_TASK)
    order = ran[np.lexsort((start[ran], worker[ran], rank[ran]))]
    same = (worker[order[1:]] == worker[order[:-1]]) & (rank[order[1:]] == rank[order[:-1]])
    previous = np.full(tasks.height, -1, dtype=np.int64)
    previous[order[1:]] = np.where(same, order[:-1], -1)
    return previous


def _walk(tables: _Tables, last: int, first_ns: int) -> tuple[list[_Row], list[_Hop]]:
    """From the last task of a step back to its start; latest first, without gaps or overlaps."""
    get = tables.columns
    path: list[_Row] = []
    hops: list[_Hop] = []
    led = LAST
    row: int | None = last
    until = get["end_ns"][last]
    seen: set[int] = set()
    step = get["step"][last]

    def add(at: int, what: int, begin: int) -> None:
        """The stretch from `begin` to where the path has come; nothing when it has no length."""
        nonlocal until
        begin = max(begin, first_ns)
        if begin < until:
            who = (get["rank"][at], get["worker"][at], get["role"][at], get["kind"][at])
            path.append((step, *who, what, begin, until, get["id"][at]))
            until = begin

    at = last
    while row is not None and row not in seen and get["step"][row] == step:
        seen.add(row)
        at = row
        rank = get["rank"][row]
        hops.append((step, rank, get["id"][row], led))
        if get["role"][row] == events.ROLE_TASK:
            add(row, RUN, get["start_ns"][row])
        else:
            add(row, NOTICE, _through_ns(tables, row))
            poster = _late_side(tables, row)
            add(row, TRANSFER, get["start_ns"][poster])
            if poster != row:
                hops.append((step, get["rank"][poster], get["id"][poster], MESSAGE))
            at = row = poster
            rank = get["rank"][row]
        previous = tables.previous[row]
        if previous >= 0 and get["ready_ns"][row] < get["end_ns"][previous] <= until:
            add(row, WORKER_WAIT, get["end_ns"][previous])
            row, led = previous, WORKER
            continue
        add(row, WORKER_WAIT, get["ready_ns"][row])
        released_by = get["released_by"][row]
        before = tables.position.get((rank, released_by)) if released_by else None
        if before is not None and get["step"][before] == step:
            if get["ready_ns"][row] >= get["end_ns"][before]:
                before = _ended_last(tables, before, get["ready_ns"][row])
            add(row, RELEASE, get["end_ns"][before])
        row, led = before, RELEASED
    add(at, START, first_ns)
    return path, hops


def _through_ns(tables: _Tables, row: int) -> int:
    """When the message of a task needed nothing any more; its task's end where that is not known."""
    get = tables.columns
    message = tables.messages.get(tables.key(row))
    if message is None:
        return int(get["end_ns"][row])
    through = message.arrived_ns
    if get["role"][row] == events.ROLE_SEND:
        # Data that arrived was sent, even when the sender noticed only later.
        through = min(message.left_ns, message.arrived_ns)
    return max(through, int(get["start_ns"][row]))


def _late_side(tables: _Tables, row: int) -> int:
    """The row of the send or receive task whose posting the message waited for: `row` or its partner."""
    get = tables.columns
    key = tables.key(row)
    sends = get["role"][row] == events.ROLE_SEND
    partner = (tables.receive_of if sends else tables.send_of).get(key)
    if partner is None or get["step"][partner] != get["step"][row]:
        return row
    own, other = get["start_ns"][row], get["start_ns"][partner]
    message = tables.messages.get(key)
    if sends or (message is not None and message.rendezvous):
        # An eager send waits for no rank; by rendezvous the later of the two decides.
        return partner if other > own and message is not None and message.rendezvous else row
    arrived = message.arrived_ns if message is not None else get["end_ns"][row]
    return row if own >= max(arrived, other) else partner


def path_shares(paths: pl.DataFrame, kinds: tuple[str, ...]) -> pl.DataFrame:
    """Time on the paths by name (task kind, or kind of wait): name, what, count, time_ns, share."""
    names = pl.DataFrame(
        {"kind": pl.Series(range(len(kinds)), dtype=pl.Int32), "task": list(kinds)},
        schema={"kind": pl.Int32, "task": pl.String},
    )
    whole = int((paths["end_ns"] - paths["start_ns"]).sum()) if paths.height else 0
    label = pl.lit(WHAT[TRANSFER])
    for what in (WORKER_WAIT, RELEASE, START, NOTICE):
        label = pl.when(pl.col("what") == what).then(pl.lit(WHAT[what])).otherwise(label)
    return (
        paths.join(names, on="kind", how="left")
        .with_columns(
            pl.when(pl.col("what") == RUN).then(pl.col("task")).otherwise(label).alias("name"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("time_ns"),
        )
        .group_by("name", "what")
        .agg(pl.len().alias("count"), pl.col("time_ns").sum())
        .with_columns((pl.col("time_ns") / max(1, whole)).alias("share"))
        .sort("time_ns", descending=True)
    )
