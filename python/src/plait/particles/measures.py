# SPDX-License-Identifier: Apache-2.0
"""Moments, groups and density profiles of particles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plait import _extension
from plait._runtime import Runtime
from plait.particles.arguments import Floats, per_row, rows_of_three, space_of, three


@dataclass(frozen=True)
class Moments:
    """The sums over a selection of particles of all ranks. Means are weighted by mass."""

    members: int
    mass: float
    centre: Floats  # (3,), of mass; in the box of periodic spaces
    velocity: Floats  # (3,), of the centre
    angular_momentum: Floats  # (3,), about the centre, of velocities relative to its own
    extent: Floats  # (3, 3): the mean of d d^T, d the distance from the centre
    dispersion: Floats  # (3, 3): the mean of w w^T, w the velocity relative to the centre's

    @property
    def radius(self) -> float:
        """The root mean square of distances from the centre."""
        return float(np.sqrt(np.trace(self.extent)))

    @property
    def speed(self) -> float:
        """The root mean square of velocities relative to the centre's."""
        return float(np.sqrt(np.trace(self.dispersion)))

    @property
    def axes(self) -> tuple[Floats, Floats]:
        """The root mean square extents along the principal axes, and these: rows. The longest first."""
        values, vectors = np.linalg.eigh(self.extent)
        return np.sqrt(np.maximum(values[::-1], 0)), vectors.T[::-1]


@dataclass(frozen=True)
class Groups:
    """Groups of friends."""

    #: Of this rank, by id: the smallest number of a member among the particles of all ranks, in the
    #: order of ranks. Each group is on one rank, the heaviest of a rank first.
    moments: dict[int, Moments]
    of_particle: npt.NDArray[np.int64]  # (n,), the id of each particle's group; -1 where it is in none


class DensityProfile(NamedTuple):
    radii: Floats  # (shells + 1,)
    mass: Floats  # (shells,), as the next
    particles: npt.NDArray[np.uint64]
    density: Floats


def measure_moments(
    runtime: Runtime,
    positions: npt.ArrayLike,
    masses: npt.ArrayLike,
    velocities: npt.ArrayLike | None = None,
    *,
    where: npt.ArrayLike | None = None,
    box: Any = None,
    periodic: bool | Sequence[bool] = True,
) -> Moments:
    """Sums a selection of the particles of all ranks; equal on all ranks.

    positions, masses, box, periodic: as of `plait.particles.gravity`. In periodic spaces, a selection is
        smaller than half of the box along each axis.
    velocities: (n, 3) numbers; without them, what is made of them is 0.
    where: (n,) booleans that select. Default: all.

    Collective. Cost: O(n).
    """
    places, weights, speeds = _bodies(positions, masses, velocities)
    if where is not None:
        chosen = np.asarray(where, bool)
        if chosen.shape != weights.shape:
            raise ValueError(f"where has the shape {chosen.shape}, and must have {weights.shape}")
        places, weights = places[chosen], weights[chosen]
        speeds = None if speeds is None else speeds[chosen]
    space = space_of(box, periodic, 0.0)
    return _moments(_extension.part("moments")(runtime._engine, places, weights, speeds, space))


def find_groups(
    runtime: Runtime,
    positions: npt.ArrayLike,
    masses: npt.ArrayLike,
    velocities: npt.ArrayLike | None = None,
    *,
    linking_length: float,
    members_min: int = 20,
    box: Any = None,
    periodic: bool | Sequence[bool] = True,
) -> Groups:
    """Groups by friends of friends: a chain of particles joins two members, each at most the linking
    length from the next.

    positions, masses, velocities, box, periodic: as of `measure_moments`. Smaller groups than
    `members_min` are none. Collective. Raises ValueError for a linking length that is not positive or,
    along a periodic axis, above half of the box. Cost: a search of neighbours.
    """
    if members_min < 1:
        raise ValueError(f"members_min={members_min}: a group has 1 member or more")
    rows, of_particle = _extension.part("groups")(
        *(runtime._engine, *_bodies(positions, masses, velocities)),
        (linking_length, members_min),
        space_of(box, periodic, 0.0),
    )
    return Groups({number: _moments(row) for number, row in rows}, of_particle)


def density_profile(
    runtime: Runtime,
    positions: npt.ArrayLike,
    masses: npt.ArrayLike,
    centre: npt.ArrayLike,
    radii: npt.ArrayLike,
    *,
    box: Any = None,
    periodic: bool | Sequence[bool] = True,
) -> DensityProfile:
    """The particles of all ranks by their distance from a centre; equal on all ranks.

    radii: between shells, ascending and not negative; at least two. Shell i begins at radius i, which is
    in it. Distances are those of nearest images. Collective. Cost: O(n log shells).
    """
    places, weights, _ = _bodies(positions, masses, None)
    middle = np.asarray(centre, np.float64)
    bounds = np.asarray(radii, np.float64)
    if middle.shape != (3,) or bounds.ndim != 1:
        raise ValueError(
            f"centre has the shape {middle.shape}, radii {bounds.shape}: they must have (3,) and (n,)"
        )
    shells = _extension.part("density_profile")(
        *(runtime._engine, places, weights, three(middle), bounds.tolist()),
        space_of(box, periodic, 0.0),
    )
    return DensityProfile(bounds, *shells)


def _bodies(
    positions: npt.ArrayLike, masses: npt.ArrayLike, velocities: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    places = rows_of_three(positions)
    speeds = None if velocities is None else rows_of_three(velocities, "velocities")
    if speeds is not None and len(speeds) != len(places):
        raise ValueError(f"velocities has {len(speeds)} rows, and there are {len(places)} positions")
    return places, per_row(masses, len(places), "masses"), speeds


def _moments(row: tuple[Any, ...]) -> Moments:
    members, mass, *others = row
    centre, velocity, angular_momentum, extent, dispersion = map(np.array, others)
    tensors = map(_tensor, (extent, dispersion))
    return Moments(members, mass, centre, velocity, angular_momentum, *tensors)


def _tensor(parts: Floats) -> Floats:
    """Of (xx, yy, zz, yz, xz, xy)."""
    xx, yy, zz, yz, xz, xy = parts
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
