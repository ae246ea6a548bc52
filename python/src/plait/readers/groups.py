# SPDX-License-Identifier: Apache-2.0
"""cosmology-groups-STEP.txt of plait-cosmology: groups by friends of friends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Groups:
    """Of one time."""

    redshift: float
    masses: npt.NDArray[np.float64]  # 1e10 solar masses, the heaviest first


def read_groups(folder: Path) -> list[Groups]:
    """Those below the folder that can be read, by time; without times that have no groups."""
    found = []
    for path in sorted(folder.rglob("cosmology-groups-*.txt")):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            scale = re.search(r"scale factor ([0-9.e+-]+)", lines[0])
            masses = np.array([float(line.split()[2]) for line in lines if line and line[0] != "#"])
        except (OSError, ValueError, IndexError, UnicodeDecodeError):
            continue
        if scale and float(scale[1]) > 0 and masses.size:
            found.append(Groups(float(1 / float(scale[1]) - 1), masses))
    return sorted(found, key=lambda groups: -groups.redshift)
