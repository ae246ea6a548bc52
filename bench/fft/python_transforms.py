# SPDX-License-Identifier: Apache-2.0
"""Seconds that plait.fft takes to transform real cubes there and back: arguments LENGTH VARIABLES ROUNDS.

As mpi4py_fft_peer.py: slabs, one line a round, of the slowest rank. Data is checked.
"""

import sys

from round_trips import time_round_trips

import plait


def main() -> None:
    length, variables, rounds = map(int, sys.argv[1:4])
    with plait.Runtime() as rt:
        plan = plait.fft.Plan(rt, [length] * 3, grid=(1, rt.size))
        values, modes = plan.empty(fields=variables), plan.empty("spectral", fields=variables)

        def there_and_back() -> None:
            plan.forward(values, modes)
            plan.backward(modes, values)

        time_round_trips("plait.fft", values, there_and_back, rounds)


main()
