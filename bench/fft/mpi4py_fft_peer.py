# SPDX-License-Identifier: Apache-2.0
"""Seconds that mpi4py-fft takes to transform a real cube there and back: arguments LENGTH VARIABLES ROUNDS.

Slabs, as the others; one line a round, of the slowest rank. Data is checked.
"""

import sys

from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray
from round_trips import time_round_trips


def main() -> None:
    length, variables, rounds = map(int, sys.argv[1:4])
    plan = PFFT(MPI.COMM_WORLD, [length] * 3, axes=(0, 1, 2), dtype=float, grid=(-1, 1, 1))
    values = [newDistArray(plan, False) for _ in range(variables)]
    modes = [newDistArray(plan, True) for _ in range(variables)]

    def there_and_back() -> None:
        for value, mode in zip(values, modes, strict=True):
            plan.forward(value, mode)
        for value, mode in zip(values, modes, strict=True):
            plan.backward(mode, value)

    time_round_trips("mpi4py-fft", values, there_and_back, rounds)


main()
