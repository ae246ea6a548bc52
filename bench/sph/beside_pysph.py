#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""beside_pysph.py PROGRAM PROBLEM RESOLUTION [ROUNDS]: a problem by plait-sph and by PySPH, in turn.

PROGRAM is plait-sph. Both begin with the particles that `plait-sph init` writes, and use one thread. PySPH runs its
scheme TSPH, density and energy with Balsara's switch, with the cubic spline and equal steps. Prints the errors, which
one function computes for both, and the processor's seconds of each round: of PySPH's steps, and of the whole run of
plait-sph. Needs a Python with pysph and h5py:

    python3 -m venv peer && peer/bin/pip install pysph h5py
    peer/bin/python bench/sph/beside_pysph.py build/release/apps/sph/plait-sph sod 24
"""

from __future__ import annotations

import csv
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import h5py
import numpy as np
from pysph.base.kernels import CubicSpline
from pysph.base.nnps import DomainManager
from pysph.base.utils import get_particle_array
from pysph.solver.application import Application
from pysph.sph.gas_dynamics.tsph import TSPHScheme

#: Of the speed of sound and flow, in distances of particles.
COURANT = 0.2
GAMMA = 5 / 3


@dataclass(frozen=True)
class Gas:
    """Particles, with positions relative to the problem's origin."""

    x: np.ndarray
    v: np.ndarray
    mass: np.ndarray
    density: np.ndarray

    @property
    def volume(self) -> np.ndarray:
        return self.mass / self.density


Exact = Callable[[np.ndarray, str], np.ndarray]


def sod_errors(gas: Gas, exact: Exact) -> dict[str, float]:
    x = gas.x[:, 0]
    near = np.abs(x) < 0.5
    volume = gas.volume[near]
    wanted = exact(x[near], "density")
    density = (volume * np.abs(gas.density[near] - wanted)).sum() / (volume * wanted).sum()
    speed = (volume * np.abs(gas.v[near, 0] - exact(x[near], "speed"))).sum() / volume.sum()
    return {"density (L1)": density, "speed (L1)": speed}


def gresho_errors(gas: Gas, exact: Exact) -> dict[str, float]:
    x, y = gas.x[:, 0], gas.x[:, 1]
    r = np.hypot(x, y)
    near = (r < 0.5) & (r > 0)
    speed = (x * gas.v[:, 1] - y * gas.v[:, 0])[near] / r[near]
    return {"speed (L1)": np.abs(speed - exact(r[near], "speed")).mean()}


def noh_errors(gas: Gas, _: Exact) -> dict[str, float]:
    r = np.linalg.norm(gas.x, axis=1)
    behind = gas.density[(r > 0.08) & (r < 0.16)]
    return {"density behind the shock": abs(behind.mean() / 64 - 1)}


ERRORS = {"sod": sod_errors, "gresho": gresho_errors, "noh": noh_errors}


def run_plait(program: str, problem: str, resolution: int, folder: pathlib.Path) -> tuple[float, Gas, Exact, float]:
    """Seconds of the run, its particles, the exact solution by place, and the time of the end."""
    out = folder / "plait"
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [program, "run", "--problem", problem, "--resolution", str(resolution), "--force", "--quiet", "-o", out],
        check=True,
        capture_output=True,
    )
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
    with h5py.File(out / "sph-0001.hdf5") as file:
        time_end = float(np.ravel(file["RunState"].attrs["Time"])[0])
        of = file["PartType0"]
        origin = file["RunState"].attrs["Origin"]
        gas = Gas(of["Coordinates"][:] - origin, of["Velocities"][:], of["Masses"][:], of["Densities"][:])
    with (out / "profile.csv").open() as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    places = [float(row["place"]) for row in rows]

    def exact(at: np.ndarray, what: str) -> np.ndarray:
        return np.interp(at, places, [float(row[f"exact_{what}"]) for row in rows])

    return seconds, gas, exact, time_end


