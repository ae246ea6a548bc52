# SPDX-License-Identifier: Apache-2.0
"""cosmology-power.txt of plait-cosmology: power spectra beside linear theory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_COLUMNS = 6


@dataclass(frozen=True)
class PowerSpectrum:
    """Of one time."""

    redshift: float
    wave_number: Floats  # 1/Mpc
    power: Floats  # Mpc^3
    linear: Floats  # the first of the run, grown by linear theory
    waves: Floats  # how many each value is the mean of


def read_power_spectra(folder: Path) -> list[PowerSpectrum]:
    """In the order of time, of the first file below the folder that can be read; else empty."""
    for path in sorted(folder.rglob("cosmology-power.txt")):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            rows = [line.split() for line in lines if line and not line.startswith("#")]
            table = np.array([[float(word) for word in row] for row in rows])
        except (OSError, ValueError, UnicodeDecodeError):
            continue
        if table.ndim != 2 or table.shape[1] != _COLUMNS or not (table[:, 1] > 0).all():
            continue
        parts = np.split(table, np.flatnonzero(np.diff(table[:, 0])) + 1)
        return [
            PowerSpectrum(float(1 / part[0, 1] - 1), part[:, 2], part[:, 3], part[:, 4], part[:, 5])
            for part in parts
        ]
    return []
