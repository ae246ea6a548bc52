# SPDX-License-Identifier: Apache-2.0
"""Power spectra and groups of plait-cosmology, read and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plait.plots.group_shapes import plot_group_shapes
from plait.plots.power_spectra import plot_groups, plot_power_spectra
from plait.readers.groups import read_groups
from plait.readers.power_spectra import read_power_spectra

_HEAD = "# power spectra of plait-cosmology; shot noise 1 Mpc^3 is not taken off\n# step ...\n"


def test_spectra_are_read_by_time_and_drawn_beside_linear_theory(tmp_path: Path) -> None:
    rows = [
        f"{step} {0.1 * (step + 1)} {k} {10 * k * (step + 1)} {10 * k} 6"
        for step in (0, 4, 9)
        for k in (1, 2)
    ]
    (tmp_path / "cosmology-power.txt").write_text(_HEAD + "\n".join(rows) + "\n")
    spectra = read_power_spectra(tmp_path)
    assert [one.redshift for one in spectra] == pytest.approx([9, 1, 0])
    assert spectra[1].power.tolist() == [50, 100]
    assert spectra[1].waves.tolist() == [6, 6]
    ratio = plot_power_spectra(spectra).axes[1].lines[-2].get_ydata()
    assert np.asarray(ratio).tolist() == [10, 10]


def test_what_is_cut_off_or_of_others_is_passed_over(tmp_path: Path) -> None:
    assert read_power_spectra(tmp_path) == []
    (tmp_path / "cosmology-power.txt").write_text(_HEAD + "0 0.1 1 10 10 6\n0 0.1 2 1")
    assert read_power_spectra(tmp_path) == []
    (tmp_path / "cosmology-power.txt").write_text(_HEAD)
    assert read_power_spectra(tmp_path) == []


def test_groups_are_read_by_time_and_counted_by_mass(tmp_path: Path) -> None:
    rows = "7 30 5 1 2 3 0 0 0 0.1 9\n9 20 2.5 1 2 3 0 0 0 0.1 9\n"
    for step, scale in ((8, 0.5), (12, 1)):
        head = f"# groups of plait-cosmology, scale factor {scale}: friends of friends\n# id ...\n"
        (tmp_path / f"cosmology-groups-{step:08}.txt").write_text(head + rows)
    (tmp_path / "cosmology-groups-00000000.txt").write_text("# groups, scale factor 0.02: ...\n")
    (tmp_path / "cosmology-groups-00000001.txt").write_text("")
    times = read_groups(tmp_path)
    assert [one.redshift for one in times] == [1, 0]
    assert times[0].shapes is None  # of a table of an earlier version
    line = plot_groups(times).axes[0].lines[1]
    assert np.asarray(line.get_xdata()).tolist() == [5e10, 2.5e10]
    assert np.asarray(line.get_ydata()).tolist() == [1, 2]


def test_shapes_are_read_and_drawn(tmp_path: Path) -> None:
    rows = [
        f"{i} 30 {9 - i} 1 2 3 0 0 0 0.1 9 {0.9 - i / 10} {0.5 - i / 10} 0 0 0 {0.4 - i / 10} {0.03 + i}"
        for i in range(3)
    ]
    head = "# groups of plait-cosmology, scale factor 1: friends of friends\n# id ...\n"
    (tmp_path / "cosmology-groups-00000003.txt").write_text(head + "\n".join(rows))
    (groups,) = read_groups(tmp_path)
    assert groups.shapes is not None
    assert groups.shapes.intermediate.tolist() == pytest.approx([0.9, 0.8, 0.7])
    assert groups.shapes.shortest.tolist() == pytest.approx([0.5, 0.4, 0.3])
    axes = plot_group_shapes(groups, groups.shapes).axes
    radii, spins = (np.asarray(axes[i].collections[0].get_offsets()) for i in (1, 2))
    assert radii == pytest.approx(np.array([[9e10, 0.4], [8e10, 0.3], [7e10, 0.2]]))
    assert spins[:, 1].tolist() == pytest.approx([0.03, 1.03, 2.03])
