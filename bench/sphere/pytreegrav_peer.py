# SPDX-License-Identifier: Apache-2.0
"""Seconds that pytreegrav takes for the forces in a homogeneous sphere: arguments PARTICLES THREADS ROUNDS.

Monopoles at theta 0.5, tree included; one line a round, then one with its root mean square error.
"""

import os
import sys
import time

count, threads, rounds = map(int, sys.argv[1:4])
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # MPI has bound the parent process to one core
os.environ["NUMBA_NUM_THREADS"] = str(threads)

import numpy as np  # noqa: E402
import pytreegrav  # noqa: E402

SOFTENING = 1e-4


def main() -> None:
    random = np.random.default_rng(1)
    places = random.uniform(-1, 1, (int(2.2 * count) + 100, 3))
    places = places[(places**2).sum(1) <= 1][:count]
    masses = np.full(count, 1 / count)
    softenings = np.full(count, SOFTENING)
    forces = places
    for turn in range(rounds + 1):
        start = time.perf_counter()
        forces = pytreegrav.Accel(places, masses, softenings, theta=0.5, method="tree", parallel=True)
        if turn > 0:  # the first compiles
            print(f"round {time.perf_counter() - start:.9f}", flush=True)
    some = np.arange(0, count, max(1, count // 256))
    exact = pytreegrav.AccelTarget(
        places[some], places, m_source=masses, softening_source=softenings, method="bruteforce"
    )
    squares = ((forces[some] - exact) ** 2).sum(1) / (exact**2).sum(1)
    print(f"error {np.sqrt(squares.mean()):.9f}", flush=True)


main()
