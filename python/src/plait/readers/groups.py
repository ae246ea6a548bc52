# SPDX-License-Identifier: Apache-2.0
"""cosmology-groups-STEP.txt of plait-cosmology: groups by friends of friends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

_COLUMNS = 18


@dataclass(frozen=True)
class Shapes:
    """Of each group, in the order of masses."""

    intermediate: npt.NDArray[np.float64]  # axes over the longest one
    shortest: npt.NDArray[np.float64]
    half_mass_radii: npt.NDArray[np.float64]  # comoving Mpc
    spins: npt.NDArray[np.float64]  # Bullock's parameter


@dataclass(frozen=True)
class Groups:
    """Of one time."""

    redshift: float
    masses: npt.NDArray[np.float64]  # 1e10 solar masses, the heaviest first
    shapes: Shapes | None = None  # None: of a table of an earlier version


def read_groups(folder: Path) -> list[Groups]:
    """Those below the folder that can be read, by time; without times that have no groups."""
    found = []
    for path in sorted(folder.rglob("cosmology-groups-*.txt")):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            scale = re.search(r"scale factor ([0-9.e+-]+)", lines[0])
            rows = [[float(word) for word in line.split()] for line in lines if line and line[0] != "#"]
            masses = np.array([row[2] for row in rows])
        except (OSError, ValueError, IndexError, UnicodeDecodeError):
            continue
        if scale and float(scale[1]) > 0 and masses.size:
            found.append(Groups(float(1 / float(scale[1]) - 1), masses, _shapes(rows)))
    return sorted(found, key=lambda groups: -groups.redshift)


def _shapes(rows: list[list[float]]) -> Shapes | None:
    if any(len(row) < _COLUMNS for row in rows):
        return None
    columns = np.array(rows).T
    return Shapes(columns[11], columns[12], columns[16], columns[17])
