# SPDX-License-Identifier: Apache-2.0
"""Files of plait-dns: fields that others open, fields to begin with, checkpoints. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import pathlib
import sys
import unittest
from xml.etree import ElementTree

import h5py
import numpy as np
from program_case import ProgramCase, run

QUICK = ("--effort", "estimate")
POINTS = (12, 10, 8)


def taylor_green(points: tuple[int, int, int] = POINTS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At points with axes x, y, z."""
    x, y, z = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in points), indexing="ij")
    return np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * x


class Files(ProgramCase):
    def write_field(self, name: str, dtype: str = "f8", axes: str = "xyz", **changes: np.ndarray) -> pathlib.Path:
        path = self.folder / name
        with h5py.File(path, "w") as file:
            file.attrs["axes"] = axes
            for axis, values in zip("xyz", taylor_green(), strict=True):
                turned = values if axes == "xyz" else values.T
                file[f"velocity/{axis}"] = changes.get(axis, turned).astype(dtype)
        return path

    def last(self, folder: pathlib.Path, name: str = "energy") -> float:
        with h5py.File(folder / "diagnostics.h5") as file:
            return float(file[name][-1])

    def test_fields_and_their_document_are_what_was_computed(self) -> None:
        for precision, dtype, ranks in (("single", "f4", 3), ("double", "f8", 4)):
            with self.subTest(precision=precision):
                folder = self.folder / precision
                more = (
                    "--steps",
                    4,
                    "--output",
                    folder,
                    "--output-every",
                    2,
                    "--precision",
                    precision,
                    "--scalars",
                    0.7,
                )
                self.good("--points", *POINTS, *more, *QUICK, ranks=ranks)
                document = ElementTree.parse(folder / "dns.xdmf")
                times = [float(time.get("Value")) for time in document.iter("Time")]
                self.assertEqual(len(times), 3)
                self.assertEqual(sorted(times), times)
                for item in document.iter("DataItem"):
                    if item.get("Format") != "HDF":
                        continue
                    name, _, path = item.text.partition(":/")
                    with h5py.File(folder / name) as file:
                        self.assertEqual(file[path].shape, tuple(map(int, item.get("Dimensions").split())))
                        self.assertEqual(file[path].dtype, np.dtype(dtype))
                        self.assertEqual(file[path].dtype.itemsize, int(item.get("Precision")))
                with h5py.File(folder / "dns-00000000.h5") as file:
                    self.assertEqual(file.attrs["points"].tolist(), list(POINTS))
                    for axis, values in zip("xyz", taylor_green(), strict=True):
                        np.testing.assert_allclose(file[f"velocity/{axis}"][:], values.T, atol=1e-6)
                    magnitude = file["vorticity_magnitude"][:]
                    self.assertAlmostEqual((magnitude.astype(float) ** 2).mean() / 2, 0.375, places=6)
                    np.testing.assert_allclose(
                        file["scalars/scalar1"][0, 0], np.cos(2 * np.pi * np.arange(12) / 12), atol=1e-6
                    )
                names = {attribute.get("Name") for attribute in document.iter("Attribute")}
                self.assertEqual(names, {"velocity", "vorticity_magnitude", "scalar1"})

    def test_a_field_is_read_in_either_order_and_precision(self) -> None:
        for name, dtype, axes in (("a.h5", "f8", "xyz"), ("b.h5", "f8", "zyx"), ("c.h5", "f4", "zyx")):
            with self.subTest(name=name):
                path = self.write_field(name, dtype, axes)
                folder = self.folder / f"out-{name}"
                text = self.good(
                    "--problem", "file", "--field", path, "--steps", 1, *QUICK, "--output", folder, ranks=3
                )
                self.assertIn("single precision" if dtype == "f4" else "double precision", text)
                with h5py.File(folder / "dns-00000000.h5") as file:
                    np.testing.assert_allclose(file["velocity/x"][:], taylor_green()[0].T, atol=1e-6)

    def test_a_field_of_another_size_is_taken_between_waves_when_asked_to(self) -> None:
        path = self.write_field("field.h5")
        case = ("--problem", "file", "--field", path, "--points", 16, 14, 18, "--steps", 1, *QUICK)
        self.refused("has 12 x 10 x 8 points, this run 16 x 14 x 18", *case, ranks=2)
        folder = self.folder / "out"
        self.good(*case, "--resample", "--output", folder, ranks=3)
        with h5py.File(folder / "dns-00000000.h5") as file:
            for axis, values in zip("xyz", taylor_green((16, 14, 18)), strict=True):
                np.testing.assert_allclose(file[f"velocity/{axis}"][:], values.T, atol=1e-6)

    def test_files_that_are_no_fields_are_refused(self) -> None:
        good = self.write_field("good.h5")
        bad = taylor_green()[1]
        bad[3, 4, 5] = np.nan
        (self.folder / "text.h5").write_text("nothing of HDF5's")
        (self.folder / "cut.h5").write_bytes(good.read_bytes()[:-1000])
        missing = self.write_field("missing.h5")
        with h5py.File(missing, "r+") as file:
            del file["velocity/z"]
        self.write_field("nan.h5", y=bad)
        self.write_field("whole.h5", "i8")
        self.write_field("uneven.h5", z=np.zeros((12, 10, 4)))
        self.write_field("order.h5", axes="yxz")
        for name, sentence in (
            ("absent.h5", "there is no such file"),
            ("text.h5", "not an HDF5 file"),
            ("cut.h5", "truncated"),
            ("missing.h5", "has no data set velocity/z"),
            ("nan.h5", "velocity/y is not a finite number at 1 point, as at x, y, z number 3, 4, 5"),
            ("whole.h5", "of a type that is neither single nor double precision"),
            ("uneven.h5", "velocity/z has 12 x 10 x 4 points, but velocity/x has 12 x 10 x 8"),
            ("order.h5", "its attribute axes is 'yxz'"),
        ):
            with self.subTest(name=name):
                self.refused(sentence, "--problem", "file", "--field", self.folder / name, *QUICK)

    def test_a_run_goes_on_on_any_ranks_as_if_it_had_not_stopped(self) -> None:
        for number, flow in enumerate(
            (
                ("--problem", "isotropic", "--points", 16, "--scalars", 0.7, 2, "--forcing", "stochastic"),
                ("--problem", "isotropic", "--points", 12, 10, 9, "--forcing", "hold-energy", "--scheme", "rk2"),
                ("--problem", "taylor-green", "--points", 12, "--dealias", "phase-shift-random", "--variant", "PLN"),
            )
        ):
            flow = (*flow, *QUICK, "--steps", 7)
            left, whole = self.folder / f"left-{number}", self.folder / f"whole-{number}"
            self.good(*flow, "--checkpoint-every", 4, "--checkpoint-folder", left, "--output", whole, ranks=3)
            for ranks, grid in ((1, "1x1"), (4, "2x2"), (6, "3x2")):
                with self.subTest(flow=flow, ranks=ranks):
                    again = self.folder / f"again-{number}-{ranks}"
                    more = ("--restart", "--checkpoint-folder", left, "--output", again, "--grid", grid)
                    text = self.good(*flow, *more, ranks=ranks)
                    self.assertIn("restarted from step 4 ", text)
                    for name in ("energy", "enstrophy", "time"):
                        self.assertAlmostEqual(self.last(again, name) / self.last(whole, name), 1, delta=1e-13)

    def test_checkpoints_of_another_run_are_refused_and_two_are_kept(self) -> None:
        left = self.folder / "left"
        keep = ("--checkpoint-every", 1, "--checkpoint-folder", left)
        flow = ("--points", 8, *QUICK, *keep, "--steps")
        self.assertIn("no checkpoint in ", self.good(*flow, 4, "--restart"))
        self.assertEqual(len(list(left.glob("checkpoint-*.h5"))), 2)
        self.refused("files of another run", *flow, 4, ranks=2)
        self.refused(
            "its points is '8 x 8 x 8', not '9 x 9 x 9'", "--points", 9, *QUICK, *keep, "--steps", 4, "--restart"
        )
        self.refused("its viscosity is '0.01', not '0.5'", *flow, 4, "--restart", "--viscosity", 0.5)
        self.refused("after the end of this run", *flow, 2, "--restart")
        newest = left / "checkpoint-0000000004.h5"
        newest.write_bytes(newest.read_bytes()[:-300])
        done = run(*flow, 4, "--restart", ranks=2)
        self.assertIn("cut short", done.stderr)
        self.assertIn("restarted from step 3 ", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
