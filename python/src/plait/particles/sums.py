# SPDX-License-Identifier: Apache-2.0
"""Gravity and neighbours of particles that are distributed over the ranks of a `plait.Runtime`.

Each rank passes any part of the particles, in any order, and gets its results in that order. Inside,
particles are sent to ranks by where they are, and back. docs/how-to/python.md has examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from plait import _extension
from plait._runtime import Runtime
from plait.particles.arguments import Floats, per_row, rows_of_three, space_of


class Forces(NamedTuple):
    accelerations: Floats  # (n, 3)
    potentials: Floats  # (n,)


class Neighbours(NamedTuple):
    """In compressed rows: those of particle i are `indices[offsets[i] : offsets[i + 1]]`."""

    offsets: npt.NDArray[np.int64]  # (n + 1,)
    #: Ascending for each particle. They count the particles of all ranks, in the order of ranks.
    indices: npt.NDArray[np.int64]


def gravity(
    runtime: Runtime,
    positions: npt.ArrayLike,
    masses: npt.ArrayLike,
    softening: float = 0.0,
    theta: float = 0.5,
    *,
    constant: float = 1.0,
    order: Literal["monopole", "quadrupole"] = "quadrupole",
    precision: Literal["full", "mixed"] = "full",
    box: Any = None,
    periodic: bool | Sequence[bool] = True,
    displacement: float = 0.0,
) -> Forces:
    """Accelerations and potentials of this rank's bodies by those of all ranks.

    positions: (n, 3) numbers; n may differ between ranks, and be 0. Units in which distances are near 1
        suit.
    masses: (n,) numbers that are not negative, or one for all.
    softening: the length e of Plummer's law: m d / (d^2 + e^2)^(3/2), with the potential -m / sqrt(d^2
        + e^2).
    theta: the opening angle of the trees. A smaller one is slower and more exact; 0 sums directly.
    constant: G.
    order: of multipoles. precision: of nearby pairs; "mixed" has errors of 1e-6, and is three times as
        fast.
    box, periodic, displacement: as of `neighbours`. Each body acts by one image: the one in a box of
        the same edges around the other body. Images farther away are left out.

    Collective. Raises ValueError for positions that are not finite, and negative masses. Cost: O(n log
    n).
    """
    places = rows_of_three(positions)
    weights = per_row(masses, len(places), "masses")
    if not softening >= 0 or not theta >= 0:
        raise ValueError(f"softening={softening}, theta={theta}: both must not be negative")
    for value, known in ((order, ("monopole", "quadrupole")), (precision, ("full", "mixed"))):
        if value not in known:
            raise ValueError(f'"{value}" is unknown: use "{known[0]}" or "{known[1]}"')
    sums = _extension.part("gravity")(
        *(runtime._engine, places, weights),
        (softening, theta, constant, order == "quadrupole", precision == "mixed"),
        space_of(box, periodic, displacement),
    )
    return Forces(*sums)


def neighbours(
    runtime: Runtime,
    positions: npt.ArrayLike,
    radius: npt.ArrayLike,
    *,
    box: Any = None,
    periodic: bool | Sequence[bool] = True,
    displacement: float = 0.0,
    search: Literal["gather", "scatter", "symmetric"] = "gather",
) -> Neighbours:
    """All particles, of any rank, within a distance of each of this rank's particles.

    positions: (n, 3) numbers; n may differ between ranks, and be 0.
    radius: one distance, or (n,) of them: a particle at exactly this distance counts, the particle
        itself does not, another one at the same place does.
    box: of periodic space: its edges (3 lengths, from 0), or its corners ((x, y, z), (x, y, z)).
        Positions outside stand for their image inside. Radii must be less than half of each periodic
        edge.
    periodic: which axes of `box` are.
    displacement: of a shearing box, which is periodic along x and y: images one edge of x ahead are
        this far behind along y. In a patch of a Keplerian disc, with x outwards and y along the orbit,
        it is 3/2 of the orbital frequency times the edge times the time. Any finite length.
    search: whose radius counts: that of the particle ("gather"), that of its neighbour ("scatter"), or
        the larger one ("symmetric", by which both are each other's neighbours).

    Distances are those of double precision. Collective. Raises ValueError for positions and
    radii that are not finite. Cost: O(n log n) and the neighbours.
    """
    places = rows_of_three(positions)
    radii = per_row(radius, len(places), "radius")
    searches = ("gather", "scatter", "symmetric")
    if search not in searches:
        raise ValueError(f'"{search}" is unknown: use "gather", "scatter" or "symmetric"')
    return Neighbours(
        *_extension.part("neighbours")(
            *(runtime._engine, places, radii, space_of(box, periodic, displacement)),
            searches.index(search),
        )
    )
