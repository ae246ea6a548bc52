# SPDX-License-Identifier: Apache-2.0
"""A planetary-ring step on a few ranks, scheduled by a small event simulation, as a run folder."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import trace_writer as w

KINDS = (
    *("kick_drift", "sample", "decompose", "exchange", "tree", "boundary", "make_let"),
    *("walk_local", "walk_remote", "kernel", "kick", "send", "receive"),
)
NUMBER = {kind: index + 1 for index, kind in enumerate(KINDS)}
US = 1000


@dataclass
class Task:
    kind: str
    rank: int
    length: int
    after: list[Task] = field(default_factory=list)
    peer: int = -1
    size: int = 0
    partner: Task | None = None  # the send of a receive
    id: int = 0
    place: int = 0
    sequence: int = 0
    missing: int = 0
    next: list[Task] = field(default_factory=list)
    released_by: int = 0
    ready: int = 0
    posted: int = -1
    arrives: int = -1
    done: bool = False


def _step_tasks(ranks: int, random_: random.Random) -> list[Task]:
    """One step of the ring, with sends and receives between all pairs of ranks."""
    tasks: list[Task] = []

    def add(kind: str, rank: int, mean_us: float, *after: Task) -> Task:
        length = int(max(0.3, random_.gauss(1.0, 0.2)) * mean_us * US)
        tasks.append(Task(kind, rank, length, list(after)))
        return tasks[-1]

    def swap(before: list[Task], size: int) -> list[list[Task]]:
        """Every rank sends to every other after its `before`; the receives of each rank."""
        receives: list[list[Task]] = [[] for _ in range(ranks)]
        for source in range(ranks):
            for to in range(ranks):
                if source == to:
                    continue
                send = add("send", source, 0, before[source])
                send.peer, send.size = to, int(size * random_.uniform(0.6, 1.5))
                receive = add("receive", to, 0)
                receive.peer, receive.size, receive.partner = source, send.size, send
                receives[to].append(receive)
        return receives

    each = range(ranks)
    load = [1.0 + 0.25 * (r % 2) for r in each]
    drift = [add("kick_drift", r, 180 * load[r]) for r in each]
    sample = [add("sample", r, 25, drift[r]) for r in each]
    samples = swap(sample, 4 << 10)
    decompose = [add("decompose", r, 40, sample[r], *samples[r]) for r in each]
    exchange = [add("exchange", r, 60, decompose[r]) for r in each]
    migrants = swap(exchange, 24 << 10)
    trees = [[add("tree", r, 90, exchange[r], *migrants[r]) for _ in range(4)] for r in each]
    boundary = [add("boundary", r, 20, *trees[r]) for r in each]
    boxes = swap(boundary, 2 << 10)
    let = [add("make_let", r, 110, *boxes[r], *trees[r]) for r in each]
    lets = swap(let, 700 << 10)
    for r in each:
        kernels = []
        for _ in range(8):
            walk = add("walk_local", r, 55 * load[r], *trees[r])
            kernels.append(add("kernel", r, 260 * load[r], walk))
        for _ in range(3):
            walk = add("walk_remote", r, 50, *lets[r], *trees[r])
            kernels.append(add("kernel", r, 190 * load[r], walk))
        add("kick", r, 90, *kernels)
    return tasks


class Ring:
    """Simulates steps and keeps each rank's records by thread."""

    def __init__(self, ranks: int = 2, workers: int = 1, seed: int = 1) -> None:
        self.ranks, self.workers = ranks, workers
        self.records: list[dict[int, list[bytes]]] = [defaultdict(list) for _ in range(ranks)]
        self.now = 200 * US
        self.step = 0
        self._random = random.Random(seed)
        self._ids = [0] * ranks
        self._sequence: dict[tuple[int, int], int] = defaultdict(int)
        for rank in range(ranks):
            names = [w.name(0, NUMBER[kind], kind) for kind in KINDS]
            names += [w.name(1, 1, "step"), w.name(2, 1, "energy drift")]
            self.records[rank][0] += names
            offset = -rank * 1500
            self.records[rank][w.OTHER_THREAD].append(w.clock(50 * US, offset, 2200))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._simulate(_step_tasks(self.ranks, self._random))

    def _simulate(self, tasks: list[Task]) -> None:
        begun = self.now
        ready: list[list[Task]] = [[] for _ in range(self.ranks)]
        events: list[tuple[int, int, str, Task, int]] = []
        free = [list(range(self.workers)) for _ in range(self.ranks)]
        counter = 0

        def push(time: int, what: str, task: Task, worker: int = 0) -> None:
            nonlocal counter
            counter += 1
            heapq.heappush(events, (time, counter, what, task, worker))

        for task in tasks:
            self._ids[task.rank] += 1
            task.id = self._ids[task.rank]
            task.missing = len(task.after)
            for before in task.after:
                before.next.append(task)
            if task.kind == "send":
                pair = (task.rank, task.peer)
                self._sequence[pair] += 1
                task.sequence = self._sequence[pair]
        self._tell_graph(tasks, begun)
        for task in tasks:
            if task.partner:
                task.sequence = task.partner.sequence
            if task.missing == 0:
                push(begun + self._random.randint(1, 9) * US, "ready", task)
        while events:
            time, _, what, task, worker = heapq.heappop(events)
            self.now = max(self.now, time)
            if what == "ready":
                task.ready = time
                self._begin(task, time, push, ready)
            elif what == "end":
                free[task.rank].append(worker)
                self._finish(task, worker, time, time - task.length, push)
            elif what == "sent":
                self._finish(task, 0, time, task.posted, push)
            elif what == "received":
                # Noticed when a worker next polls: late if all are computing.
                self._finish(task, 0, time, task.posted, push)
            for rank in range(self.ranks):
                while ready[rank] and free[rank]:
                    next_task = ready[rank].pop(0)
                    push(self.now + US + next_task.length, "end", next_task, free[rank].pop(0))
        self._close_step(begun)

    def _tell_graph(self, tasks: list[Task], begun: int) -> None:
        """Each step is a graph of its own."""
        count = [0] * self.ranks
        for task in tasks:
            count[task.rank] += 1
            task.place = count[task.rank]
        graph = self.step + 1
        for task in tasks:
            later = [after.place for after in task.next]
            part = {"send": 1, "receive": 2}.get(task.kind, 0)
            number = NUMBER[task.kind]
            for at in range(0, max(1, len(later)), 12):
                record = w.graph_task(graph, task.place, number, part=part, later=later[at : at + 12])
                self.records[task.rank][0].append(record)
        for rank in range(self.ranks):
            run = w.graph_run(graph, self.step, begun + rank * 1500, active=count[rank])
            self.records[rank][0].append(run)

    def _begin(self, task: Task, time: int, push, ready: list[list[Task]]) -> None:  # type: ignore[no-untyped-def]
        if task.kind == "send":
            task.posted = time
            task.arrives = time + 3 * US + task.size // 4  # 4 bytes a nanosecond
            push(task.arrives - US, "sent", task)
        elif task.kind == "receive":
            task.posted = time
            assert task.partner is not None
            task.partner.next.append(task)
            task.missing = 1
            if task.partner.done:
                push(time + US, "received", task)
        else:
            ready[task.rank].append(task)

    def _finish(self, task: Task, worker: int, end: int, start: int, push) -> None:  # type: ignore[no-untyped-def]
        task.done = True
        skew = task.rank * 1500  # rank r's clock is ahead by this much; as in its clock record
        flags = {"send": 1, "receive": 2}.get(task.kind, 0)
        object_ = task.peer << 32 | task.sequence if flags else 4096 + task.id % 97
        records = self.records[task.rank]
        records[worker].append(
            w.task(
                NUMBER[task.kind],
                start + skew,
                end + skew,
                flags=flags,
                worker=worker,
                object_=object_,
                ready=task.ready + skew,
                id_=task.id,
                released_by=task.released_by,
                step=self.step,
                place=task.place,
            )
        )
        if flags:
            handed = start + 800 if flags == 1 else max(start, end - 2 * US)
            times = (start + skew, handed + skew, end - 500 + skew, end + skew)
            protocol = 1 if task.size > 64 << 10 else 0
            records[worker].append(
                w.message(flags - 1, task.peer, task.sequence, task.size, times, protocol=protocol)
            )
        for after in task.next:
            if task.kind == "send" and after.partner is task:
                late = self._random.choice((2, 3, 5, 9, 14, 60, 150)) * US
                push(max(end, after.posted) + late, "received", after)
                if late > 40 * US:
                    self.records[after.rank][0].append(
                        w.gap(end + after.rank * 1500, end + late + after.rank * 1500)
                    )
                continue
            after.missing -= 1
            if after.missing == 0:
                after.released_by = task.id
                push(end + 400, "ready", after)

    def _close_step(self, begun: int) -> None:
        for rank in range(self.ranks):
            skew = rank * 1500
            self.records[rank][0].append(w.span(1, begun + skew, self.now + skew, step=self.step))
        drift = 1e-7 * (self.step**0.5) * (1 + 0.1 * self._random.random())
        self.records[0][0].append(w.counter(1, self.now, drift, step=self.step))
        self.step += 1
        self.now += 20 * US

    def write(self, folder: Path, *, repeat: int = 1) -> Path:
        """With `repeat`, the whole run again and again, later."""
        for rank in range(self.ranks):
            threads = {}
            for thread, parts in self.records[rank].items():
                once = b"".join(parts)
                whole = [once]
                for again in range(1, repeat):
                    ids, sequence = again * self._ids[rank], again * 10 * self.step
                    whole.append(w.shift(once, again * self.now, again * self.step, ids, sequence))
                threads[thread] = b"".join(whole)
            offset = -rank * 1500
            ending = w.clock(repeat * self.now, offset + 40, 2400)
            threads[w.OTHER_THREAD] = threads.get(w.OTHER_THREAD, b"") + ending
            w.write_rank(folder, rank, self.ranks, threads)
        w.write_meta(folder, self.ranks, self.workers)
        return folder
