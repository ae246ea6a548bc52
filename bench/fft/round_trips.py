# SPDX-License-Identifier: Apache-2.0
"""Times transforms there and back, for programs in Python."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

_WARM_UP = 2


def time_round_trips(name: str, values: Sequence[Any], there_and_back: Callable[[], object], rounds: int) -> None:
    """Fills `values`, real arrays, and prints one line a round, of the slowest rank. Checks the data."""
    world = MPI.COMM_WORLD
    for number, value in enumerate(values):
        value[:] = np.random.default_rng(number + world.rank).random(value.shape)
    first = values[0].copy()
    for turn in range(rounds + _WARM_UP):
        world.Barrier()
        start = time.perf_counter()
        there_and_back()
        took = world.allreduce(time.perf_counter() - start, op=MPI.MAX)
        if turn >= _WARM_UP and world.rank == 0:
            print(f"round {took:.9f}", flush=True)
    if not np.allclose(first, values[0], atol=1e-12):
        raise SystemExit(f"{name}: the round trip changed the data")
