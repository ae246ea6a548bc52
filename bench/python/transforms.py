# SPDX-License-Identifier: Apache-2.0
"""Seconds that plait.fft takes to transform real cubes there and back: arguments LENGTH VARIABLES ROUNDS.

As bench/fft/mpi4py_fft_peer.py: slabs, one line a round, of the slowest rank. Data is checked.
"""

import sys
import time

import numpy as np
from mpi4py import MPI

import plait


def main() -> None:
    length, variables, rounds = map(int, sys.argv[1:4])
    world = MPI.COMM_WORLD
    with plait.Runtime() as rt:
        plan = plait.fft.Plan(rt, [length] * 3, grid=(1, rt.size))
        values, modes = plan.empty(fields=variables), plan.empty("spectral", fields=variables)
        for number, value in enumerate(values):
            value[:] = np.random.default_rng(number + world.rank).random(value.shape)
        first = values[0].copy()
        for turn in range(rounds + 2):
            world.Barrier()
            start = time.perf_counter()
            plan.forward(values, modes)
            plan.backward(modes, values)
            took = world.allreduce(time.perf_counter() - start, op=MPI.MAX)
            if turn >= 2 and world.rank == 0:
                print(f"round {took:.9f}", flush=True)
        if not np.allclose(first, values[0], atol=1e-12):
            raise SystemExit("plait.fft: the round trip changed the data")


main()
