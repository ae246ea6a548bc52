# SPDX-License-Identifier: Apache-2.0
# ranks: 2
"""Heat spreads on a ring of cells: each rank sends its edges, and computes its inside meanwhile."""

import numpy as np

import plait

with plait.Runtime() as rt:
    left, right = (rt.rank - 1) % rt.size, (rt.rank + 1) % rt.size
    heat = np.zeros((8, 102))  # columns 0 and 101 are copies of the neighbours' edges
    heat[:, 1] = 100.0 * (rt.rank == 0)

    for _ in range(50):
        with plait.region("halo"):
            halo = [
                rt.receive(heat[:, 0], left, tag=1),  # columns, whose elements are not contiguous
                rt.receive(heat[:, 101], right, tag=2),
                rt.send(heat[:, 100], right, tag=1),
                rt.send(heat[:, 1], left, tag=2),
            ]
        new = np.zeros_like(heat)
        new[:, 1:101] = heat[:, 1:101]  # all but the columns that data arrive in
        new[:, 2:100] += 0.2 * (heat[:, 1:99] - 2 * heat[:, 2:100] + heat[:, 3:101])
        plait.wait_all(halo)
        for edge in (1, 100):
            new[:, edge] += 0.2 * (heat[:, edge - 1] - 2 * heat[:, edge] + heat[:, edge + 1])
        heat = new

    total = rt.all_gather(heat[0, 1:101].sum()).result().sum()
    if rt.rank == 0:
        print(f"heat in a row: {total:.6f}, hottest on rank 0: {heat[:, 1:101].max():.3f}")
