# SPDX-License-Identifier: Apache-2.0
"""Collective operations have the results of MPI's; several are under way at once."""

import numpy as np
from mpi4py import MPI

import plait

comm = MPI.COMM_WORLD
with plait.Runtime() as rt:
    n, r = rt.size, rt.rank
    futures, expected = [], []
    for count in (0, 1, 5000):
        mine = np.arange(n * count, dtype="f4").reshape(n, count) + 1000 * r
        futures.append(rt.all_to_all(mine))
        expected.append(np.empty_like(mine))
        comm.Alltoall(mine, expected[-1])
        given = np.empty_like(mine)
        futures.append(rt.all_to_all(mine, given))
        expected.append(expected[-1])
    for future, right in zip(futures, expected, strict=True):
        assert np.array_equal(future.result(), right)

    blocks = [np.full(10 * r + to, r) for to in range(n)]
    received = [np.empty(10 * source + r, int) for source in range(n)]
    assert rt.all_to_all(blocks, received).result() is received
    assert all((block == source).all() for source, block in enumerate(received))

    for root in range(n):
        array = np.arange(30_000) * (root + 1) if r == root else np.zeros(30_000, int)
        array.flags.writeable = r != root  # it is only read there
        assert np.array_equal(rt.broadcast(array, root).result(), np.arange(30_000) * (root + 1))

    everything = rt.all_gather(np.array([[r, r + 1]])).result()
    assert everything.shape == (n, 1, 2) and everything[:, 0, 1].tolist() == list(range(1, n + 1))
    out = np.empty(n)
    assert rt.all_gather(float(r), out).result() is out and out.tolist() == list(range(n))
print("ok")
