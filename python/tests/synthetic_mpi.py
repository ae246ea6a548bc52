# SPDX-License-Identifier: Apache-2.0
"""Run folders of made-up MPI programs that were recorded from outside: halo exchanges on a ring.

In each step a rank posts two receives and two sends, computes, waits, and takes part in an
MPI_Allreduce. Written with numpy from docs/reference/trace-format.md: a million calls take a second.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import trace_writer as w

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FUNCTIONS = ("MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Finalize")
SITES = {
    "halo+0x1200": {"function": "post_receives(Halo&)", "file": "/src/halo.cpp", "line": 88},
    "halo+0x1310": {"function": "send_faces(Halo&)", "file": "/src/halo.cpp", "line": 120},
    "halo+0x1480": {"function": "Solver::step()", "file": "/src/solver.cpp", "line": 301},
    "halo+0x1600": {"function": "Solver::residual()", "file": "/src/solver.cpp", "line": 340},
    "halo+0x0900": {"function": "main", "file": "/src/main.cpp", "line": 21},
}
_SITE_OF = (4, 0, 1, 2, 3, 4)  # of each function
_WHAT = (9, 1, 1, 2, 4, 9)
_NOTHING = 0xFFFFFFFF


def _dtype(**fields: tuple[int, str]) -> np.dtype[Any]:
    return np.dtype(
        {
            "names": list(fields),
            "offsets": [offset for offset, _ in fields.values()],
            "formats": [kind for _, kind in fields.values()],
            "itemsize": 64,
        }
    )


_CALL = _dtype(
    kind=(0, "u1"),
    what=(1, "u1"),
    thread=(2, "<u2"),
    name=(4, "<u4"),
    site=(8, "<u4"),
    communicator=(12, "<u4"),
    start=(16, "<i8"),
    end=(24, "<i8"),
    given=(32, "<u8"),
    got=(40, "<u8"),
    peer=(48, "<u4"),
    number=(52, "<u4"),
    count=(56, "<u4"),
)
_MESSAGE = _dtype(
    kind=(0, "u1"),
    direction=(1, "u1"),
    protocol=(2, "u1"),
    flags=(3, "u1"),
    peer=(4, "<u4"),
    communicator=(8, "<u4"),
    sequence=(12, "<u4"),
    tag=(16, "<u8"),
    size=(24, "<u8"),
    times=(32, ("<i8", 4)),
)


@dataclass
class HaloProgram:
    """What the ranks do. `uneven`: how much longer than the mean the slowest rank computes."""

    ranks: int = 4
    steps: int = 20
    seed: int = 1
    compute_us: float = 300.0
    uneven: float = 0.3
    halo_bytes: int = 96 << 10

    def write(self, folder: Path, **meta: Any) -> Path:
        """A run folder. Times are the same on every rank's clock."""
        times = self._run()
        for rank in range(self.ranks):
            w.write_rank(folder, rank, self.ranks, {0: self._records(rank, times)})
        w.write_meta(
            folder,
            self.ranks,
            1,
            **{"program": "halo", "command": ["halo", "-n", "4"], "recorder": "mpi", **meta},
        )
        (folder / "sites.json").write_text(json.dumps(SITES))
        return folder

    def _run(self) -> dict[str, Ints]:
        """When each rank did what, in nanoseconds: arrays of (step, rank)."""
        random = np.random.default_rng(self.seed)
        n, shape = self.ranks, (self.steps, self.ranks)
        slow = 1.0 + self.uneven * np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2
        now = np.full(n, 30_000.0)
        found = {
            name: np.zeros(shape) for name in ("post", "send", "wait", "left", "right", "waited", "sum")
        }
        found["summed"] = np.zeros(shape)
        size = self.sizes()
        for step in range(self.steps):
            post = now + random.uniform(300, 900, n)
            send = post + random.uniform(900, 1600, n)
            drift = 1.0 + 0.5 * self.uneven * np.sin(
                2 * np.pi * step / max(1, self.steps)
            ) * np.linspace(-1, 1, n)
            wait = send + 3000 + 1000 * self.compute_us * slow * drift * random.lognormal(0, 0.08, n)
            # Without progress in the background, data moves when both sides are in MPI.
            begin = np.maximum(wait[np.r_[n - 1, : n - 1]], wait), np.maximum(wait[np.r_[1:n, 0]], wait)
            moved = [b + 1500 + size[step] / 9.0 * random.uniform(0.9, 1.3, n) for b in begin]
            waited = np.maximum(moved[0], moved[1]) + 700
            summed_at = waited + random.uniform(20_000, 40_000, n)
            summed = summed_at.max() + 6000 + random.uniform(0, 2500, n)
            values = (post, send, wait, moved[0], moved[1], waited, summed_at, summed)
            for name, value in zip(found, values, strict=True):
                found[name][step] = value
            now = summed
        return {name: value.astype(np.int64) for name, value in found.items()}

    def sizes(self) -> Ints:
        """Bytes of a face in each step: every tenth exchange is of larger ones."""
        step = np.arange(self.steps)
        return np.where(step % 10 == 9, 16 * self.halo_bytes, self.halo_bytes + 64 * (step % 7)).astype(
            np.int64
        )

    def _records(self, rank: int, times: dict[str, Ints]) -> bytes:
        names = b"".join(w.name(3, i, name) for i, name in enumerate(FUNCTIONS))
        names += b"".join(w.name(4, i, place) for i, place in enumerate(SITES))
        own = {name: value[:, rank] for name, value in times.items()}
        last = int(own["summed"][-1]) if self.steps else 40_000
        begin = self._call(0, np.array([1_000]), np.array([29_000]))
        end = self._call(5, np.array([last + 5_000]), np.array([last + 60_000]))
        calls = [begin, *self._calls(rank, own), end]
        order = np.argsort(np.concatenate([part["end"] for part in calls]), kind="stable")
        # As bytes: numpy puts structured records together without the gaps between their fields.
        rows = np.frombuffer(b"".join(part.tobytes() for part in calls), dtype=np.uint8).reshape(-1, 64)
        return names + rows[order].tobytes() + self._messages(rank, times)

    def _numbers(self, place: int) -> Ints:
        return 8 * np.arange(self.steps) + place + 2

    def _call(self, function: int, start: Ints, end: Ints, **fields: Any) -> npt.NDArray[Any]:
        table = np.zeros(start.size, dtype=_CALL)
        table["kind"], table["what"], table["name"] = 11, _WHAT[function], function
        table["site"], table["communicator"], table["peer"] = _SITE_OF[function], _NOTHING, _NOTHING
        table["start"], table["end"] = start, end
        for name, value in fields.items():
            table[name] = value
        return table

    def _calls(self, rank: int, own: dict[str, Ints]) -> list[npt.NDArray[Any]]:
        left, right = (rank - 1) % self.ranks, (rank + 1) % self.ranks
        size = self.sizes()
        parts = []
        for place, (function, at, peer) in enumerate(
            ((1, "post", left), (1, "post", right), (2, "send", left), (2, "send", right))
        ):
            start = own[at] + 350 * (place % 2)
            got = {"got" if function == 1 else "given": size}
            parts.append(
                self._call(
                    function,
                    start,
                    start + 300,
                    peer=peer,
                    communicator=0,
                    number=self._numbers(place),
                    **got,
                )
            )
        parts.append(self._call(3, own["wait"], own["waited"], number=self._numbers(4), count=4))
        parts.append(
            self._call(
                *(4, own["sum"], own["summed"]),
                **{"communicator": 0, "given": 8, "got": 8, "number": self._numbers(5)},
                count=np.arange(self.steps),
            )
        )
        return parts

    def _messages(self, rank: int, times: dict[str, Ints]) -> bytes:
        left, right = (rank - 1) % self.ranks, (rank + 1) % self.ranks
        size, parts = self.sizes(), []
        own = {name: value[:, rank] for name, value in times.items()}
        for place, (direction, at, peer, moved) in enumerate(
            (
                (1, "post", left, own["left"]),
                (1, "post", right, own["right"]),
                (0, "send", left, times["right"][:, left]),
                (0, "send", right, times["left"][:, right]),
            )
        ):
            table = np.zeros(self.steps, dtype=_MESSAGE)
            table["kind"], table["direction"], table["protocol"], table["flags"] = 4, direction, 3, 1
            # What goes to the right has tag 1, what goes to the left tag 2.
            table["tag"] = (1 if place in (0, 3) else 2) if self.ranks > 1 else 0
            table["peer"], table["sequence"], table["size"] = peer, self._numbers(place), size
            posted = own[at] + 350 * (place % 2)
            done = np.maximum(own["waited"], moved) if direction else own["waited"]
            table["times"] = np.stack(
                [posted, np.zeros_like(posted), np.zeros_like(posted), done], axis=1
            )
            parts.append(table.tobytes())
        return b"".join(parts)
