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
from bodies import SOFTENING, THETA, rms_error, sphere  # noqa: E402


def main() -> None:
    places, masses = sphere(count)
    softenings = np.full(count, SOFTENING)
    forces = places
    for turn in range(rounds + 1):
        start = time.perf_counter()
        forces = pytreegrav.Accel(places, masses, softenings, theta=THETA, method="tree", parallel=True)
        if turn > 0:  # the first compiles
            print(f"round {time.perf_counter() - start:.9f}", flush=True)
    print(f"error {rms_error(forces, places, masses):.9f}", flush=True)


main()
