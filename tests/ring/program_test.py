# SPDX-License-Identifier: Apache-2.0
"""plait-ring as its users run it: runs, restarts, bad input, a killed rank. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import h5py
import numpy as np
from program_case import MPIEXEC, PROGRAM, SECONDS_MAX, ProgramCase, run
from snapshots import assert_equal_particles, installed_readers


def bodies(file: pathlib.Path) -> np.ndarray:
    """Positions, in the order of ids."""
    with h5py.File(file) as snapshot:
        return snapshot["PartType1/Coordinates"][:][np.argsort(snapshot["PartType1/ParticleIDs"][:])]


def force_error(file: pathlib.Path) -> float:
    with h5py.File(file) as snapshot:
        return float(np.ravel(snapshot["RunState"].attrs["ForceError"])[0])


class Program(ProgramCase):
    def setUp(self) -> None:
        super().setUp()
        self.start = self.folder / "start.hdf5"
        done = run("init", "--n-azimuthal", 30, "--velocity-scatter", 1e-3, "-o", self.start, ranks=0)
        self.assertEqual(done.returncode, 0, done.stderr)

    def changed(self, change) -> pathlib.Path:
        """A copy of the first snapshot, with `change(file)` done to it."""
        copy = self.folder / "changed.hdf5"
        copy.write_bytes(self.start.read_bytes())
        with h5py.File(copy, "r+") as file:
            change(file)
        return copy

    def test_a_run_prints_the_table_and_leaves_snapshots(self) -> None:
        out = self.folder / "out"
        text = self.good("run", self.start, "--steps", 8, "--snapshot-every", 4, "--output", out)
        for row in ("Domain decomposition", "Exchange particles", "make LETs", "tree walk", "force kernel", "interact"):
            self.assertIn(row, text)
        self.assertEqual([file.name for file in sorted(out.iterdir())], [f"ring-{step:08}.hdf5" for step in (0, 4, 8)])
        self.assertNotIn("\r", text)  # no progress bar without a terminal

    def test_a_run_goes_on_from_its_snapshot_bit_for_bit(self) -> None:
        for ranks, workers in ((2, 1), (2, 2), (1, 2)):
            with self.subTest(ranks=ranks, workers=workers):
                self.check_that_a_run_goes_on_bit_for_bit(ranks, workers)

    def check_that_a_run_goes_on_bit_for_bit(self, ranks: int, workers: int) -> None:
        environment = {"PLAIT_WORKERS": str(workers)}
        whole, first, second = (self.folder / f"{name}-{ranks}-{workers}" for name in ("whole", "first", "second"))
        heavy = ("--softening", 1e-3, "--time-step", 0.01, "--decompose-every", 3)
        for file, steps, out in (
            (self.start, 20, whole),
            (self.start, 10, first),
            (first / "ring-00000010.hdf5", 10, second),
        ):
            done = run("run", file, "--steps", steps, "--output", out, *heavy, ranks=ranks, environment=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
        assert_equal_particles(self, whole / "ring-00000020.hdf5", second / "ring-00000020.hdf5", "PartType1")

    def test_a_run_goes_on_from_its_snapshot_as_the_unbroken_one(self) -> None:
        physics = ("--collision-radius", 2e-3)
        whole, first, second = (self.folder / name for name in ("whole", "first", "second"))
        self.good("run", self.start, "--steps", 20, "--output", whole, *physics)
        self.good("run", self.start, "--steps", 12, "--output", first, *physics)
        self.good("run", first / "ring-00000012.hdf5", "--steps", 8, "--output", second)
        unbroken = bodies(whole / "ring-00000020.hdf5")
        restarted = bodies(second / "ring-00000020.hdf5")
        self.assertLess(np.abs(unbroken - restarted).max(), 1e-13)
        with h5py.File(whole / "ring-00000020.hdf5") as a, h5py.File(second / "ring-00000020.hdf5") as b:
            for name in ("Step", "Time"):
                self.assertEqual(a["RunState"].attrs[name], b["RunState"].attrs[name])

    def test_a_run_goes_on_with_another_number_of_ranks(self) -> None:
        self.good("run", self.start, "--steps", 4, "--output", self.folder / "two")
        self.good("run", self.start, "--steps", 4, "--output", self.folder / "three", ranks=3)
        difference = bodies(self.folder / "two/ring-00000004.hdf5") - bodies(self.folder / "three/ring-00000004.hdf5")
        self.assertLess(np.abs(difference).max(), 1e-9)

    def test_a_wanted_error_of_forces_is_kept_in_snapshots_until_an_angle_is_given(self) -> None:
        out = self.folder / "out"
        self.good("run", self.start, "--steps", 1, "--force-error", 1e-3, "--output", out, ranks=2)
        self.assertEqual(force_error(out / "ring-00000001.hdf5"), 1e-3)
        self.good("run", out / "ring-00000001.hdf5", "--steps", 1, "--output", self.folder / "kept")
        self.assertEqual(force_error(self.folder / "kept/ring-00000002.hdf5"), 1e-3)
        self.good("run", out / "ring-00000001.hdf5", "--steps", 1, "--theta", 0.5, "--output", self.folder / "angle")
        self.assertEqual(force_error(self.folder / "angle/ring-00000002.hdf5"), 0)

    def test_a_snapshot_of_an_earlier_version_is_read(self) -> None:
        def without_force_error(file: h5py.File) -> None:
            del file["RunState"].attrs["ForceError"]

        self.good("run", self.changed(without_force_error), "--steps", 1, "--output", self.folder / "out")

    def test_the_text_format_there_and_back_keeps_every_bit(self) -> None:
        text, back = self.folder / "ring.txt", self.folder / "back.hdf5"
        self.good("convert", self.start, text, ranks=0)
        self.good("convert", text, back, ranks=0)
        self.assertTrue(np.array_equal(bodies(self.start), bodies(back)))
        self.good("run", text, "--steps", 2, "--output", self.folder / "out")

    def test_yt_and_pynbody_open_the_output(self) -> None:
        out = self.folder / "out"
        self.good("run", self.start, "--steps", 2, "--output", out)
        file = out / "ring-00000002.hdf5"
        with h5py.File(file) as snapshot:
            grams = snapshot["PartType1/Masses"][:].sum() * snapshot["Units"].attrs["Unit mass in cgs (U_M)"][0]
        for name, reader in installed_readers("yt", "pynbody"):
            if name == "yt":
                data = reader.load(str(file))
                # Boxes of SWIFT begin at 0, rings are about it.
                data.domain_left_edge = data.arr([-2.0] * 3, "code_length")
                data.domain_right_edge = data.arr([2.0] * 3, "code_length")
                found = float(data.all_data()["PartType1", "particle_mass"].sum().to("g"))
            else:
                found = float(reader.load(str(file)).dm["mass"].sum().in_units("g"))
            self.assertAlmostEqual(found / grams, 1, 6, name)

    def test_a_quiet_run_prints_nothing_but_writes_its_files(self) -> None:
        out = self.folder / "out"
        self.assertEqual(self.good("run", self.start, "--steps", 2, "--output", out, "--quiet"), "")
        self.assertTrue((out / "ring-00000002.hdf5").exists())

    def test_bad_snapshots_are_refused_with_a_sentence(self) -> None:
        out = ("--steps", 1, "--output", self.folder / "out")
        self.refused("nowhere.hdf5", "run", self.folder / "nowhere.hdf5", *out, ranks=2)
        cut = self.folder / "cut.hdf5"
        cut.write_bytes(self.start.read_bytes()[:5000])
        self.refused("cut.hdf5", "run", cut, *out)

        def without_velocities(file: h5py.File) -> None:
            del file["PartType1/Velocities"]

        def with_nan(file: h5py.File) -> None:
            file["PartType1/Coordinates"][7, 1] = np.nan

        def with_twins(file: h5py.File) -> None:
            file["PartType1/Coordinates"][500] = file["PartType1/Coordinates"][3]

        self.refused("Velocities", "run", self.changed(without_velocities), *out)
        self.refused("Coordinates", "run", self.changed(with_nan), *out)
        self.refused("same place", "run", self.changed(with_twins), *out, ranks=2)
        self.assertFalse(list((self.folder / "out").glob("*")), "nothing is written for a run that cannot be")

    def test_too_few_bodies_are_refused(self) -> None:
        one = "1 1e-9 1 0 0 0 1 0\n"
        two = one + "2 1e-9 -1 0 0 0 -1 0\n"
        for text, ranks in (("0\n0\n", 1), ("0\n1\n" + one, 1), ("0\n2\n" + two, 3)):
            file = self.folder / "few.txt"
            file.write_text(text)
            self.refused("too few", "run", file, "--steps", 1, "--output", self.folder / "out", ranks=ranks)

    def test_bad_options_are_refused_by_name(self) -> None:
        self.refused("--frobnicate", "run", self.start, "--frobnicate")
        self.refused("--theta", "run", self.start, "--theta", -1, "--output", self.folder / "out")
        self.refused("--force-error", "run", self.start, "--force-error", -1, "--output", self.folder / "out")
        self.refused("--theta", "run", self.start, "--force-error", 1e-3, "--theta", 0.5)
        self.refused("--order", "run", self.start, "--order", "octupole")
        done = run("run", self.start, "--output", self.folder / "o", ranks=2, environment={"PLAIT_WORKERS": "none"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("PLAIT_WORKERS", done.stderr)

    def test_output_that_cannot_be_written_is_refused_and_harms_nothing(self) -> None:
        self.refused("--output", "run", self.start, "--steps", 1, "--output", "/proc/nowhere", ranks=2)
        out = self.folder / "out"
        self.good("run", self.start, "--steps", 1, "--output", out)
        before = {file.name: file.read_bytes() for file in out.iterdir()}
        self.refused("--force", "run", self.start, "--steps", 2, "--output", out)
        self.assertEqual(before, {file.name: file.read_bytes() for file in out.iterdir()})

    def test_a_killed_rank_ends_the_job_within_seconds_and_leaves_a_trace(self) -> None:
        trace = self.folder / "trace"
        job = subprocess.Popen(
            [MPIEXEC, "2", PROGRAM, "run", self.start, "--steps", "100000000", "--output", self.folder / "out"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PLAIT_TRACE": str(trace)},
            text=True,
        )
        deadline = time.monotonic() + SECONDS_MAX
        while not list(trace.glob("rank-0001.plt")) or (trace / "rank-0001.plt").stat().st_size < 1 << 20:
            self.assertLess(time.monotonic(), deadline, "the run starts")
            self.assertIsNone(job.poll())
            time.sleep(0.05)
        ranks = subprocess.run(
            ["pgrep", "-f", f"^{PROGRAM} run {self.start}"], capture_output=True, text=True, check=True
        )
        os.kill(int(ranks.stdout.split()[-1]), signal.SIGKILL)
        _, errors = job.communicate(timeout=10)
        self.assertNotEqual(job.returncode, 0)
        self.assertTrue(errors.strip(), "a rank reports what happened")
        self.assertEqual(sorted(file.name for file in trace.glob("*.plt")), ["rank-0000.plt", "rank-0001.plt"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
