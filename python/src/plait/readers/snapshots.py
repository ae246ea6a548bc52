# SPDX-License-Identifier: Apache-2.0
"""Particles of one kind from HDF5 snapshots in the layout of GADGET or SWIFT."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from plait._errors import PlaitError

Floats = npt.NDArray[np.float64]

#: Particles shown; of a larger snapshot an even selection, each heavier and larger by as much.
PARTICLES_MAX = 2_000_000
_FILES_MAX = 20_000
KINDS = ("gas", "dark matter", "disc", "bulge", "stars", "black holes", "neutrinos")
#: How far a particle reaches in smoothing lengths as SWIFT defines them; GADGET's are the reach itself.
_REACH_OF_SWIFT = 1.9


@dataclass(frozen=True)
class Snapshot:
    """Particles of one kind, in the file's units."""

    path: Path
    time: float | None
    kind: str
    count: int  # in the file; arrays may have less
    low: Floats  # (3,) of what to show: the box where it is periodic, else where nearly all are
    high: Floats
    is_periodic: bool
    positions: Floats  # (n, 3)
    masses: Floats  # (n,)
    reach: Floats | None  # (n,): how far each reaches; None where the file has none
    energies: Floats | None  # (n,): specific internal energy
    ranks: npt.NDArray[np.int64] | None  # (n,): which rank wrote each
    redshift: float | None = None  # of an expanding universe

    def when(self) -> str:
        """Its time or redshift, as text; empty where the file has neither."""
        if self.redshift is not None:
            return f"redshift {self.redshift:.4g}"
        return f"t = {self.time:.6g}" if self.time is not None else ""


def first_and_last(folder: Path, kind: str | None = None) -> list[Snapshot]:
    """None, one or two snapshots below the folder, by their time. Passes over what cannot be read.

    `kind`: one of KINDS; without it gas where there is any, else the first kind that is there.
    """
    found: list[tuple[float, str, Path]] = []
    paths = (path for suffix in ("*.hdf5", "*.h5") for path in folder.rglob(suffix))
    for path in sorted(paths)[:_FILES_MAX]:
        try:
            with h5py.File(path, "r") as file:
                if _number_of(file, kind) is not None:
                    time = _time(file)
                    found.append((float("inf") if time is None else time, str(path), path))
        except (OSError, RuntimeError, KeyError, ValueError, TypeError):
            continue
    found.sort()
    snapshots = []
    for _, _, path in found[:1] + found[1:][-1:]:
        try:
            snapshots.append(read_snapshot(path, kind))
        except PlaitError:
            continue
    return snapshots


def read_snapshot(path: Path, kind: str | None = None) -> Snapshot:
    """`kind`: as in `first_and_last`. Raises PlaitError that describes what is wrong with the file."""
    if not path.exists():
        raise PlaitError(f"{path} does not exist")
    try:
        with h5py.File(path, "r") as file:
            return _read(path, file, kind)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise PlaitError(
            f"{path} cannot be read as a snapshot of GADGET's or SWIFT's layout: {error}"
        ) from error


