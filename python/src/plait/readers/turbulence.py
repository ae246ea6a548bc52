# SPDX-License-Identifier: Apache-2.0
"""Measurements and fields that plait-dns wrote, wherever they lie in a run's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FILES_MAX = 20_000


@dataclass(frozen=True)
class Measurements:
    """Rows over time, in order; spectra are (row, shell), shell k holding wave numbers around k."""

    path: Path
    points: tuple[int, int, int]  # along x, y, z
    viscosity: float
    k_max: float
    columns: dict[str, Floats]
    spectrum: Floats
    transfer: Floats
    scalars: dict[str, Floats]  # spectra


@dataclass(frozen=True)
class VorticitySlice:
    """The plane in the middle of z; (y, x)."""

    path: Path
    step: int
    time: float
    values: Floats


def read_measurements(folder: Path) -> Measurements | None:
    """The first file of measurements below the folder that can be read; rows that are not whole are left
    out."""
    for path in sorted(folder.rglob("diagnostics.h5"))[:_FILES_MAX]:
        found = _read_measurements(path)
        if found is not None:
            return found
    return None


def first_and_last_slices(folder: Path) -> list[VorticitySlice]:
    """None, one or two. Passes over what cannot be read."""
    found = []
    for path in sorted(folder.rglob("dns-*.h5"))[:_FILES_MAX]:
        number = path.stem.removeprefix("dns-")
        if number.isdigit():
            found.append((int(number), str(path), path))
    found.sort()
    chosen = [found[0][2], found[-1][2]] if len(found) > 1 else [entry[2] for entry in found]
    return [one for one in map(_read_slice, chosen) if one is not None]


def _read_measurements(path: Path) -> Measurements | None:
    try:
        with h5py.File(path, "r") as file:
            if _text(file.attrs["program"]) != "plait-dns":
                return None
            whole = np.isfinite(file["time"][...])
            columns = {
                name: np.asarray(values[...], dtype=np.float64)[whole]
                for name, values in file.items()
                if isinstance(values, h5py.Dataset) and values.ndim == 1
            }
            scalars = {
                str(name): _rows(group["spectrum"], whole)
                for name, group in file.get("scalars", {}).items()
            }
            points = file.attrs["points"]
            return Measurements(
                path,
                (int(points[0]), int(points[1]), int(points[2])),
                float(file.attrs["viscosity"]),
                float(file.attrs["k_max"]),
                columns,
                _rows(file["spectrum"], whole),
                _rows(file["transfer"], whole),
                scalars,
            )
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError):
        return None


def _rows(values: Any, whole: npt.NDArray[np.bool_]) -> Floats:
    rows: Floats = np.asarray(values[...], dtype=np.float64)[whole]
    return rows.reshape(rows.shape[0], -1)


def _read_slice(path: Path) -> VorticitySlice | None:
    try:
        with h5py.File(path, "r") as file:
            field = file["vorticity_magnitude"]
            plane = np.asarray(field[field.shape[0] // 2], dtype=np.float64)
            return VorticitySlice(path, int(file.attrs["step"]), float(file.attrs["time"]), plane)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError):
        return None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
