# SPDX-License-Identifier: Apache-2.0
"""An all-to-all of NumPy arrays beside NumPy's work, by mpi4py and by plait: arguments BYTES ROUNDS.

BYTES go to each rank. Rounds alternate between both. Lines are names and seconds of the slowest rank: the
exchange alone, the work alone (as long as the exchange of mpi4py), and both at once.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import plait

WORLD = MPI.COMM_WORLD
_WARM_UP = 2


def slowest(call: Callable[[], Any]) -> float:
    WORLD.Barrier()
    start = time.perf_counter()
    call()
    return WORLD.allreduce(time.perf_counter() - start, op=MPI.MAX)


def main() -> None:
    block, rounds = map(int, sys.argv[1:3])
    given = np.full((WORLD.size, block // 8), float(WORLD.rank))
    got = np.empty_like(given)
    values = np.linspace(0, 1, 2048)  # in the first cache: the work competes for cores only
    with plait.Runtime() as rt:
        begin: dict[str, Callable[[], Callable[[], Any]]] = {
            "mpi4py": lambda: WORLD.Ialltoall(given, got).Wait,
            "plait": lambda: rt.all_to_all(given, got).wait,
        }

        def work(times: int) -> None:
            for _ in range(times):
                np.sin(values)

        def both(who: str, times: int) -> None:
            wait = begin[who]()
            work(times)
            wait()

        exchange = min(slowest(lambda: both("mpi4py", 0)) for _ in range(5))
        a_hundred = min(slowest(lambda: work(100)) for _ in range(5))
        times = max(1, round(100 * exchange / a_hundred))
        for turn in range(rounds + _WARM_UP):
            found = {"computing": slowest(lambda: work(times))}
            order = sorted(begin) if turn % 2 == 0 else sorted(begin, reverse=True)
            for who in order:
                found[f"alone_{who}"] = slowest(lambda who=who: both(who, 0))
                got[...] = -1
                found[f"both_{who}"] = slowest(lambda who=who: both(who, times))
                if not (got == np.arange(WORLD.size)[:, None]).all():
                    raise SystemExit(f"{who}: the exchange delivered other data")
            if turn >= _WARM_UP and WORLD.rank == 0:
                for name, seconds in found.items():
                    print(f"{name} {seconds:.9f}", flush=True)


main()
