# SPDX-License-Identifier: Apache-2.0
"""statistics.txt of plait-sph: energies and momentum over time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

_ENERGIES = ("kinetic", "thermal", "potential", "energy")


def read_statistics(folder: Path) -> dict[str, npt.NDArray[np.float64]] | None:
    """Columns by name, of the first file below the folder that can be read: time, energies, ..."""
    for path in sorted(folder.rglob("statistics.txt")):
        try:
            head, *rows = path.read_text(encoding="utf-8").splitlines()
            names = re.split(r"\s{2,}", head.removeprefix("#").strip())
            values = np.array([[float(word) for word in row.split()] for row in rows])
        except (OSError, ValueError, UnicodeDecodeError):
            continue
        is_table = values.ndim == 2 and values.shape[0] > 1 and values.shape[1] == len(names)
        if is_table and {"time", *_ENERGIES} <= set(names):
            return dict(zip(names, values.T, strict=True))
    return None
