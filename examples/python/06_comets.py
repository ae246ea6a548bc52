# SPDX-License-Identifier: Apache-2.0
# ranks: 2
# expected: 20_comets.expected
"""Comets on eccentric orbits around a star. Each takes time steps of its own: short ones near the star
only. It counts them beside the steps of a run in which all comets take the shortest step of any.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import plait
from plait.particles import Store, System

Values = npt.NDArray[Any]

COMETS = 16
COMET_MASS = 1e-12  # that of the star is 1


def axes_of(ids: Values) -> Values:
    return 1 + 0.125 * ids


def comets(count: int) -> Store:
    """The star has the id 0. A comet begins where it is farthest away from it."""
    store = Store(mass=1, velocity=3, acceleration=3, potential=1)
    store.add(count)
    ids = np.arange(count)
    eccentricities = np.where(ids % 2 == 0, 0.5, 0.75)
    angles = 2 * np.pi * ids / COMETS
    distances = np.where(ids == 0, 0, axes_of(ids) * (1 + eccentricities))
    speeds = np.sqrt((1 - eccentricities) / np.where(ids == 0, np.inf, distances))
    store["id"] = ids
    store["mass"] = np.where(ids == 0, 1, COMET_MASS)
    store["position"][:, :2] = np.stack([np.cos(angles), np.sin(angles)], 1) * distances[:, None]
    store["velocity"][:, :2] = np.stack([-np.sin(angles), np.cos(angles)], 1) * speeds[:, None]
    return store


def limit(store: Store, places: Values) -> Values:
    """Any worker calls it, for particles whose steps end."""
    pull = np.linalg.norm(store["acceleration"][places], axis=1)  # 1 / r^2
    longest: Values = 0.02 / pull**0.75
    return longest


def energy_error(store: Store) -> float:
    """The largest relative error of the energy of a comet of this rank, -1 / (2 axis)."""
    energies = (store["velocity"] ** 2).sum(1) / 2 + store["potential"]
    errors = np.abs(2 * axes_of(store.id) * energies + 1)
    return float(errors.max(where=store.id > 0, initial=0))


def run(rt: plait.Runtime, lengths: Literal["equal", "individual"]) -> tuple[int, float]:
    """Returns the updates of particles, and the largest error of any rank."""
    store = comets(COMETS + 1 if rt.rank == 0 else 0)
    with System(rt, store) as system:
        system.add_long_range("mass", "acceleration", "potential", theta=0, velocity="velocity")
        system.integrate("velocity", "acceleration")
        system.limit_steps_by(limit)
        system.take_steps(lengths, end=20, step_max=0.25)
        system.update()
        updates = 0
        while not system.is_over:
            step = system.step()
            updates += step.updated if lengths == "individual" else COMETS + 1
        system.synchronise()
    errors = rt.all_gather(np.array([energy_error(store)])).result()
    return updates, float(errors.max())


with plait.Runtime() as rt:
    own, own_error = run(rt, "individual")
    equal, equal_error = run(rt, "equal")
    if rt.rank == 0:
        kept = "yes" if max(own_error, equal_error) < 1e-3 else "no"
        print(f"energies kept within 1e-3: {kept}")
        print(f"updates of equal steps for one of individual steps: {equal / own:.1f}")