def run_pysph(begin: pathlib.Path, end: float) -> tuple[float, Gas]:
    """Seconds of the steps, and the particles at the end."""
    with h5py.File(begin) as file:
        of = {name: file["PartType0"][name][:].astype(float) for name in file["PartType0"]}
        box = np.broadcast_to(file["Header"].attrs["BoxSize"], 3)
        origin = np.array(file["RunState"].attrs["Origin"])
        is_periodic = bool(np.ravel(file["RuntimePars"].attrs["PeriodicBoundariesOn"])[0])
    x, v = of["Coordinates"], of["Velocities"]
    energy = of["InternalEnergy"]
    spacing = np.cbrt(np.prod(box) / len(x))
    fastest = (np.linalg.norm(v, axis=1) + np.sqrt(GAMMA * (GAMMA - 1) * energy)).max()

    class Peer(Application):
        def create_particles(self):
            gas = get_particle_array(
                name="gas", x=x[:, 0], y=x[:, 1], z=x[:, 2], u=v[:, 0], v=v[:, 1], w=v[:, 2], m=of["Masses"]
            )
            gas.add_property("e", data=energy)
            gas.set(h=of["SmoothingLength"], rho=np.full(len(x), of["Masses"].mean() / spacing**3))
            self.scheme.setup_properties([gas])
            gas.set(e=energy, h=of["SmoothingLength"])
            gas.add_property("psumdh")  # of PSPH; version 1.0b2 wants it for ghosts
            return [gas]

        def create_domain(self):
            if not is_periodic:
                return None
            sides = {f"{axis}min": 0.0 for axis in "xyz"} | dict(
                zip(("xmax", "ymax", "zmax"), map(float, box), strict=True)
            )
            return DomainManager(**sides, periodic_in_x=True, periodic_in_y=True, periodic_in_z=True)

        def create_scheme(self):
            scheme = TSPHScheme(["gas"], [], dim=3, gamma=GAMMA, hfact=1.2, has_ghosts=is_periodic)
            dt = COURANT * spacing / fastest
            scheme.configure_solver(kernel=CubicSpline(dim=3), dt=dt, tf=end, adaptive_timestep=False, pfreq=10**9)
            return scheme

    with tempfile.TemporaryDirectory() as out:
        peer = Peer(fname="peer", output_dir=out)
        peer.setup(["--disable-output"])  # compiles, the first time
        start = time.process_time()
        peer.solve()
        seconds = time.process_time() - start
    gas = peer.particles[0]
    real = gas.get_property_arrays(only_real=True)
    places = np.column_stack([real["x"], real["y"], real["z"]]) - origin
    speeds = np.column_stack([real["u"], real["v"], real["w"]])
    return seconds, Gas(places, speeds, real["m"], real["rho"])


def main() -> None:
    if len(sys.argv) not in (4, 5) or sys.argv[2] not in ERRORS:
        sys.exit(f"beside_pysph.py: needs PROGRAM, PROBLEM ({', '.join(ERRORS)}), RESOLUTION and perhaps ROUNDS")
    program, problem, resolution = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for turn in range(int(sys.argv[4]) if len(sys.argv) == 5 else 3):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            begin = folder / "begin.hdf5"
            subprocess.run(
                [program, "init", "--problem", problem, "--resolution", str(resolution), "-o", begin],
                check=True,
                capture_output=True,
            )
            seconds, gas, exact, end = run_plait(program, problem, resolution, folder)
            rows = [("plait-sph", seconds, ERRORS[problem](gas, exact))]
            seconds, gas = run_pysph(begin, end)
            rows.append(("PySPH", seconds, ERRORS[problem](gas, exact)))
        for name, seconds, errors in rows:
            found = ", ".join(f"{what} {100 * error:.2f} %" for what, error in errors.items())
            print(f"round {turn + 1}: {name}: {len(gas.mass)} particles, {seconds:.2f} s, {found}", flush=True)


main()
