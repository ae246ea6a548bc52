# SPDX-License-Identifier: Apache-2.0
"""h5py and swiftsimio read a snapshot of the ring, with the right numbers and units.

Usage: snapshot_readers_test.py PATH_OF_ring_snapshot_sample. Exit code 77: no reader is installed.
"""

import math
import pathlib
import subprocess
import sys
import tempfile

BODIES = 40
TOTAL_MASS = 5e-5


def check_h5py(h5py, file):
    with h5py.File(file) as snapshot:
        assert snapshot["Header"].attrs["NumPart_Total"][1] == BODIES
        assert snapshot["Header"].attrs["Time"][0] == 0.5
        assert snapshot["PartType1/Coordinates"].shape == (BODIES, 3)
        assert sorted(snapshot["PartType1/ParticleIDs"][:]) == list(range(1, BODIES + 1))
        assert math.isclose(snapshot["PartType1/Masses"][:].sum(), TOTAL_MASS)


def check_swiftsimio(swiftsimio, file):
    data = swiftsimio.load(str(file))
    bodies = data.dark_matter
    unit = data.metadata.units.mass
    assert math.isclose(float((bodies.masses.sum() / unit).to("dimensionless")), TOTAL_MASS, rel_tol=1e-6)
    radius = float((abs(bodies.coordinates).max() / data.metadata.units.length).to("dimensionless"))
    assert 1 <= radius <= 1.1 + 1e-6, radius
    speed = data.metadata.units.length / data.metadata.units.time
    assert bodies.velocities.units.dimensions == speed.units.dimensions
    assert len(bodies.particle_ids) == BODIES


def main():
    checks = []
    for name, check in (("h5py", check_h5py), ("swiftsimio", check_swiftsimio)):
        try:
            checks.append((name, check, __import__(name)))
        except ImportError:
            print(f"{name} is not installed: not tried")
    if not checks:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "ring.hdf5"
        subprocess.run([sys.argv[1], file], check=True)
        for name, check, module in checks:
            check(module, file)
            print(f"{name} {module.__version__} reads it")


main()
