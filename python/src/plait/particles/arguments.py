# SPDX-License-Identifier: Apache-2.0
"""Arrays, boxes and kinds as programs pass them, and as the extension takes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Triple = tuple[float, float, float]
#: Low and high corner, periodic axes, displacement of images.
Space = tuple[Triple, Triple, tuple[bool, bool, bool], float]


def space_of(box: Any, periodic: bool | Sequence[bool], displacement: float) -> Space:
    """The corners of the box, which axes are periodic, and the displacement of images."""
    if not math.isfinite(displacement):
        raise ValueError(f"displacement is {displacement}: pass a finite length")
    if box is None:
        if displacement != 0:
            raise ValueError(f"displacement is {displacement} without a box: pass its edges")
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (False, False, False), 0.0
    corners = np.asarray(box, np.float64)
    if corners.shape == (3,):
        corners = np.stack([np.zeros(3), corners])
    if corners.shape != (2, 3):
        raise ValueError(
            f"box has the shape {corners.shape}: pass three edges, or the two corners of three "
            f"numbers each"
        )
    each = [periodic] * 3 if isinstance(periodic, bool) else list(map(bool, periodic))
    if len(each) != 3:
        raise ValueError(f"periodic has {len(each)} values: pass one, or one for each axis")
    axes = (each[0], each[1], each[2])
    return three(corners[0]), three(corners[1]), axes, float(displacement)


def three(numbers: Floats | Sequence[float]) -> Triple:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def rows_of_three(rows: npt.ArrayLike, name: str = "positions") -> Floats:
    found = np.ascontiguousarray(rows, np.float64)
    if found.ndim != 2 or found.shape[1] != 3:
        raise ValueError(f"{name} has the shape {found.shape}, and must have (n, 3)")
    return found


def per_row(values: npt.ArrayLike, count: int, name: str) -> Floats:
    found = np.asarray(values, np.float64)
    if found.ndim == 0:
        return np.full(count, found)
    if found.shape != (count,):
        raise ValueError(
            f"{name} has the shape {found.shape}, and must have ({count},), as there are {count} "
            f"positions"
        )
    return np.ascontiguousarray(found)


def kind_bits(kinds: Iterable[int] | None, name: str) -> int:
    """A bit for each kind; all without `kinds`."""
    if kinds is None:
        return (1 << 64) - 1
    chosen = set(kinds)
    if not chosen <= set(range(64)):
        raise ValueError(f"{name} is {sorted(chosen)}: kinds are whole numbers from 0 to 63")
    return sum(1 << kind for kind in chosen)
