# SPDX-License-Identifier: Apache-2.0
"""Fields and particles from openPMD files of HDF5, one a step, wherever they lie in a run's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

#: Particles counted into the density; of more an even selection.
PARTICLES_MAX = 4_000_000
_FILES_MAX = 20_000
_SCALARS_MAX = 64_000_000

Map = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FieldMaps:
    """One step, seen along the z axis, in the units of the file. Maps are (y, x)."""

    path: Path
    step: int
    time: float
    particles: int
    extent: tuple[float, float, float, float]  # x from, x to, y from, y to
    density: Map | None  # real particles in a cell's area, over its area, all kinds and all z together
    fields: dict[str, Map]  # strength of vector fields and value of scalar ones; the middle plane in z


def first_and_last_fields(folder: Path) -> list[FieldMaps]:
    """None, one or two steps. Passes over files that are no openPMD or have no mesh of 2 or 3 axes."""
    found: list[tuple[int, str, Path]] = []
    names = (path for suffix in ("*.h5", "*.hdf5") for path in folder.rglob(suffix))
    for path in sorted(names)[:_FILES_MAX]:
        step = _step_of(path)
        if step is not None:
            found.append((step, str(path), path))
    found.sort()
    chosen = [found[0][2], found[-1][2]] if len(found) > 1 else [entry[2] for entry in found]
    return [maps for maps in map(_read, chosen) if maps is not None]


def _step_of(path: Path) -> int | None:
    try:
        with h5py.File(path, "r") as file:
            if "openPMD" not in file.attrs or "data" not in file:
                return None
            steps = [int(name) for name in file["data"]]
            return steps[0] if len(steps) == 1 else None
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return None


def _read(path: Path) -> FieldMaps | None:
    try:
        with h5py.File(path, "r") as file:
            name = next(iter(file["data"]))
            base = file["data"][name]
            meshes = base[_text(file.attrs["meshesPath"]).rstrip("/")]
            fields: dict[str, Map] = {}
            grid = None
            for mesh in meshes:
                drawn = _strength(meshes[mesh])
                if drawn is not None:
                    fields[str(mesh)] = drawn
                    grid = grid or _grid(meshes[mesh], drawn.shape)
            if grid is None:
                return None
            species = base.get(_text(file.attrs["particlesPath"]).rstrip("/"), {})
            extent, cells = grid
            density, particles = _density(species, extent, cells)
            time = float(base.attrs["time"])
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError):
        return None
    return FieldMaps(path, int(name), time, particles, extent, density, fields)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _strength(mesh: Any) -> Map | None:
    parts = [mesh] if isinstance(mesh, h5py.Dataset) else [mesh[name] for name in mesh]
    shapes = {part.shape for part in parts}
    if len(shapes) != 1 or len(parts[0].shape) not in (2, 3) or parts[0].size > _SCALARS_MAX:
        return None
    planes = [_plane(part) for part in parts]
    if len(planes) == 1:
        return planes[0]
    strength: Map = np.sqrt(sum(plane**2 for plane in planes))
    return strength


def _plane(component: Any) -> Map:
    inside = component[component.shape[0] // 2] if len(component.shape) == 3 else component[...]
    plane: Map = np.asarray(inside, dtype=np.float64)
    return plane


def _grid(
    mesh: Any, shape: tuple[int, ...]
) -> tuple[tuple[float, float, float, float], tuple[int, int]]:
    spacing = np.ravel(mesh.attrs["gridSpacing"])[-2:]
    corner = np.ravel(mesh.attrs["gridGlobalOffset"])[-2:]
    x, y = float(corner[1]), float(corner[0])
    ends = (x + float(spacing[1]) * shape[1], y + float(spacing[0]) * shape[0])
    return (x, ends[0], y, ends[1]), (shape[0], shape[1])


def _density(
    species: Any, extent: tuple[float, float, float, float], cells: tuple[int, int]
) -> tuple[Map | None, int]:
    density: Map = np.zeros(cells)
    total = 0
    for name in species:
        position = species[name]["position"]
        count = int(position["x"].shape[0])
        total += count
        every = max(1, -(-count // PARTICLES_MAX))
        if count == 0:
            continue
        weights = species[name].get("weighting")
        weighting = (
            weights[::every] if isinstance(weights, h5py.Dataset) else np.ones(-(-count // every))
        )
        counted, _, _ = np.histogram2d(
            position["y"][::every],
            position["x"][::every],
            bins=cells,
            range=(extent[2:], extent[:2]),
            weights=weighting * every,
        )
        density += counted
    area = (extent[1] - extent[0]) * (extent[3] - extent[2]) / (cells[0] * cells[1])
    return (density / area if total else None), total
