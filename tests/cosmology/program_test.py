# SPDX-License-Identifier: Apache-2.0
"""plait-cosmology as its users run it: restarts, files of other programs, bad input. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import pathlib
import sys
import unittest

import h5py
import numpy as np
import swiftsimio
from program_case import ProgramCase, run
from snapshots import assert_equal_particles, installed_readers


def column(file: pathlib.Path, name: str) -> np.ndarray:
    """In the order of ids."""
    with h5py.File(file) as snapshot:
        return snapshot[f"PartType1/{name}"][:][np.argsort(snapshot["PartType1/ParticleIDs"][:])]


class Program(ProgramCase):
    def setUp(self) -> None:
        super().setUp()
        self.start = self.folder / "start.hdf5"
        self.good("init", "--particles", 12, "--box", 60, "-o", self.start)

    def changed(self, change) -> pathlib.Path:
        """A copy of the initial condition, with `change(file)` done to it."""
        copy = self.folder / "changed.hdf5"
        copy.write_bytes(self.start.read_bytes())
        with h5py.File(copy, "r+") as file:
            change(file)
        return copy

    def run_to(self, name: str, file: pathlib.Path, *options: object, until: float = 0.03) -> pathlib.Path:
        out = self.folder / name
        self.good("run", file, "--until", until, "--output", out, *options)
        return max(out.glob("*.hdf5"))

    def test_a_run_leaves_snapshots_and_power_spectra(self) -> None:
        out = self.folder / "out"
        text = self.good("run", self.start, "--steps", 8, "--snapshot-every", 4, "--diagnose-every", 4, "-o", out)
        self.assertIn("error of cosmic energy", text)
        self.assertIn("mesh", text)
        snapshots = [f"cosmology-{step:08}.hdf5" for step in (0, 4, 8)]
        groups = [f"cosmology-groups-{step:08}.txt" for step in (0, 4, 8)]
        self.assertEqual([file.name for file in sorted(out.iterdir())], [*snapshots, *groups, "cosmology-power.txt"])
        table = np.loadtxt(out / "cosmology-power.txt")
        self.assertEqual(set(table[:, 0]), {0, 4, 8})
        self.assertTrue((table[:, 2:] > 0).all())
        with h5py.File(out / snapshots[-1]) as file:
            scale = file["Cosmology"].attrs["Scale-factor"][0]
            self.assertAlmostEqual(scale, 0.02 * np.exp(8 * 0.01), 9)
            self.assertAlmostEqual(file["Header"].attrs["Redshift"][0], 1 / scale - 1, 9)
            self.assertEqual(file["PartType1/Coordinates"].attrs["a-scale exponent"][0], 1)

    def test_snapshots_are_read_by_swiftsimio_with_units(self) -> None:
        last = self.run_to("out", self.start)
        data = swiftsimio.load(str(last))
        self.assertAlmostEqual(float(data.metadata.scale_factor), 0.03, 6)
        self.assertAlmostEqual(data.metadata.cosmology.Om0, 0.3111, 6)
        self.assertEqual(data.dark_matter.masses.shape, (12**3,))
        self.assertAlmostEqual(float(data.metadata.boxsize[0].to("Mpc").value), 60, 6)

    def test_yt_and_pynbody_know_the_universe_and_units(self) -> None:
        last = self.run_to("out", self.start)
        mass = float(column(last, "Masses").sum())
        place, velocity = column(last, "Coordinates")[7], column(last, "Velocities")[7]
        for name, reader in installed_readers("yt", "pynbody"):
            if name == "yt":
                data = reader.load(str(last))
                self.assertAlmostEqual(data.current_redshift, 1 / 0.03 - 1, 6)
                self.assertAlmostEqual(data.hubble_constant, 0.6766)
                self.assertAlmostEqual(data.omega_matter, 0.3111)
                bodies = data.all_data()
                names = ("particle_index", "particle_mass", "particle_position", "particle_velocity")
                ids, masses, places, velocities = (bodies["PartType1", name] for name in names)
                # yt takes SWIFT's velocities for comoving ones.
                in_mpc, in_km_s = places.to("Mpccm"), velocities.to("km/s") / 0.03
                physical = places.to("Mpc")
                self.assertAlmostEqual(float(masses.sum().to("Msun")) / (1e10 * mass), 1, 4)
            else:
                data = reader.load(str(last)).dm
                self.assertAlmostEqual(float(data.properties["a"]), 0.03, 6)
                self.assertAlmostEqual(float(data.properties["omegaM0"]), 0.3111)
                ids, in_mpc, in_km_s = data["iord"], data["pos"].in_units("a Mpc"), data["vel"].in_units("km s**-1")
                physical = data["pos"].in_units("Mpc", a=0.03)
                self.assertAlmostEqual(float(data["mass"].sum().in_units("Msol")) / (1e10 * mass), 1, 4)
            row = int(np.flatnonzero(np.asarray(ids) == 8)[0])
            np.testing.assert_allclose(np.asarray(in_mpc[row]), place, rtol=1e-6)
            np.testing.assert_allclose(np.asarray(physical[row]), 0.03 * place, rtol=1e-5)
            np.testing.assert_allclose(np.asarray(in_km_s[row]), velocity, rtol=1e-6)

    def test_a_run_goes_on_from_its_snapshot_bit_for_bit(self) -> None:
        for ranks, workers in ((2, 1), (2, 2), (1, 2)):
            with self.subTest(ranks=ranks, workers=workers):
                self.check_that_a_run_goes_on_bit_for_bit(ranks, workers)

    def test_individual_steps_go_on_bit_for_bit(self) -> None:
        # So accurate that few particles take the longest step.
        options = ("--time-steps", "individual", "--accuracy", 3e-5)
        for ranks, workers in ((2, 1), (1, 2)):
            with self.subTest(ranks=ranks, workers=workers):
                end = self.check_that_a_run_goes_on_bit_for_bit(ranks, workers, options)
                self.assertGreater(len(np.unique(column(end, "TimeBins"))), 1)
                self.assertTrue((column(end, "KickedMomenta") != column(end, "ComovingMomenta")).any())

    def check_that_a_run_goes_on_bit_for_bit(self, ranks: int, workers: int, more: tuple = ()) -> pathlib.Path:
        environment = {"PLAIT_WORKERS": str(workers)}
        whole, second = (self.folder / f"{name}-{ranks}-{workers}" for name in ("whole", "second"))
        parts = (
            (self.start, ("--until", 0.0225, "--snapshot-every", 6, *more), whole),
            (whole / "cosmology-00000006.hdf5", ("--until", 0.0225, *more), second),
        )
        for file, options, out in parts:
            done = run("run", file, *options, "--output", out, ranks=ranks, environment=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(max(whole.glob("*.hdf5")).name, "cosmology-00000012.hdf5")
        name = "cosmology-00000012.hdf5"
        assert_equal_particles(self, whole / name, second / name, "PartType1")
        return whole / name

    def test_individual_steps_go_on_from_equal_ones_and_back(self) -> None:
        individual = ("--time-steps", "individual")
        theta = ("--theta", 0)  # no errors of trees, which differ
        self.good("run", self.start, "--steps", 4, *theta, "--output", self.folder / "equal")
        four = "cosmology-00000004.hdf5"
        text = self.good("run", self.folder / "equal" / four, "--steps", 4, *individual, "-o", self.folder / "own")
        self.assertIn("updates of a particle", text)
        self.good("run", self.folder / "own/cosmology-00000008.hdf5", "--steps", 4, "-o", self.folder / "back")
        self.good("run", self.start, "--steps", 12, *theta, "--output", self.folder / "whole")
        twelve = "cosmology-00000012.hdf5"
        for name, most in (
            ("Coordinates", 1e-6),
            ("Velocities", 1e-4),
            ("Potentials", 1e-2),
            ("ComovingAccelerations", 1e-3),
        ):
            back, whole = (column(self.folder / run_of / twelve, name) for run_of in ("back", "whole"))
            difference = (back - whole + 30) % 60 - 30 if name == "Coordinates" else back - whole
            self.assertLess(np.abs(difference).max(), most, name)

    def test_individual_steps_with_another_longest_one_begin_anew(self) -> None:
        individual = ("--time-steps", "individual", "--theta", 0)
        self.good("run", self.start, "--steps", 4, *individual, "--output", self.folder / "first")
        last = self.folder / "first/cosmology-00000004.hdf5"
        self.good("run", last, "--steps", 2, "--step", 0.02, *individual, "--output", self.folder / "other")
        self.good("run", last, "--steps", 4, *individual, "--output", self.folder / "same")
        other, same = (
            column(self.folder / run_of / f"cosmology-0000000{step}.hdf5", "Coordinates")
            for run_of, step in (("other", 6), ("same", 8))
        )
        self.assertLess(np.abs((other - same + 30) % 60 - 30).max(), 1e-4)

    def test_a_run_goes_on_by_steps_and_on_other_ranks(self) -> None:
        whole, first, second, three = (self.folder / name for name in ("whole", "first", "second", "three"))
        self.good("run", self.start, "--steps", 12, "--output", whole)
        self.good("run", self.start, "--steps", 5, "--output", first)
        self.good("run", first / "cosmology-00000005.hdf5", "--steps", 7, "--output", second)
        name = "cosmology-00000012.hdf5"
        assert_equal_particles(self, whole / name, second / name, "PartType1")
        self.good("run", first / "cosmology-00000005.hdf5", "--steps", 7, "--output", three, ranks=3)
        difference = column(whole / name, "Coordinates") - column(three / name, "Coordinates")
        self.assertLess(np.abs((difference + 30) % 60 - 30).max(), 1e-3)

    def test_forces_are_computed_anew_for_another_softening(self) -> None:
        self.good("run", self.start, "--steps", 4, "--output", self.folder / "first")
        last = self.folder / "first/cosmology-00000004.hdf5"
        self.good("run", last, "--softening", 2, "--steps", 0, "--output", self.folder / "soft")
        soft = self.folder / "soft/cosmology-00000004.hdf5"
        self.assertTrue((column(last, "Coordinates") == column(soft, "Coordinates")).all())
        self.assertFalse((column(last, "ComovingAccelerations") == column(soft, "ComovingAccelerations")).any())

    def test_a_snapshot_of_an_earlier_version_is_read(self) -> None:
        self.good("run", self.start, "--steps", 2, "--output", self.folder / "new")
        old = self.folder / "old.hdf5"
        old.write_bytes((self.folder / "new/cosmology-00000002.hdf5").read_bytes())
        newer = ("StepsFromScaleFactor", "StepsFromStep", "StepLength", "DomainCuts")
        with h5py.File(old, "r+") as file:
            for name in ("ComovingAccelerations", "FOFGroupIDs", "Costs"):
                del file[f"PartType1/{name}"]
            for name in (*newer, *(f"DomainsAlong{axis}" for axis in "XYZ")):
                del file["RunState"].attrs[name]
        self.good("run", old, "--steps", 2, "--output", self.folder / "old")
        self.good("run", self.start, "--steps", 4, "--output", self.folder / "whole")
        name = "cosmology-00000004.hdf5"
        old_end, whole_end = (column(self.folder / run_of / name, "Coordinates") for run_of in ("old", "whole"))
        self.assertLess(np.abs((old_end - whole_end + 30) % 60 - 30).max(), 1e-3)

    def test_a_file_of_gadget_gives_the_same_run(self) -> None:
        """Lengths in kpc/h, masses over h, velocities over the root of the scale factor, no units."""
        h, a = 0.6766, 0.02
        gadget = self.folder / "gadget.hdf5"
        with h5py.File(self.start) as ours, h5py.File(gadget, "w") as file:
            header = file.create_group("Header").attrs
            header["NumPart_ThisFile"] = header["NumPart_Total"] = [0, 12**3, 0, 0, 0, 0]
            header["NumPart_Total_HighWord"] = [0] * 6
            header["MassTable"] = [0, ours["PartType1/Masses"][0] * h, 0, 0, 0, 0]
            header["BoxSize"] = 60 * h * 1000
            header["Time"], header["Redshift"] = a, 1 / a - 1
            header["HubbleParam"], header["Omega0"], header["OmegaLambda"] = h, 0.3111, 1 - 0.3111
            header["NumFilesPerSnapshot"] = 1
            group = file.create_group("PartType1")
            group["Coordinates"] = ours["PartType1/Coordinates"][:] * h * 1000
            group["Velocities"] = ours["PartType1/Velocities"][:] / np.sqrt(a)
            group["ParticleIDs"] = ours["PartType1/ParticleIDs"][:]
        theirs = self.run_to("theirs", gadget, "--file-length", 0.001)
        ours_last = self.run_to("ours", self.start)
        difference = column(theirs, "Coordinates") - column(ours_last, "Coordinates")
        self.assertLess(np.abs((difference + 30) % 60 - 30).max(), 1e-5)
        self.refused("times that of a universe", "run", gadget, "--output", self.folder / "wrong")

    def test_bad_input_is_refused_with_a_sentence(self) -> None:
        out = ("--steps", 1, "--output", self.folder / "out")
        self.refused("nowhere.hdf5", "run", self.folder / "nowhere.hdf5", *out)
        self.refused("matter", "run", self.start, "--matter", 0.2, *out)
        self.refused("--step", "run", self.start, "--step", 0, *out)
        self.refused("--accuracy", "run", self.start, "--accuracy", 0, *out)
        self.refused("--time-steps", "run", self.start, "--time-steps", "own", *out)
        self.refused("--until", "run", self.start, "--until", 0.01, "--output", self.folder / "out")
        self.refused("mesh of 4", "run", self.start, "--mesh", 4, *out)

        def without_expansion(file: h5py.File) -> None:
            file["Cosmology"].attrs["Cosmological run"] = [0]

        self.refused("--redshift", "run", self.changed(without_expansion), *out)

        def in_a_slab(file: h5py.File) -> None:
            file["Header"].attrs["BoxSize"] = [60.0, 60.0, 30.0]

        self.refused("cube", "run", self.changed(in_a_slab), *out)
        self.refused("--baryons", "init", "--baryons", 0.5, "-o", self.folder / "new.hdf5")
        self.refused("spectrum.txt", "init", "--spectrum", self.folder / "spectrum.txt", "-o", self.folder / "new.hdf5")

    def test_files_of_another_run_are_kept_unless_forced(self) -> None:
        out = self.folder / "out"
        self.good("run", self.start, "--steps", 1, "--output", out)
        self.refused("--force", "run", self.start, "--steps", 1, "--output", out)
        self.good("run", self.start, "--steps", 1, "--output", out, "--force")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
