# SPDX-License-Identifier: Apache-2.0
"""Maps from openPMD files: where cells are, what is counted, and what is passed over."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from plait.plots.fields import plot_fields
from plait.readers.openpmd import first_and_last_fields


def _write(path: Path, step: int, planes: int | None = None) -> None:
    """4 x 3 cells of 0.5 x 2 from (-1, 10) on, E of 3 in x and 4 in y, particles in the first row."""
    shape = (3, 4) if planes is None else (planes, 3, 4)
    lead = [] if planes is None else [1.0]
    with h5py.File(path, "w") as file:
        file.attrs["openPMD"] = np.bytes_("1.1.0")
        file.attrs["meshesPath"] = np.bytes_("meshes/")
        file.attrs["particlesPath"] = np.bytes_("particles/")
        base = file.create_group(f"data/{step}")
        base.attrs["time"] = 0.25 * step
        field = base.create_group("meshes/E")
        field.attrs["gridSpacing"] = [*lead, 2.0, 0.5]
        field.attrs["gridGlobalOffset"] = [*(0.0 for _ in lead), 10.0, -1.0]
        for name, value in (("x", 3.0), ("y", 4.0), ("z", 0.0)):
            field[name] = np.full(shape, value)
        rho = base.create_dataset(
            "meshes/rho", data=np.arange(np.prod(shape), dtype=float).reshape(shape) - 5
        )
        rho.attrs.update(field.attrs)
        electrons = base.create_group("particles/electrons")
        electrons["position/x"] = -0.75 + 0.5 * np.arange(4)
        electrons["position/y"] = np.full(4, 11.0)
        electrons["weighting"] = np.full(4, 2.0)


def test_the_first_and_the_last_step_are_found_by_number(tmp_path: Path) -> None:
    for name, step in (("b", 9), ("c", 30), ("a", 100)):
        _write(tmp_path / f"{name}.h5", step)
    (tmp_path / "broken.h5").write_bytes(b"nothing of HDF5's")
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["data/9/x"] = 1
    maps = first_and_last_fields(tmp_path)
    assert [m.step for m in maps] == [9, 100]
    assert maps[0].time == 2.25


@pytest.mark.parametrize("planes", [None, 5])
def test_maps_have_the_cells_of_the_file(tmp_path: Path, planes: int | None) -> None:
    _write(tmp_path / "only.h5", 3, planes)
    (maps,) = first_and_last_fields(tmp_path)
    assert maps.extent == (-1.0, 1.0, 10.0, 16.0)
    assert maps.fields["E"].tolist() == np.full((3, 4), 5.0).tolist()
    middle = 0 if planes is None else planes // 2 * 12
    assert maps.fields["rho"].tolist() == (np.arange(12.0).reshape(3, 4) - 5 + middle).tolist()
    assert maps.density is not None
    assert maps.density.tolist() == [[2.0] * 4, [0.0] * 4, [0.0] * 4]
    assert maps.particles == 4


def test_a_picture_has_a_panel_for_the_density_and_each_field(tmp_path: Path) -> None:
    for step in (0, 1):
        _write(tmp_path / f"{step}.h5", step)
    drawn = plot_fields(first_and_last_fields(tmp_path))
    pictures = [axes for axes in drawn.axes if axes.images]
    assert len(pictures) == 2 * 3
    assert "step 1, t = 0.25\n4 particles" in pictures[3].get_title(loc="left")
