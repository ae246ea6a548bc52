# SPDX-License-Identifier: Apache-2.0
# ranks: 2
"""Rows of a matrix become columns of its transpose on two ranks, while NumPy computes."""

import numpy as np

import plait

with plait.Runtime() as rt:
    rows = np.arange(1000.0 * 1000).reshape(1000, 1000)[rt.rank * 500 : (rt.rank + 1) * 500]
    blocks = [np.ascontiguousarray(rows[:, to * 500 : (to + 1) * 500].T) for to in range(2)]
    received = [np.empty((500, 500)) for _ in range(2)]

    exchange = rt.all_to_all(blocks, received)
    norm = np.linalg.norm(rows)  # the data move meanwhile
    columns = np.hstack(exchange.result())

    norms = rt.all_gather(np.array([norm])).result()
    if rt.rank == 0:
        print("first of each column:", columns[:3, 0])
        print(f"norm of the matrix: {np.linalg.norm(norms):.6g}")
