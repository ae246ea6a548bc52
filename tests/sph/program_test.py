# SPDX-License-Identifier: Apache-2.0
"""plait-sph as its users run it: known answers, restarts, files of others, bad input. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import math
import pathlib
import re
import sys
import unittest

import h5py
import numpy as np
from program_case import ProgramCase
from program_case import run as launch
from snapshots import assert_equal_particles, installed_readers

#: Of each problem the size, on how many ranks, and the largest errors; apps/sph/README.md has larger runs.
ANSWERS = {
    "sod": (36, 2, {"energy": 1e-3, "L1 error of the density": 0.03, "L1 error of the speed": 0.04}),
    "sedov": (36, 2, {"energy": 0.01, "radius of the shock": 0.025}),
    "gresho": (24, 2, {"energy": 1e-3, "L1 error of the speed around the axis": 0.08}),
    "noh": (24, 2, {"energy": 1e-3, "density behind the shock": 0.2, "radius of the shock": 0.06}),
    # So few particles let the wave grow, but far too slowly: a wave that did not grow would be 0.93 off.
    "kelvin-helmholtz": (24, 2, {"energy": 1e-3, "amplitude of the wave": 0.91}),
    "square": (12, 2, {"energy": 1e-3, "L1 error of the pressure": 0.05}),
    "evrard": (
        12,
        3,
        {
            "energy": 0.02,
            "momentum": 1e-3,
            "energy of motion, by the potential's": 0.06,
            "thermal energy, by the potential's": 0.08,
        },
    ),
    # Where two thousand stars are is a matter of chance within a few percent.
    "plummer": (2, 2, {"energy": 0.01, **{f"radius that holds {part} % of the mass": 0.08 for part in (10, 50, 90)}}),
    "kepler-ring": (0, 4, {"energy": 1e-6, "distance from where each body should be": 1e-3}),
    "two-bodies": (0, 1, {"energy": 1e-6, "distance from where the bodies should be": 1e-3}),
}


def errors(text: str) -> dict[str, float]:
    """The errors that a run reports at its end."""
    lines = re.findall(r"^  (\S.*?)\s{2,}(\S+)  (?:within|ABOVE) ", text, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def gas(file: pathlib.Path, name: str) -> np.ndarray:
    """A data set, in the order of ids."""
    with h5py.File(file) as snapshot:
        return snapshot[f"PartType0/{name}"][:][np.argsort(snapshot["PartType0/ParticleIDs"][:])]


def steps_until(file: pathlib.Path) -> int:
    with h5py.File(file) as snapshot:
        return int(np.ravel(snapshot["RunState"].attrs["Step"])[0])


class Program(ProgramCase):
    def blast(self) -> pathlib.Path:
        file = self.folder / "blast.hdf5"
        self.good("init", "--problem", "sedov", "--resolution", 12, "-o", file, ranks=1)
        return file

    def changed(self, file: pathlib.Path, change) -> pathlib.Path:
        copy = self.folder / "changed.hdf5"
        copy.write_bytes(file.read_bytes())
        with h5py.File(copy, "r+") as opened:
            change(opened)
        return copy

    def test_known_answers_are_found(self) -> None:
        for problem, (resolution, ranks, limits) in ANSWERS.items():
            with self.subTest(problem):
                size = ("--resolution", resolution) if resolution else ()
                out = self.folder / problem
                found = errors(self.good("run", "--problem", problem, *size, "--output", out, ranks=ranks))
                for name, limit in limits.items():
                    self.assertLess(found[name], limit, f"{problem}: {name}")
                self.assertTrue((out / "statistics.txt").exists())

    def test_a_wind_takes_the_cloud_away(self) -> None:
        part = {}
        for until in (0.5, 4.5):  # a growth time of the cloud's waves is 3.7
            run = ("run", "--problem", "blob", "--resolution", 24, "--until", until)
            found = errors(self.good(*run, "--output", self.folder / f"{until}", ranks=2))
            part[until] = found["share of the cloud that is left"]
        self.assertGreater(part[0.5], 0.7)
        self.assertLess(part[4.5], 0.3)

    def test_individual_steps_find_what_equal_steps_find_with_less_work(self) -> None:
        text = {}
        for steps in ("individual", "equal"):
            run = ("run", "--problem", "sedov", "--resolution", 12, "--time-steps", steps)
            text[steps] = self.good(*run, "--output", self.folder / steps)
        part = float(re.search(r"([\d.]+) % of what equal steps", text["individual"])[1])
        self.assertLess(part, 30)
        density = [gas(self.folder / steps / "sph-0001.hdf5", "Densities") for steps in text]
        self.assertLess(np.abs(density[0] - density[1]).mean(), 0.02 * density[1].mean())

    def test_any_number_of_ranks_finds_the_same(self) -> None:
        found = []
        for ranks in (1, 2, 3, 7):
            out = self.folder / str(ranks)
            self.good("run", "--problem", "sedov", "--resolution", 12, "--steps", 12, "--output", out, ranks=ranks)
            found.append(gas(out / "sph-0001.hdf5", "Densities"))
        for densities in found[1:]:
            self.assertLess(np.abs(densities / found[0] - 1).max(), 1e-3)

    def test_a_run_goes_on_with_another_number_of_ranks(self) -> None:
        run = ("run", "--problem", "sedov", "--resolution", 12)
        self.good(*run, "--output", self.folder / "whole", ranks=1)
        self.good(*run, "--steps", 10, "--output", self.folder / "begun", ranks=2)
        rest = ("run", self.folder / "begun/sph-0001.hdf5", "--output", self.folder / "rest")
        text = self.good(*rest, ranks=3)
        self.assertLess(errors(text)["energy"], 0.01)
        end = [gas(self.folder / name / "sph-0001.hdf5", "Densities") for name in ("whole", "rest")]
        self.assertLess(np.abs(end[0] - end[1]).mean(), 0.02 * end[0].mean())

    def test_a_run_goes_on_from_its_snapshot_bit_for_bit(self) -> None:
        for problem, until, steps in (
            ("sedov", 0.05, "individual"),
            ("sedov", 0.05, "equal"),
            ("evrard", 0.6, "individual"),  # with gravity
            ("plummer", 0.6, "individual"),  # stars alone
        ):
            for ranks, workers in ((2, 1), (2, 2), (1, 2)):
                with self.subTest(problem=problem, steps=steps, ranks=ranks, workers=workers):
                    size = 2 if problem == "plummer" else 12
                    options = ("--resolution", size, "--until", until, "--time-steps", steps, "--snapshots", 4)
                    self.check_that_a_run_goes_on_bit_for_bit((problem, *options), ranks, workers)

    def check_that_a_run_goes_on_bit_for_bit(self, problem: tuple, ranks: int, workers: int) -> None:
        whole, rest = (
            self.folder / f"{name}-{problem[0]}-{problem[6]}-{ranks}-{workers}" for name in ("whole", "rest")
        )
        middle = whole / "sph-0002.hdf5"
        for options, output in (("--problem", *problem), whole), ((middle, *problem[3:]), rest):
            environment = {"PLAIT_WORKERS": str(workers)}
            done = launch("run", *options, "--output", output, ranks=ranks, environment=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
        count = steps_until(whole / "sph-0004.hdf5")
        self.assertGreater(steps_until(middle), 8)
        self.assertLess(steps_until(middle), count - 4)
        for before, after in ((2, 0), (3, 1), (4, 2)):
            files = (whole / f"sph-000{before}.hdf5", rest / f"sph-000{after}.hdf5")
            assert_equal_particles(self, *files, "PartType1" if problem[0] == "plummer" else "PartType0")

    def test_small_snapshots_have_results_only_and_go_on(self) -> None:
        self.good(
            "run", "--problem", "sedov", "--resolution", 12, "--steps", 4, "--small-snapshots", "-o", self.folder / "a"
        )
        self.assertRaises(KeyError, gas, self.folder / "a/sph-0001.hdf5", "VelocitiesAtKick")
        self.good("run", self.folder / "a/sph-0001.hdf5", "--steps", 4, "-o", self.folder / "b")
        self.assertTrue(np.isfinite(gas(self.folder / "b/sph-0001.hdf5", "VelocitiesAtKick")).all())

    def test_files_of_other_units_are_converted(self) -> None:
        file = self.blast()
        length, mass, time = 100.0, 1000.0, 10.0

        def convert(opened: h5py.File) -> None:
            """To units that are smaller by these factors."""
            units = opened["Units"].attrs
            for name, factor in (
                ("length in cgs (U_L)", length),
                ("mass in cgs (U_M)", mass),
                ("time in cgs (U_t)", time),
            ):
                units[f"Unit {name}"] = units[f"Unit {name}"] / factor
            speed = length / time
            columns = opened["PartType0"]
            for name, factor in (
                ("Coordinates", length),
                ("SmoothingLength", length),
                ("Velocities", speed),
                ("Masses", mass),
                ("InternalEnergy", speed**2),
            ):
                columns[name][...] = columns[name][...] * factor
            for name in columns:
                columns[name].attrs.clear()  # conversions of the units before
            opened["Header"].attrs["BoxSize"] = opened["Header"].attrs["BoxSize"] * length

        for name, begin in (("own", file), ("other", self.changed(file, convert))):
            self.good("run", begin, "--steps", 1, "--until", 0.01, "--output", self.folder / name)
        for name in ("Densities", "InternalEnergies", "SmoothingLengths", "Masses"):
            pair = [gas(self.folder / run / "sph-0000.hdf5", name) for run in ("own", "other")]
            self.assertLess(np.abs(pair[0] / pair[1] - 1).max(), 1e-4, name)

    def test_swiftsimio_yt_and_pynbody_open_the_output(self) -> None:
        self.good("run", "--problem", "sedov", "--resolution", 12, "--steps", 2, "--output", self.folder / "out")
        file = self.folder / "out/sph-0001.hdf5"
        total = float(gas(file, "Masses").sum())
        for name, reader in installed_readers("swiftsimio", "yt", "pynbody"):
            if name == "yt":
                data = reader.load(str(file)).all_data()
                found = float(data["PartType0", "particle_mass"].sum().to("code_mass"))
                self.assertGreater(float(data["PartType0", "density"].min()), 0)
            elif name == "pynbody":
                data = reader.load(str(file)).gas
                found = float(data["mass"].sum())
                self.assertGreater(float(data["rho"].min()), 0)
            else:
                data = reader.load(str(file))
                found = float(data.gas.masses.sum().value)
                self.assertGreater(float(data.gas.densities.min().value), 0)
            self.assertTrue(math.isclose(found, total, rel_tol=1e-5), name)

    def test_bad_files_are_refused_with_a_sentence(self) -> None:
        file = self.blast()
        out = ("--until", 0.01, "--output", self.folder / "out")
        self.refused("nowhere.hdf5", "run", self.folder / "nowhere.hdf5", *out, ranks=2)
        cut = self.folder / "cut.hdf5"
        cut.write_bytes(file.read_bytes()[:4000])
        self.refused("cut.hdf5", "run", cut, *out)

        def without(name: str):
            def change(opened: h5py.File) -> None:
                del opened[f"PartType0/{name}"]

            return change

        def with_number(name: str, number: float):
            def change(opened: h5py.File) -> None:
                values = opened[f"PartType0/{name}"][...]
                values[11] = number
                opened[f"PartType0/{name}"][...] = values

            return change

        with h5py.File(file) as opened:
            columns = list(opened["PartType0"])
        length, energy = (next(n for n in columns if n.startswith(begin)) for begin in ("Smooth", "Internal"))
        for name in ("Velocities", "Masses", energy):
            self.refused(name, "run", self.changed(file, without(name)), *out)
        self.refused("Coordinates", "run", self.changed(file, with_number("Coordinates", math.nan)), *out)
        self.refused("must be positive", "run", self.changed(file, with_number(length, 0.0)), *out)
        self.assertFalse(list((self.folder / "out").glob("*.hdf5")), "nothing is written for a run that cannot be")

    def test_a_time_step_that_goes_to_zero_is_told_with_the_particle(self) -> None:
        run = ("run", "--problem", "sedov", "--resolution", 12, "--step-min", 0.1, "--output", self.folder / "out")
        done = launch(*run, ranks=2)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"particle \d+ at .* its time step is .* shorter than the shortest")

    def test_bad_options_are_refused_by_name(self) -> None:
        out = ("--output", self.folder / "out")
        self.refused("sodd", "run", "--problem", "sodd", *out)
        self.refused("--problem", "run", *out)
        self.refused("--courant", "run", "--problem", "two-bodies", "--courant", -1, *out)
        self.refused("--accuracy", "run", "--problem", "two-bodies", "--accuracy", 0, *out)
        copies = ("--copy-every", 2, "--copy-folder", self.folder / "copies")
        self.refused("--restart requires --copy-every", "run", "--problem", "two-bodies", "--restart", *out)
        self.refused("keeps no copies", "run", "--problem", "two-bodies", "--time-steps", "plain", *copies, *out)

    def test_copies_of_another_run_are_refused(self) -> None:
        copies = self.folder / "copies"
        keep = ("--copy-every", 1, "--copy-folder", copies)
        sod = ("run", "--problem", "sod", "--resolution", 12, "--steps", 4, "--output", self.folder / "out")
        self.good(*sod, *keep, ranks=1)
        self.assertFalse(copies.exists(), "removed at the end")
        copies.mkdir()
        (copies / "1-0.copy").write_bytes(b"of another program")
        self.refused("files of another run", *sod[:-1], self.folder / "more", *keep, ranks=1)
        text = self.good(*sod[:-1], self.folder / "more", *keep, "--restart", ranks=1)
        self.assertNotIn("restarted", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
