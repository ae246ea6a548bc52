# SPDX-License-Identifier: Apache-2.0
"""profile.csv of plait-sph: what is at each place of a problem at the end, beside the exact solution."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

_COLUMNS = (
    *("place", "particles", "density", "density_scatter", "speed", "pressure"),
    *("exact_density", "exact_speed", "exact_pressure"),
)
_HEAD = re.compile(
    r"# plait-sph, problem (?P<problem>[^,]*), (?P<particles>\d+) particles, time (?P<time>\S+)"
)
_PLACES = {"sod": "place along the tube", "gresho": "distance from the axis"}


@dataclass(frozen=True)
class Profile:
    path: Path
    problem: str
    particles: int
    time: float
    place: str  # what the column of that name is
    columns: dict[str, npt.NDArray[np.float64]]  # NaN where nothing is known


def read_profile(folder: Path) -> Profile | None:
    """The first below the folder that can be read; also of a single file."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("profile.csv")):
        try:
            head, names, *rows = path.read_text(encoding="utf-8").splitlines()
            match = _HEAD.match(head)
            if match is None or tuple(names.split(",")) != _COLUMNS or not rows:
                continue
            values = np.array(
                [[float(word) if word else np.nan for word in row.split(",")] for row in rows]
            )
            if values.shape[1] != len(_COLUMNS):
                continue
        except (OSError, ValueError, UnicodeDecodeError):
            continue
        problem = match["problem"]
        return Profile(
            path=path,
            problem=problem,
            particles=int(match["particles"]),
            time=float(match["time"]),
            place=_PLACES.get(problem, "distance from the centre"),
            columns=dict(zip(_COLUMNS, values.T, strict=True)),
        )
    return None
