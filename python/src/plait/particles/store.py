# SPDX-License-Identifier: Apache-2.0
"""The particles of one rank: an array for each field, which NumPy views without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from plait import _extension

if TYPE_CHECKING:
    from plait import _plait_runtime


class Store:
    """The particles of one rank, of which a `System` moves some to other ranks.

        store = Store(mass=1, velocity=3)
        first = store.add(1000)
        store.position[first:] = places
        store["mass"][:] = 1e-3

    All stores have `position` (n, 3), `id` (int64, unique over all ranks), `kind` (uint8 below 64) and
    `cost` (float32, which steps set). Keywords add fields of float64 with so many components. All ranks
    add the same fields in the same order. Steps change the order of particles: identify them by id.

    `store[name]` shares the memory of the store. Adding, removing and steps may move it: they raise
    BufferError while such an array exists, as `numpy.ndarray.resize` does. `del` the array, or copy it.
    """

    def __init__(self, **fields: int) -> None:
        self._store: _plait_runtime.ParticleStore = _extension.part("ParticleStore")()
        for name, components in fields.items():
            self.add_field(name, components)

    def add_field(self, name: str, components: int = 1, dtype: npt.DTypeLike = np.float64) -> None:
        """Adds a field of `components` numbers each, zero for existing particles.

        dtype: float64, float32, int64, int32 or uint8. Raises ValueError for others, and for a name that
        is in use.
        """
        if components < 1:
            raise ValueError(f'the field "{name}" has {components} components: give 1 or more')
        self._store.add_field(name, np.dtype(dtype).name, components)

    @property
    def fields(self) -> list[str]:
        return list(self._store.names)

    def add(self, count: int) -> int:
        """Appends particles whose fields are zero; returns the place of the first."""
        return self._store.add(count)

    def remove(self, places: npt.ArrayLike) -> None:
        """Removes the particles at `places`, which ascend. Particles from the end fill the gaps."""
        self._store.remove(np.asarray(places, np.int64).ravel().tolist())

    def __len__(self) -> int:
        return self._store.size

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The values of a field, (n,) or (n, components), without a copy. Raises KeyError."""
        return cast("npt.NDArray[Any]", self._store.view(name))

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        """Sets the values of all particles: makes `store["mass"] *= 2` possible, too."""
        self[name][...] = values

    @property
    def position(self) -> npt.NDArray[np.float64]:
        return self["position"]

    @property
    def id(self) -> npt.NDArray[np.int64]:
        return self["id"]

    def __repr__(self) -> str:
        return f"<plait.particles.Store of {len(self)} particles: {', '.join(self.fields)}>"
