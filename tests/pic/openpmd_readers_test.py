# SPDX-License-Identifier: Apache-2.0
"""openPMD's own checker, openpmd-viewer and openpmd-api read what two ranks wrote, with the right numbers and units.

Usage: openpmd_readers_test.py PATH_OF_pic_openpmd_sample MPIEXEC. Exit code 77: no reader is installed.
"""

import importlib
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

LIGHT = 299792458.0
ELECTRON_MASS = 9.1093837015e-31
CHARGE = 1.602176634e-19
STEP = 7
PARTICLES = 60


def check_standard(checker, folder):
    errors, warned = checker.check_file(str(folder / "pic-00000007.h5"), force_extension_pic=True)
    assert (errors, warned) == (0, 0), (errors, warned)


def check_viewer(viewer, folder):
    series = viewer.OpenPMDTimeSeries(str(folder), check_all_files=True)
    assert list(series.iterations) == [STEP]
    assert math.isclose(series.t[0], 0.875e-6 / LIGHT)
    assert sorted(series.avail_fields) == ["E", "rho"]
    field, info = series.get_field("E", coord="x", iteration=STEP)
    assert field.shape == (10, 12)
    assert info.axes == {0: "y", 1: "x"}
    unit = ELECTRON_MASS * LIGHT**2 / (CHARGE * 1e-6)
    assert math.isclose(field[9, 11], 911 * unit, rel_tol=1e-9), field[9, 11] / unit
    assert math.isclose(info.x[0], (-3 + 0.25) * 1e-6), info.x[0]
    assert math.isclose(info.dy, 0.25e-6)
    names = ["x", "y", "ux", "w", "id", "charge", "mass"]
    x, y, ux, w, ids, q, mass = series.get_particle(names, species="electrons", iteration=STEP)
    assert list(ids) == list(range(1000, 1000 + PARTICLES))
    assert math.isclose(x[59], (-3 + 5.9) * 1e-6)
    assert math.isclose(y[59], 0.04 * 59 * 1e-6)
    assert math.isclose(ux[59], 0.059)
    assert w.sum() == 2 * PARTICLES
    assert math.isclose(mass[0], ELECTRON_MASS)
    assert math.isclose(q[0], -CHARGE)


def check_api(api, folder):
    series = api.Series(str(folder / "pic-%08T.h5"), api.Access.read_only)
    assert series.openPMD == "1.1.0"
    step = series.iterations[STEP]
    assert math.isclose(step.time, 0.875)
    assert math.isclose(step.time_unit_SI, 1e-6 / LIGHT)
    component = step.meshes["E"]["x"]
    values = component[:, :]
    electrons = step.particles["electrons"]
    ids = electrons["id"][api.Record_Component.SCALAR][:]
    patches = electrons.particle_patches["numParticles"][api.Record_Component.SCALAR].load()
    series.flush()
    assert values.shape == (10, 12) and values[3, 4] == 304
    assert component.position == [0, 0.5]
    assert step.meshes["E"].grid_spacing == [0.25, 0.5]
    assert step.meshes["E"].grid_global_offset == [0, -3]
    assert list(ids) == list(range(1000, 1000 + PARTICLES))
    assert list(patches) == [PARTICLES, 0]


def main():
    checks = []
    for name, check in (
        ("openpmd_validator.check_h5", check_standard),
        ("openpmd_viewer", check_viewer),
        ("openpmd_api", check_api),
    ):
        try:
            with warnings.catch_warnings(action="ignore"):
                checks.append((name, check, importlib.import_module(name)))
        except ImportError as error:
            print(f"{name} is not installed ({error}): not tried")
    if not checks:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[2], "2", sys.argv[1], folder], check=True)
        for name, check, module in checks:
            check(module, pathlib.Path(folder))
            print(f"{name} reads it")


main()
