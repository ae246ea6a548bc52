# SPDX-License-Identifier: Apache-2.0
"""Files of plait-dns: what is read, what is passed over, and what is drawn of it."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from plait.plots.turbulence import plot_history, plot_spectra, plot_vorticity
from plait.readers.turbulence import first_and_last_slices, read_measurements


def _write_measurements(path: Path, rows: int, room: int) -> None:
    """Energy that decays as exp(-time), a spectrum k^(-5/3) with it; `room` rows not written yet."""
    time = np.arange(rows) * 0.5
    k = np.arange(1, 12)
    spectrum = np.zeros((rows, 12))
    spectrum[:, 1:] = np.exp(-time)[:, None] * k ** (-5 / 3)

    def padded(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.full((room, *values.shape[1:]), np.nan)])

    with h5py.File(path, "w") as file:
        file.attrs["program"] = np.bytes_("plait-dns")
        file.attrs["viscosity"] = 0.01
        file.attrs["k_max"] = 10.0
        file.attrs["points"] = [32, 16, 8]
        for name in ("energy", "dissipation", "k_max_eta", "taylor_reynolds"):
            file[name] = padded(np.exp(-time))
        file["time"] = padded(time)
        file["spectrum"] = padded(spectrum)
        file["transfer"] = padded(0 * spectrum)
        file["scalars/scalar1/spectrum"] = padded(spectrum)


def _write_fields(path: Path, step: int) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["step"] = step
        file.attrs["time"] = 0.1 * step
        file["vorticity_magnitude"] = np.arange(8 * 4 * 6, dtype="f4").reshape(8, 4, 6)


def test_rows_that_are_not_written_yet_are_left_out(tmp_path: Path) -> None:
    _write_measurements(tmp_path / "diagnostics.h5", rows=5, room=3)
    measured = read_measurements(tmp_path)
    assert measured is not None
    assert measured.columns["time"].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert measured.spectrum.shape == (5, 12)
    assert measured.points == (32, 16, 8)
    assert measured.scalars["scalar1"].shape == (5, 12)


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "diagnostics.h5").write_bytes(b"nothing of HDF5's")
    (tmp_path / "dns-00000001.h5").write_bytes(b"nor this")
    assert read_measurements(tmp_path) is None
    assert first_and_last_slices(tmp_path) == []


def test_the_middle_plane_of_the_first_and_the_last_file_is_read(tmp_path: Path) -> None:
    for step in (5, 0, 10):
        _write_fields(tmp_path / f"dns-{step:08}.h5", step)
    slices = first_and_last_slices(tmp_path)
    assert [one.step for one in slices] == [0, 10]
    assert slices[1].time == 1.0
    assert slices[0].values.tolist() == (np.arange(24.0).reshape(4, 6) + 4 * 24).tolist()
    assert len([axes for axes in plot_vorticity(slices).axes if axes.images]) == 2


def test_pictures_of_one_row_and_of_many(tmp_path: Path) -> None:
    for rows in (1, 30):
        _write_measurements(tmp_path / "diagnostics.h5", rows, room=1)
        measured = read_measurements(tmp_path)
        assert measured is not None
        spectra = plot_spectra(measured)
        curves = [line for line in spectra.axes[0].lines if len(line.get_xdata()) == 11]
        assert len(curves) == (1 if rows == 1 else 7)
        history = plot_history(measured)
        assert np.asarray(history.axes[0].lines[0].get_ydata())[-1] == np.exp(-0.5 * (rows - 1))
