# SPDX-License-Identifier: Apache-2.0
"""Bodies from HDF5 snapshots in the GADGET and SWIFT layout, wherever they lie in a run's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

#: Bodies shown; of a larger snapshot an even selection.
BODIES_MAX = 400_000
_FILES_MAX = 20_000


@dataclass(frozen=True)
class Snapshot:
    path: Path
    time: float | None
    bodies: int
    positions: npt.NDArray[np.float64]  # (n, 3)
    masses: npt.NDArray[np.float64]  # (n,)


def first_and_last(folder: Path) -> list[Snapshot]:
    """None, one or two snapshots: the first and the last by their time, else by name."""
    found: list[tuple[float, str, Path]] = []
    names = (path for suffix in ("*.hdf5", "*.h5") for path in folder.rglob(suffix))
    for path in sorted(names)[:_FILES_MAX]:
        time = _time_of(path)
        if time is not None:
            found.append((time, path.name, path))
    found.sort()
    chosen = [found[0][2], found[-1][2]] if len(found) > 1 else [entry[2] for entry in found]
    return [snapshot for snapshot in map(_read, chosen) if snapshot is not None]


def _time_of(path: Path) -> float | None:
    """The snapshot's time; infinity when it tells none; None when it is no snapshot."""
    try:
        with h5py.File(path, "r") as file:
            if "PartType1/Coordinates" not in file:
                return None
            return _time(file)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return None


def _time(file: Any) -> float:
    header = file["Header"].attrs if "Header" in file else {}
    if "Time" in header:
        return float(np.ravel(header["Time"])[0])
    return float("inf")


def _read(path: Path) -> Snapshot | None:
    try:
        with h5py.File(path, "r") as file:
            bodies = file["PartType1"]
            count = int(bodies["Coordinates"].shape[0])
            every = max(1, -(-count // BODIES_MAX))
            positions = np.asarray(bodies["Coordinates"][::every], dtype=np.float64)
            if positions.ndim != 2 or positions.shape[1] != 3:
                return None
            masses = np.ones(positions.shape[0])
            if "Masses" in bodies and bodies["Masses"].shape[0] == count:
                masses = np.asarray(bodies["Masses"][::every], dtype=np.float64).reshape(-1)
            time = _time(file)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return None
    sound = np.isfinite(positions).all(axis=1) & np.isfinite(masses)
    if not sound.any():
        return None
    told = time if np.isfinite(time) else None
    return Snapshot(path, told, count, positions[sound], masses[sound])
