# SPDX-License-Identifier: Apache-2.0
"""An MPI program that was recorded from outside, made up: a halo exchange in a ring of ranks."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

from plait import _events as events
from plait._events import Run, Site

FUNCTIONS = (
    *("MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Iallreduce"),
    *("MPI_Wait", "MPI_Send", "MPI_Recv", "MPI_Finalize"),
)
SITES = ("start", "post_receives", "post_sends", "finish", "reduce", "tell")
US = 1000


class Halo:
    """Each step: receives and sends posted to both neighbours, work, a wait for all, a reduction that
    all wait for, one that is begun and waited for after more work, and a blocking message to the next
    rank.
    """

    def __init__(self, ranks: int = 4, steps: int = 5, work: float = 1.0, bytes_: int = 65536) -> None:
        self.ranks, self.steps, self.bytes = ranks, steps, bytes_
        self.calls: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self._now = [10 * US * rank for rank in range(ranks)]
        self._numbers = [0] * ranks
        self._random = random.Random(ranks)
        for rank in range(ranks):
            self._call(rank, "MPI_Init", events.CALL_BEGINS_OR_ENDS, 500 * US, communicator=-1)
        for step in range(steps):
            self._exchange(work)
            self._reduce(step)
            self._tell()
        for rank in range(ranks):
            self._call(rank, "MPI_Finalize", events.CALL_BEGINS_OR_ENDS, 100 * US, communicator=-1)

    def _call(self, rank: int, function: str, what: int, length: int, **more: Any) -> dict[str, Any]:
        self._numbers[rank] += 1
        call = {
            **{"rank": rank, "worker": 0, "function": FUNCTIONS.index(function), "site": 0},
            **{"communicator": 0, "class": what, "start_ns": self._now[rank] + 1},
            **{"end_ns": self._now[rank] + length, "bytes_given": 0, "bytes_got": 0, "peer": -1},
            **{"number": self._numbers[rank], "count": 0, "repeats": 0, **more},
        }
        self.calls.append(call)
        self._now[rank] += length
        return call

    def _message(self, call: dict[str, Any], received: bool, tag: int, completed: int) -> None:
        rank, peer, posted = call["rank"], call["peer"], call["start_ns"]
        self.messages.append(
            {
                **{"rank": rank, "received": received, "protocol": events.PROTOCOL_NOT_KNOWN},
                **{"source": peer if received else rank, "destination": rank if received else peer},
                **{"communicator": 0, "sequence": 0, "tag": tag},
                **{"size_bytes": call["bytes_got"] + call["bytes_given"]},
                **{"posted_ns": posted, "handed_ns": posted, "arrived_ns": completed},
                **{"completed_ns": completed, "unfinished": False, "worker": 0},
                "non_contiguous": False,
                **{"number": call["number"], "function": call["function"], "site": call["site"]},
            }
        )

    def _exchange(self, work: float) -> None:
        posted = []
        for rank in range(self.ranks):
            for way in (1, -1):
                peer = (rank + way) % self.ranks
                more = {"peer": peer, "bytes_got": self.bytes, "site": 1}
                call = self._call(rank, "MPI_Irecv", events.CALL_BEGINS, 2 * US, **more)
                posted.append((call, True, -way % 3))
            for way in (1, -1):
                peer = (rank + way) % self.ranks
                more = {"peer": peer, "bytes_given": self.bytes, "site": 2}
                call = self._call(rank, "MPI_Isend", events.CALL_BEGINS, 5 * US, **more)
                posted.append((call, False, way % 3))
            self._now[rank] += int(work * self._random.uniform(200, 400) * US)
        begun = list(self._now)
        for rank in range(self.ranks):
            near = [begun[(rank + way) % self.ranks] for way in (-1, 0, 1)]
            length = max(near) + 60 * US - begun[rank]
            what = events.CALL_COMPLETES
            self._call(rank, "MPI_Waitall", what, length, site=3, count=4, communicator=-1)
        for call, received, tag in posted:
            self._message(call, received, tag, self._now[call["rank"]])

    def _reduce(self, step: int) -> None:
        last = max(self._now) + 30 * US
        for rank in range(self.ranks):
            more = {"bytes_given": 8, "bytes_got": 8, "site": 4, "count": 2 * step}
            length = last - self._now[rank]
            self._call(rank, "MPI_Allreduce", events.CALL_COLLECTIVE, length, **more)
        for rank in range(self.ranks):
            more = {"bytes_given": 64, "bytes_got": 64, "site": 4}
            begun = self._call(rank, "MPI_Iallreduce", events.CALL_BEGINS_COLLECTIVE, 3 * US, **more)
            self._now[rank] += 100 * US
            what = events.CALL_COMPLETES
            self._call(rank, "MPI_Wait", what, 40 * US, site=4, count=1, communicator=-1)
            whole = {"class": events.CALL_BEGUN_COLLECTIVE, "end_ns": self._now[rank]}
            self.calls.append({**begun, **whole, "count": 2 * step + 1})

    def _tell(self) -> None:
        for rank in range(0, self.ranks - 1, 2):
            more = {"site": 5, "bytes_given": 1024, "peer": rank + 1}
            sent = self._call(rank, "MPI_Send", events.CALL_MESSAGE, 20 * US, **more)
            self._message(sent, False, 9, self._now[rank])
            more = {"site": 5, "bytes_got": 1024, "peer": rank}
            got = self._call(rank + 1, "MPI_Recv", events.CALL_MESSAGE, 35 * US, **more)
            self._message(got, True, 9, self._now[rank + 1])

    def run(self) -> Run:
        sites = [Site(f"halo+0x{64 * (1 + place):x}", name) for place, name in enumerate(SITES)]
        return Run(
            meta={
                **{"program": "halo", "command": ["./halo", "-n", "5"], "workers": 1, "options": {}},
                **{"hosts": ["node"] * self.ranks, "recorder": "mpi", "mpi": "Open MPI 4.1.4"},
                **{"started": "2026-11-22T09:59:00Z", "ended": "2026-11-22T10:00:00Z", "revision": ""},
            },
            ranks=self.ranks,
            ranks_present=tuple(range(self.ranks)),
            calls=pl.DataFrame(self.calls, schema=dict(events.CALLS)),
            messages=pl.DataFrame(self.messages, schema=dict(events.MESSAGES)),
            functions=FUNCTIONS,
            sites=tuple(sites),
        )
