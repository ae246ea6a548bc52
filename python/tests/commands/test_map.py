# SPDX-License-Identifier: Apache-2.0
"""Maps of snapshots: what is drawn, and what is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from matplotlib.image import imread

from plait._errors import PlaitError
from plait.commands.map import draw_map
from plait.plots.density_map import project
from plait.plots.energies import plot_energies
from plait.readers.profiles import read_profile
from plait.readers.snapshots import first_and_last, read_snapshot
from plait.readers.statistics import read_statistics

COUNT = 500


def write_snapshot(path: Path, *, kind: int = 0, time: float = 0.5, ranks: bool = True) -> Path:
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        file.create_group("Header").attrs.update({"Time": [time], "BoxSize": [2.0, 1.0, 1.0]})
        group = file.create_group(f"PartType{kind}")
        group["Coordinates"] = random.uniform(0, [2, 1, 1], (COUNT, 3))
        group["Masses"] = np.full(COUNT, 0.25)
        if kind == 0:
            group["SmoothingLengths"] = random.choice([0.001, 0.05, 0.4], COUNT)
            group["InternalEnergies"] = np.full(COUNT, 3.0)
        if ranks:
            shares = np.zeros((2, 7), dtype=np.uint64)
            shares[:, kind] = (100, COUNT - 100)
            file["Ranks/Particles"] = shares
    return path


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_map_keeps_the_mass_however_far_particles_reach(tmp_path: Path, axis: int) -> None:
    snapshot = read_snapshot(write_snapshot(tmp_path / "a.hdf5"))
    assert snapshot.is_periodic
    density = project(snapshot, snapshot.masses, axis, 128)
    area = np.prod(np.delete(snapshot.high - snapshot.low, axis))
    assert density.mean() * area == pytest.approx(0.25 * COUNT, rel=1e-9)


@pytest.mark.parametrize("quantity", ["density", "energy", "ranks"])
def test_pictures_are_drawn_and_not_empty(tmp_path: Path, quantity: str) -> None:
    files = [write_snapshot(tmp_path / f"{name}.hdf5") for name in ("a", "b")]
    draw_map(files, tmp_path / "new/map.png", quantity, 2, 64)  # type: ignore[arg-type]
    pixels = imread(tmp_path / "new/map.png")
    assert pixels.shape[0] > 200
    assert pixels.std() > 0.02


def test_what_the_file_does_not_have_is_named(tmp_path: Path) -> None:
    dark = write_snapshot(tmp_path / "dark.hdf5", kind=1, ranks=False)
    draw_map([dark], tmp_path / "dark.png", "density", 2, 64)
    with pytest.raises(PlaitError, match=r"dark\.hdf5 has no InternalEnergies"):
        draw_map([dark], tmp_path / "dark.png", "energy", 2, 64)
    with pytest.raises(PlaitError, match="which rank"):
        draw_map([dark], tmp_path / "dark.png", "ranks", 2, 64)
    with pytest.raises(PlaitError, match="PNG"):
        draw_map([dark], tmp_path / "dark.pdf", "density", 2, 64)


def test_files_that_are_no_snapshots_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaitError, match="does not exist"):
        read_snapshot(tmp_path / "none.hdf5")
    (tmp_path / "text.hdf5").write_text("no HDF5")
    with pytest.raises(PlaitError, match=r"text\.hdf5 cannot be read"):
        read_snapshot(tmp_path / "text.hdf5")
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file.create_group("Header")
    with pytest.raises(PlaitError, match="no particles"):
        read_snapshot(tmp_path / "empty.hdf5")


def test_a_folder_gives_its_first_and_its_last_snapshot(tmp_path: Path) -> None:
    for time in (0.2, 0.1, 0.3):
        write_snapshot(tmp_path / f"at-{time}.hdf5", time=time)
    (tmp_path / "broken.hdf5").write_text("no HDF5")
    assert [one.time for one in first_and_last(tmp_path)] == [0.1, 0.3]


def test_energies_are_read_and_what_is_cut_off_is_passed_over(tmp_path: Path) -> None:
    head = "#   time      mass   kinetic   thermal   potential    energy   momentum x\n"
    (tmp_path / "statistics.txt").write_text(head + "0 1 2 3 -1 4 0\n1 1 2.5 2.5 -1 4.01 0\n")
    found = read_statistics(tmp_path)
    assert found is not None
    assert found["momentum x"].tolist() == [0, 0]
    assert plot_energies(found).axes[1].lines[0].get_ydata()[-1] == pytest.approx(1 / 4.01)
    (tmp_path / "statistics.txt").write_text(head + "0 1 2 3 -1 4 0\n1 1 2.5")
    assert read_statistics(tmp_path) is None


def test_a_profile_is_read_and_one_that_is_cut_off_is_passed_over(tmp_path: Path) -> None:
    head = "# plait-sph, problem sod, 10 particles, time 0.2\n"
    names = (
        "place,particles,density,density_scatter,speed,pressure,exact_density,exact_speed,exact_pressure"
    )
    (tmp_path / "profile.csv").write_text(head + names + "\n0.1,5,1,0.1,0,1,1,0,1\n0.2,5,1,0.1,0,1,,,\n")
    found = read_profile(tmp_path)
    assert found is not None
    assert (found.problem, found.particles, found.time) == ("sod", 10, 0.2)
    assert np.isnan(found.columns["exact_density"][1])
    draw_map([tmp_path / "profile.csv"], tmp_path / "map.png", "density", 2, 64)
    assert imread(tmp_path / "map.png").std() > 0.02
    (tmp_path / "profile.csv").write_text(head + names + "\n0.1,5,1")
    assert read_profile(tmp_path) is None
    with pytest.raises(PlaitError, match=r"profile\.csv"):
        draw_map([tmp_path / "profile.csv"], tmp_path / "map.png", "density", 2, 64)
