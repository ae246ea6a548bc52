# SPDX-License-Identifier: Apache-2.0
"""Gravity in a homogeneous sphere, by plait and by pytreegrav: arguments PARTICLES THREADS ROUNDS.

At theta 0.5, tree included, on one rank; rounds alternate. Lines are names and seconds, then the root mean
square errors of accelerations, by direct sums. Without pytreegrav, plait alone.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

COUNT, THREADS, ROUNDS = map(int, sys.argv[1:4])
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # MPI may have bound this process to one core
os.environ["NUMBA_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402
from bodies import SOFTENING, THETA, rms_error, sphere  # noqa: E402

import plait  # noqa: E402

try:
    import pytreegrav
except ImportError:
    pytreegrav = None

_WARM_UP = 1  # pytreegrav compiles


def main() -> None:
    places, masses = sphere(COUNT)
    softenings = np.full(COUNT, SOFTENING)

    with plait.Runtime(workers=THREADS) as rt:

        def ours(order: Any, precision: Any) -> Any:
            sums = plait.particles.gravity(rt, places, masses, SOFTENING, THETA, order=order, precision=precision)
            return sums.accelerations

        subjects: dict[str, Callable[[], Any]] = {
            "plait_monopole": lambda: ours("monopole", "mixed"),
            "plait_quadrupole": lambda: ours("quadrupole", "full"),
        }
        if pytreegrav is not None:
            subjects["pytreegrav"] = lambda: pytreegrav.Accel(
                places, masses, softenings, theta=THETA, method="tree", parallel=True
            )
        found: dict[str, Any] = {}
        for turn in range(ROUNDS + _WARM_UP):
            for name in list(subjects) if turn % 2 == 0 else list(subjects)[::-1]:
                start = time.perf_counter()
                found[name] = subjects[name]()
                if turn >= _WARM_UP:
                    print(f"{name} {time.perf_counter() - start:.9f}", flush=True)

    for name, forces in found.items():
        print(f"error_{name} {rms_error(forces, places, masses):.9f}", flush=True)


main()
