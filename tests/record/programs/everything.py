# SPDX-License-Identifier: Apache-2.0
"""A bit of everything that mpi4py can do, on any number of ranks; rank 0 prints what came of it."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
above, below = (rank + 1) % ranks, (rank - 1) % ranks

# Arrays, without blocking.
field = np.full(10_000, float(rank))
halo = np.empty_like(field)
for step in range(10):
    requests = [world.Irecv(halo, source=below, tag=step), world.Isend(field, dest=above, tag=step)]
    MPI.Request.Waitall(requests)
    field = 0.5 * (field + halo)

# Objects, which travel as bytes of a length that is probed for.
told = world.sendrecv({"from": rank, "list": list(range(rank + 5))}, dest=above, source=below)
assert told["from"] == below

# Persistent operations.
partner = np.zeros(4, dtype="i")
persistent = [world.Recv_init(partner, source=below, tag=77), world.Send_init(np.full(4, rank, dtype="i"), above, 77)]
for _ in range(3):
    MPI.Prequest.Startall(persistent)
    MPI.Request.Waitall(persistent)
for request in persistent:
    request.Free()

# Collectives, also without blocking, also on a communicator of some.
total = np.zeros(1)
world.Iallreduce(np.array([field.sum()]), total).Wait()
half = world.Split(rank % 2, rank)
members = half.allgather(rank)
half.Free()
counts = [i + 1 for i in range(ranks)]
gathered = np.empty(sum(counts), dtype="i")
world.Allgatherv(np.full(rank + 1, rank, dtype="i"), (gathered, counts))

# One-sided.
window = MPI.Win.Allocate(4 * ranks, 4, comm=world)
memory = np.frombuffer(window, dtype="i")
memory[:] = 0
window.Fence()
window.Put(np.array([rank + 1], dtype="i"), above, target=(rank, 1))
window.Fence()
sums = world.gather(int(memory.sum()))
window.Free()

if rank == 0:
    print(f"total {total[0]:.12e} members {members} gathered {gathered.tolist()} one-sided {sums}")
    sys.stdout.flush()
