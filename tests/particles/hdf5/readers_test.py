# SPDX-License-Identifier: Apache-2.0
"""h5py, swiftsimio, yt and pynbody read a snapshot of gas and dark matter, with the right numbers and units.

Usage: readers_test.py PATH_OF_particles_sample_file. Exit code 77: no reader is installed.
"""

import importlib
import math
import pathlib
import subprocess
import sys
import tempfile

GAS = DARK_MATTER = 100
LENGTH_CM, MASS_G, TIME_S = 3.0, 5.0, 7.0
# As in sample.hpp.
GAS_MASS = sum(1 + 1 / (i + 3) for i in range(0, 2 * GAS, 2)) * MASS_G
DARK_MATTER_MASS = sum(1 + 1 / (i + 3) for i in range(1, 2 * DARK_MATTER, 2)) * MASS_G
DENSITY = 2 * MASS_G / LENGTH_CM**3
ENERGY = 1.5 * (LENGTH_CM / TIME_S) ** 2


def near(value, wanted):
    assert math.isclose(float(value), wanted, rel_tol=1e-5), (value, wanted)


def check_h5py(h5py, file):
    with h5py.File(file) as snapshot:
        assert list(snapshot["Header"].attrs["NumPart_Total"]) == [GAS, DARK_MATTER, 0, 0, 0, 0, 0]
        assert snapshot["Header"].attrs["Time"][0] == 0.5
        assert snapshot["PartType1/Coordinates"].shape == (DARK_MATTER, 3)
        assert "InternalEnergies" not in snapshot["PartType1"]
        near(snapshot["GasParticles/Masses"][:].sum() * MASS_G, GAS_MASS)


def check_swiftsimio(swiftsimio, file):
    data = swiftsimio.load(str(file))
    near(data.gas.masses.sum().to("g"), GAS_MASS)
    near(data.dark_matter.masses.sum().to("g"), DARK_MATTER_MASS)
    near(data.gas.densities.mean().to("g/cm**3"), DENSITY)
    near(data.gas.internal_energies.mean().to("cm**2/s**2"), ENERGY)
    near(data.gas.smoothing_lengths.max().to("cm"), 0.25 * LENGTH_CM)
    near(data.metadata.boxsize[0].to("cm"), LENGTH_CM)
    near(data.metadata.time.to("s"), 0.5 * TIME_S)


def check_yt(yt, file):
    yt.set_log_level("error")
    data = yt.load(str(file)).all_data()
    near(data["PartType0", "particle_mass"].sum().to("g"), GAS_MASS)
    near(data["PartType1", "particle_mass"].sum().to("g"), DARK_MATTER_MASS)
    near(data["PartType0", "density"].mean().to("g/cm**3"), DENSITY)
    near(data["PartType0", "particle_position"].max().to("cm"), (1 - 1 / 201) * LENGTH_CM)


def check_pynbody(pynbody, file):
    data = pynbody.load(str(file))
    near(data.gas["mass"].sum().in_units("g"), GAS_MASS)
    near(data.dm["mass"].sum().in_units("g"), DARK_MATTER_MASS)
    near(data.gas["rho"].mean().in_units("g cm**-3"), DENSITY)
    near(data.gas["u"].mean().in_units("cm**2 s**-2"), ENERGY)
    near(data.gas["pos"].max().in_units("cm"), (1 - 1 / 201) * LENGTH_CM)


def main():
    checks = []
    known = {"h5py": check_h5py, "swiftsimio": check_swiftsimio, "yt": check_yt, "pynbody": check_pynbody}
    for name, check in known.items():
        try:
            checks.append((name, check, importlib.import_module(name)))
        except ImportError:
            print(f"{name} is not installed: not tried")
    if not checks:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "sample.hdf5"
        subprocess.run([sys.argv[1], file], check=True)
        for name, check, module in checks:
            check(module, file)
            print(f"{name} {module.__version__} reads it")


main()
