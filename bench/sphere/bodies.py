# SPDX-License-Identifier: Apache-2.0
"""A homogeneous sphere of mass 1, and how exact forces in it are, for programs in Python."""

from typing import Any

import numpy as np

SOFTENING = 1e-4
THETA = 0.5


def sphere(count: int) -> tuple[Any, Any]:
    """Places within radius 1, and masses."""
    random = np.random.default_rng(1)
    places = random.uniform(-1, 1, (int(2.2 * count) + 100, 3))
    return places[(places**2).sum(1) <= 1][:count], np.full(count, 1 / count)


def rms_error(forces: Any, places: Any, masses: Any) -> float:
    """The root mean square of relative errors of accelerations, by direct sums for 256 bodies."""
    some = np.arange(0, len(places), max(1, len(places) // 256))
    exact = np.empty((len(some), 3))
    for row, i in enumerate(some):
        d = places - places[i]
        squares = (d**2).sum(1) + SOFTENING**2
        exact[row] = (masses / (squares * np.sqrt(squares)) * d.T).sum(1)
    squares = ((forces[some] - exact) ** 2).sum(1) / (exact**2).sum(1)
    return float(np.sqrt(squares.mean()))
