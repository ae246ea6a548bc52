# SPDX-License-Identifier: Apache-2.0
"""Runs of MPI programs made up by hand: each rank's calls with their times, one after another."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import trace_writer as w

from plait import read_run
from plait._events import Run

FUNCTIONS = (
    *("MPI_Init", "MPI_Finalize", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall", "MPI_Send"),
    *(
        "MPI_Recv",
        "MPI_Barrier",
        "MPI_Allreduce",
        "MPI_Bcast",
        "MPI_Reduce",
        "MPI_Scan",
        "MPI_Alltoallv",
    ),
    *("MPI_Ibarrier", "MPI_Gather", "MPI_Scatter"),
    *("MPI_Test", "MPI_Probe", "MPI_Comm_spawn"),
    *("MPI_Iallreduce", "MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall"),
)
NUMBER = {name: number for number, name in enumerate(FUNCTIONS)}


@dataclass
class Message:
    to: int
    tag: int
    size: int
    number: int
    posted: int


@dataclass
class Rank:
    """What one rank did. Times are nanoseconds; `site` is a number of a place."""

    rank: int
    records: list[bytes] = field(default_factory=list)
    number: int = 0

    def _call(self, what: int, name: str, start: int, end: int, **more: int) -> int:
        self.number += 1
        self.records.append(w.call(what, NUMBER[name], start, end, **{"number": self.number, **more}))
        return self.number

    def initialise(self, end: int) -> None:
        self._call(9, "MPI_Init", 0, end)

    def finalise(self, start: int, end: int) -> None:
        self._call(9, "MPI_Finalize", start, end)

    def isend(
        self, start: int, to: int, size: int, *, tag: int = 0, site: int = 1, cost: int = 10
    ) -> Message:
        number = self._call(1, "MPI_Isend", start, start + cost, peer=to, given=size, site=site)
        return Message(to, tag, size, number, start)

    def irecv(
        self, start: int, source: int, size: int, *, tag: int = 0, site: int = 2, cost: int = 10
    ) -> Message:
        number = self._call(1, "MPI_Irecv", start, start + cost, peer=source, got=size, site=site)
        return Message(source, tag, size, number, start)

    def wait(
        self, start: int, end: int, sent: list[Message], received: list[Message], *, site: int = 3
    ) -> None:
        name = "MPI_Wait" if len(sent) + len(received) == 1 else "MPI_Waitall"
        self._call(
            2, name, start, end, count=len(sent) + len(received), site=site, communicator=w.NOTHING
        )
        for direction, messages in ((0, sent), (1, received)):
            for message in messages:
                self.complete(direction, message, end)

    def test(self, start: int, end: int, *, site: int = 7) -> None:
        """One that finds nothing."""
        self._call(2, "MPI_Test", start, end, site=site, communicator=w.NOTHING)

    def probe(self, start: int, end: int, source: int, *, site: int = 7) -> None:
        """One that finds a message."""
        self._call(2, "MPI_Probe", start, end, peer=source, count=1, site=site)

    def spawn(self, start: int, end: int) -> None:
        self._call(7, "MPI_Comm_spawn", start, end, site=8)

    def complete(self, direction: int, message: Message, end: int, *, flags: int = 1) -> None:
        times = (message.posted, 0, 0, 0 if flags & 2 else end)
        self.records.append(
            w.message(
                *(direction, message.to, message.number, message.size, times),
                **{"protocol": 3, "tag": message.tag, "flags": flags},
            )
        )

    def send(
        self, start: int, end: int, to: int, size: int, *, tag: int = 0, gaps: bool = False
    ) -> None:
        number = self._call(3, "MPI_Send", start, end, peer=to, given=size, site=4)
        self.complete(0, Message(to, tag, size, number, start), end, flags=5 if gaps else 1)

    def receive(self, start: int, end: int, source: int, size: int, *, tag: int = 0) -> None:
        number = self._call(3, "MPI_Recv", start, end, peer=source, got=size, site=5)
        self.complete(1, Message(source, tag, size, number, start), end)

    def collective(self, name: str, start: int, end: int, *, count: int = 0, **more: int) -> int:
        return self._call(4, name, start, end, **{"count": count, "site": 6, **more})

    def begun_collective(
        self, name: str, start: int, waits: int, end: int, *, tests: int = 0, **more: int
    ) -> int:
        """Begins at `start` in 10 ns, waits for it from `waits` to `end`: in tests if there are some."""
        size = {key: more.get(key, 0) for key in ("given", "got")}
        what = {"count": more.get("count", 0), "site": 6, "communicator": more.get("communicator", 0)}
        number = self._call(5, name, start, start + 10, **what, **size)
        for nth in range(tests):
            step = (end - waits) // (tests + 1)
            self.test(waits + nth * step, waits + (nth + 1) * step, site=3)
        last = waits + (end - waits) // (tests + 1) * tests
        completes = "MPI_Test" if tests else "MPI_Wait"
        self._call(2, completes, last, end, count=1, site=3, communicator=w.NOTHING)
        self.records.append(w.call(10, NUMBER[name], start, end, **{**what, **size, "number": number}))
        return number

    def layout(self, number: int) -> None:
        """The data of a collective has gaps."""
        self.records.append(w.collective_layout(number))

    def shares(self, number: int, given: list[int]) -> None:
        self.records.append(w.shares(number, given))

    def members(self, communicator: int, members: list[int]) -> None:
        self.records.append(w.communicator(communicator, members))

    def raw(self, record: bytes) -> None:
        self.records.append(record)


def names() -> bytes:
    functions = b"".join(w.name(3, number, name) for name, number in NUMBER.items())
    return functions + b"".join(w.name(4, number, f"program+0x{number:x}0") for number in range(1, 9))


def write_run(folder: Path, *ranks: Rank, **meta: object) -> Path:
    w.write_meta(folder, len(ranks), **{"recorder": "mpi", "program": "halo", **meta})
    for rank in ranks:
        records = names() + w.clock(0, 0, 0) + b"".join(rank.records)
        w.write_rank(folder, rank.rank, len(ranks), {0: records})
    return folder


def make_run(*ranks: Rank) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        return read_run(write_run(Path(folder), *ranks))


def halo(
    steps: int = 20, *, size: int = 1 << 20, moving: int = 100_000, progress: bool = False
) -> list[Rank]:
    """Two ranks that exchange messages, compute for 400 us and wait.

    Without `progress`, data moves only while both wait, taking `moving` ns; with it, it moves at once.
    At the beginning 10 messages are waited for at once, which shows what the network can do.
    """
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
    now = 1000
    for step in range(steps + 10):
        computing = 0 if step < 10 else 400_000
        quick = computing == 0
        begun = []
        for rank in ranks:
            peer = 1 - rank.rank
            begun.append(
                (rank.irecv(now, peer, size, tag=step), rank.isend(now + 20, peer, size, tag=step))
            )
        start = now + 40 + computing
        end = start + 500 if progress and not quick else max(start, now + 40) + moving
        for rank, (receive, send) in zip(ranks, begun, strict=True):
            rank.wait(start, end, [send], [receive])
        now = end + 100
    for rank in ranks:
        rank.finalise(now, now + 1000)
    return ranks
