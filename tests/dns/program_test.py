# SPDX-License-Identifier: Apache-2.0
"""plait-dns as its users run it: known flows, time steps, bad input. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import h5py
from program_case import MPIEXEC, PROGRAM, SECONDS_MAX, ProgramCase, run

QUICK = ("--effort", "estimate")


def ranks_of(launcher: int) -> list[int]:
    """The processes of the program that a launcher has started."""
    found = []
    for child in pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/exe").resolve() == pathlib.Path(PROGRAM).resolve():
            found.append(int(child))
        found += ranks_of(int(child))
    return found


class Program(ProgramCase):
    def rows(self, text: str) -> list[list[float]]:
        """Of the table: step, time, energy, dissipation, enstrophy, R_lambda, k_max eta, skewness, CFL."""
        return [[*map(float, line.split())] for line in text.splitlines() if re.match(r"\s+\d+ .*\d$", line)]

    def test_taylor_green_is_as_others_have_it(self) -> None:
        case = ("--problem", "taylor-green", "--reynolds", 1600, "--points", 32, "--time-step", 0.01, "--time-end", 0.1)
        for ranks, more in ((1, ()), (3, ("--grid", "3x1")), (4, ("--grid", "2x2", "--variant", "PLB"))):
            with self.subTest(ranks=ranks):
                folder = self.folder / str(ranks)
                self.good(*case, *QUICK, *more, "--output", folder, ranks=ranks)
                with h5py.File(folder / "diagnostics.h5") as file:
                    self.assertAlmostEqual(file["time"][-1], 0.1, places=14)
                    self.assertAlmostEqual(file["energy"][-1], 0.12495311751674, places=12)
                    self.assertAlmostEqual(file["enstrophy"][-1], 0.37524993111, places=10)
                    self.assertAlmostEqual(file["spectrum"][-1].sum(), file["energy"][-1], places=13)

    def test_known_flows_decay_as_they_must(self) -> None:
        for problem, rate in (("taylor-green-2d", 4), ("abc", 2)):
            with self.subTest(problem=problem):
                options = ("--problem", problem, "--points", 8, "--viscosity", 0.1, "--time-end", 1)
                first, last = self.rows(self.good(*options, *QUICK, "--diagnose-every", 0))
                self.assertEqual(last[1], 1)
                self.assertAlmostEqual(last[2] / first[2], math.exp(-0.1 * rate), places=7)

    def test_a_step_that_is_too_long_is_refused_told_or_shortened(self) -> None:
        options = ("--problem", "taylor-green", "--points", 16, "--time-step", 1, "--steps", 3, *QUICK)
        self.refused("has the Courant number 2.55, above 1.35", *options)
        told = run(*options, "--on-cfl", "warn", ranks=2).stdout
        self.assertIn("it goes on", told)
        shorter = self.good(*options, "--on-cfl", "adapt")
        self.assertIn("is taken", shorter)
        self.assertLess(self.rows(shorter)[-1][-1], 1.35)
        adaptive = self.rows(self.good(*options, "--cfl", 0.5))
        self.assertAlmostEqual(adaptive[-1][-1], 0.5, places=2)

    def test_a_run_that_blows_up_stops_and_keeps_its_checkpoint(self) -> None:
        left = self.folder / "left"
        options = ("--problem", "taylor-green", "--points", 16, "--viscosity", 0, "--time-step", 2, "--on-cfl", "warn")
        keep = ("--checkpoint-every", 1, "--checkpoint-folder", left)
        done = run(*options, "--steps", 300, *QUICK, *keep, ranks=2)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"step \d+ .*(infinite|no number|finite)")
        self.assertIn("checkpoints so far are kept", done.stderr)
        self.assertGreaterEqual(len(list(left.glob("checkpoint-*.h5"))), 1)

    def test_sizes_that_are_odd_or_leave_ranks_without_work(self) -> None:
        for points, ranks in (((1,), 2), ((7, 5, 3), 2), ((6, 4, 2), 7), ((13,), 3)):
            with self.subTest(points=points):
                text = self.good(
                    "--points", *points, "--problem", "isotropic", "--peak", 1, "--steps", 2, *QUICK, ranks=ranks
                )
                self.assertTrue(all(math.isfinite(value) for row in self.rows(text) for value in row), text)

    def test_memory_is_compared_before_anything_is_taken(self) -> None:
        self.assertRegex(self.good("--points", 8, "--steps", 1, *QUICK), r"MiB of memory needed by 2 ranks on \S+, of")
        self.refused("too little memory", "--points", 40000, *QUICK)
        self.refused("of 10.2 MiB allowed", "--points", 64, "--memory-limit", 0.01, ranks=2)

    def test_what_cannot_be_is_refused_by_name(self) -> None:
        for sentence, command in (
            ("--scheme", ("--scheme", "rk3")),
            ("--dealias", ("--dealias", "nothing")),
            ("--forcing", ("--forcing", "strong")),
            ("--on-cfl", ("--on-cfl", "pray")),
            ("is stable up to 1.350 only", ("--cfl", 5)),
            ("--points 0", ("--points", 0)),
            ("one number, or three", ("--points", 8, 8)),
            ("--grid 2y1", ("--grid", "2y1")),
            ("must be the number of ranks", ("--grid", "3x2", "--points", 8)),
            ("choose one of PLB", ("--variant", "nothing", "--points", 8)),
            ("--reynolds and --viscosity", ("--reynolds", 3, "--viscosity", 1)),
            ("--scalars", ("--scalars", 1, -1)),
            ("--time-step", ("--time-step", "nan")),
            ("--field", ("--problem", "file")),
            ("--output", ("--output", "/proc/nowhere", "--points", 8)),
            ("--checkpoint-folder", ("--checkpoint-every", 1, "--checkpoint-folder", "/proc/no", "--points", 8)),
            ("--frobnicate", ("--frobnicate",)),
        ):
            with self.subTest(command=command):
                self.refused(sentence, *command)
        self.refused("choose one of taylor-green", "--problem", "nowhere", ranks=2)

    def test_a_rank_killed_leaves_what_was_measured_and_a_checkpoint(self) -> None:
        left, output = self.folder / "left", self.folder / "output"
        flow = ("--problem", "taylor-green", "--points", 16, "--time-step", 0.01, *QUICK, "--output", output)
        keep = ("--checkpoint-every", 5, "--checkpoint-folder", left)
        endless = ("--steps", 10**9, "--diagnose-every", 1)
        with subprocess.Popen(
            [MPIEXEC, "3", PROGRAM, *map(str, (*flow, *keep, *endless))],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as started:
            try:
                for line in started.stdout:
                    if re.match(r"\s*100 ", line):  # more rows than there was room for at first
                        os.kill(ranks_of(started.pid)[1], signal.SIGKILL)
                        break
                started.communicate(timeout=SECONDS_MAX)
            finally:
                started.kill()
        self.assertNotEqual(started.returncode, 0)
        with h5py.File(output / "diagnostics.h5") as file:
            times = file["time"][:]
            times = times[times == times]
            self.assertGreaterEqual(len(times), 100)
            self.assertTrue((abs(times[1:] - times[:-1] - 0.01) < 1e-12).all())
        step = max(int(file.stem.rpartition("-")[2]) for file in left.glob("checkpoint-*.h5"))
        text = self.good(*flow, *keep, "--steps", step + 3, "--diagnose-every", 1, "--restart", ranks=2)
        self.assertIn(f"restarted from step {step} ", text)
        with h5py.File(output / "diagnostics.h5") as file:
            self.assertEqual(file["step"][:].tolist(), list(range(step + 4)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
