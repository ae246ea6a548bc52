# SPDX-License-Identifier: Apache-2.0
# ranks: 2
"""Gravity and neighbours of bodies that any rank may have, in the order in which it has them."""

import numpy as np

import plait

random = np.random.default_rng(7)
with plait.Runtime(workers=1) as rt:
    everywhere = random.uniform(0, 1, (4000, 3))
    mine = everywhere[rt.rank :: rt.size]  # dealt out like cards

    forces = plait.particles.gravity(rt, mine, masses=1 / 4000, softening=0.01, theta=0.5)
    momentum = rt.all_gather(forces.accelerations.sum(0)).result().sum(0)

    near = plait.particles.neighbours(rt, mine, radius=0.08, box=(1, 1, 1))
    counts = np.diff(near.offsets)
    first = near.indices[near.offsets[0] : near.offsets[1]]

    if rt.rank == 0:
        print("accelerations", forces.accelerations.shape, "potentials", forces.potentials.shape)
        print("they sum to less than 1:", bool(np.abs(momentum).max() < 1))
        print("neighbours of body 0:", first, "of", counts.sum())