def _read(path: Path, file: Any, kind: str | None) -> Snapshot:
    number = _number_of(file, kind)
    if number is None:
        raise PlaitError(
            f"{path} has no particles of GADGET's or SWIFT's layout: no group PartType0 to PartType6 "
            "with Coordinates"
        )
    group = file[f"PartType{number}"]
    count = int(group["Coordinates"].shape[0])
    every = max(1, -(-count // PARTICLES_MAX))

    def column(*names: str) -> Floats | None:
        for name in names:
            if name in group and group[name].shape[0] == count:
                return np.asarray(group[name][::every], dtype=np.float64)
        return None

    positions = column("Coordinates")
    if positions is None or positions.ndim != 2 or positions.shape[1] != 3:
        raise PlaitError(f"{path}: PartType{number}/Coordinates is no array of three numbers each")
    masses = column("Masses")
    if masses is None:
        masses = np.full(positions.shape[0], _mass_of_table(file, number))
    reach = column("SmoothingLengths")
    reach = column("SmoothingLength") if reach is None else reach * _REACH_OF_SWIFT
    sound = np.isfinite(positions).all(axis=1) & np.isfinite(masses)
    if not sound.any():
        raise PlaitError(f"{path}: no particle has a position and a mass")
    ranks = _ranks(file, number, count, every)
    energies = column("InternalEnergies", "InternalEnergy")
    box = _box(file)
    is_periodic = box is not None and _is_periodic(file, positions[sound], box)
    low, high = (
        (np.zeros(3), box) if is_periodic and box is not None else _where_most_are(positions[sound])
    )
    return Snapshot(
        path=path,
        time=_time(file),
        kind=KINDS[number],
        count=count,
        low=low,
        high=high,
        is_periodic=is_periodic,
        positions=positions[sound],
        masses=masses[sound] * every,
        reach=None if reach is None else reach[sound] * every ** (1 / 3),
        energies=None if energies is None else energies[sound],
        ranks=None if ranks is None else ranks[sound],
        redshift=_redshift(file),
    )


def _number_of(file: Any, kind: str | None) -> int | None:
    for number in range(len(KINDS)) if kind is None else [KINDS.index(kind)]:
        name = f"PartType{number}/Coordinates"
        if name in file and file[name].shape[0] > 0:
            return number
    return None


def _header(file: Any) -> Any:
    return file["Header"].attrs if "Header" in file else {}


def _time(file: Any) -> float | None:
    header = _header(file)
    return float(np.ravel(header["Time"])[0]) if "Time" in header else None


def _redshift(file: Any) -> float | None:
    """None without expansion."""
    cosmology = file["Cosmology"].attrs if "Cosmology" in file else {}
    if int(np.ravel(cosmology.get("Cosmological run", 0))[0]) == 0:
        return None
    return float(1 / np.ravel(cosmology["Scale-factor"])[0] - 1)


def _mass_of_table(file: Any, number: int) -> float:
    table = np.ravel(_header(file).get("MassTable", []))
    return float(table[number]) if table.size > number and table[number] > 0 else 1.0


def _box(file: Any) -> Floats | None:
    size = np.ravel(np.asarray(_header(file).get("BoxSize", []), dtype=np.float64))
    if size.size == 1:
        size = np.repeat(size, 3)
    return size if size.size == 3 and bool((size > 0).all()) else None


def _is_periodic(file: Any, positions: Floats, box: Floats) -> bool:
    """From the file; where it has nothing, whether all are in the box and fill it."""
    for group in ("Parameters", "RuntimePars"):
        if group in file:
            for name in ("PeriodicBoundariesOn", "InitialConditions:periodic"):
                if name in file[group].attrs:
                    return str(np.ravel(file[group].attrs[name])[0]).strip("b'") not in ("0", "False")
    inside = bool(((positions >= 0) & (positions <= box)).all())
    return inside and bool((np.ptp(positions, axis=0) > 0.9 * box).all())


def _where_most_are(positions: Floats) -> tuple[Floats, Floats]:
    low, high = np.quantile(positions, [0.005, 0.995], axis=0)
    middle, half = (low + high) / 2, float(np.max(high - low)) / 2 * 1.15 or 0.5
    return middle - half, middle + half


def _ranks(file: Any, number: int, count: int, every: int) -> npt.NDArray[np.int64] | None:
    """Of plait's programs, which record how many particles each rank wrote, in the order of ranks."""
    if "Ranks/Particles" not in file:
        return None
    written = np.asarray(file["Ranks/Particles"][...], dtype=np.int64)
    if written.ndim != 2 or written.shape[1] <= number or int(written[:, number].sum()) != count:
        return None
    return np.repeat(np.arange(written.shape[0]), written[:, number])[::every]
