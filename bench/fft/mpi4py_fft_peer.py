# SPDX-License-Identifier: Apache-2.0
"""Seconds that mpi4py-fft takes to transform a real cube there and back: arguments LENGTH VARIABLES ROUNDS.

Slabs, as the others; one line a round, of the slowest rank. Data is checked.
"""

import sys
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray


def main() -> None:
    length, variables, rounds = map(int, sys.argv[1:4])
    world = MPI.COMM_WORLD
    plan = PFFT(world, [length] * 3, axes=(0, 1, 2), dtype=float, grid=(-1, 1, 1))
    values = [newDistArray(plan, False) for _ in range(variables)]
    modes = [newDistArray(plan, True) for _ in range(variables)]
    for number, value in enumerate(values):
        value[:] = np.random.default_rng(number + world.rank).random(value.shape)
    first = values[0].copy()
    for turn in range(rounds + 2):
        world.Barrier()
        start = time.perf_counter()
        for value, mode in zip(values, modes, strict=True):
            plan.forward(value, mode)
        for value, mode in zip(values, modes, strict=True):
            plan.backward(mode, value)
        took = world.allreduce(time.perf_counter() - start, op=MPI.MAX)
        if turn >= 2 and world.rank == 0:
            print(f"round {took:.9f}", flush=True)
    if not np.allclose(first, values[0], atol=1e-12):
        raise SystemExit("mpi4py-fft: the round trip changed the data")


main()
