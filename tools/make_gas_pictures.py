#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_gas_pictures.py [--build FOLDER] [--keep FOLDER] [NAME...]: makes docs/images/gas-*.png anew, of real runs.

Each problem of plait-sph runs, some of them at several resolutions, and is drawn beside its exact or computed answer.
The errors that the runs report are printed as rows of the table in docs/reference/gas-problems.md. NAME: problems;
default all. --resolutions replaces those of each problem. Needs plait-sph in FOLDER (default build/release). Start it
with the project's Python, .venv/bin/python. It takes about two hours on two cores, most of it for the largest runs.
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import h5py
import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

PROJECT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = PROJECT / "docs/images"
AMPLITUDES = PROJECT / "apps/sph/exact/shear/shear_amplitudes.inc"
SHEAR_TIME_MAX = 2
SECONDS_MAX = 3600
BLUE, BLACK = "#0072b2", "#222222"
SHADES = ("#9ecae1", "#4292c6", BLUE)  # from coarse to fine

#: The folders of a problem's runs by their resolutions, the finest last.
Runs = dict[int, pathlib.Path]
DPI = 110


@dataclass(frozen=True)
class Gas:
    """The gas of a snapshot."""

    time: float
    place: np.ndarray  # relative to the problem's origin
    speed: np.ndarray
    mass: np.ndarray
    density: np.ndarray
    pressure: np.ndarray
    energy: np.ndarray


def read(file: pathlib.Path) -> Gas:
    with h5py.File(file) as snapshot:
        run = snapshot["RunState"].attrs
        of = snapshot["PartType0"]
        names = ("Velocities", "Masses", "Densities", "Pressures", "InternalEnergies")
        # Particles that have left a periodic box since neighbours were listed are put back.
        place = of["Coordinates"][:] % snapshot["Header"].attrs["BoxSize"] - run["Origin"]
        return Gas(float(np.ravel(run["Time"])[0]), place, *(of[name][:] for name in names))


def finest(outs: Runs) -> pathlib.Path:
    return outs[max(outs)]


def snapshots(out: pathlib.Path) -> list[Gas]:
    return [read(file) for file in sorted(out.glob("sph-*.hdf5"))]


def draw_profile(outs: Runs, low: float, high: float) -> plt.Figure:
    """Density, speed and pressure along the problem's direction, beside the exact ones."""
    figure, panels = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained")
    for (resolution, out), color in zip(outs.items(), SHADES[-len(outs) :], strict=True):
        with (out / "profile.csv").open() as lines:
            rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        place = np.array([float(row["place"]) for row in rows])
        near = (place >= low) & (place <= high)
        label = "plait-sph" if len(outs) == 1 else f"plait-sph, {resolution}"
        for panel, what in zip(panels, ("density", "speed", "pressure"), strict=True):
            values = np.array([float(row[what]) for row in rows])
            panel.plot(place[near], values[near], ".", color=color, markersize=4, label=label)
    for panel, what in zip(panels, ("density", "speed", "pressure"), strict=True):
        if rows[0][f"exact_{what}"]:
            exact = np.array([float(row[f"exact_{what}"]) for row in rows])
            panel.plot(place[near], exact[near], color=BLACK, linewidth=1, label="known")
        panel.set_title(what, fontsize=10)
    panels[0].legend(frameon=False, fontsize=9)
    return figure


def draw_map(panel: plt.Axes, gas: Gas, title: str) -> None:
    """The density in a slice of a third of the thin side, by colour."""
    z = gas.place[:, 2]
    middle = (z.min() + z.max()) / 2
    near = np.abs(z - middle) < (z.max() - z.min()) / 6
    order = np.argsort(gas.density[near])
    x, y = (gas.place[near, axis][order] for axis in (0, 1))
    size = 2.2e5 * np.ptp(y) / np.ptp(x) / max(near.sum(), 1) * 3
    dots = panel.scatter(x, y, c=gas.density[near][order], s=min(size, 30), cmap="viridis", linewidths=0)
    panel.figure.colorbar(dots, ax=panel, shrink=0.8)
    panel.set_aspect("equal")
    panel.set_title(title, fontsize=10)


def draw_shear(outs: Runs) -> plt.Figure:
    known = np.array([float(number) for number in re.findall(r"^([\d.e-]+),", AMPLITUDES.read_text(), re.M)])
    known_times = np.linspace(0, SHEAR_TIME_MAX, len(known))
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    left.plot(known_times, known, color=BLACK, label="on a grid of 256² points")
    slow = []
    for (resolution, out), color in zip(outs.items(), SHADES[-len(outs) :], strict=True):
        gases = snapshots(out)
        times, amplitudes = [gas.time for gas in gases], [amplitude(gas) for gas in gases]
        left.plot(times, amplitudes, "o", color=color, markersize=4, label=f"plait-sph, {resolution}")
        slow.append(1 - growth_rate(times, amplitudes) / growth_rate(known_times, known))
        print(f"kelvin-helmholtz, {resolution}: growth rate from 0.5 to 0.8: {100 * slow[-1]:.2g} % low", flush=True)
    left.set(yscale="log", xlabel="time", title="amplitude of the wave", ylim=(5e-3, None))
    left.set_xlim(0, 1.03 * max(gas.time for gas in gases))
    left.legend(frameon=False, fontsize=9)
    middle.plot(list(outs), slow, "o-", color=BLUE)
    middle.set(xlabel="particles along the box", title="growth rate: too low by", ylim=(0, 1.15 * max(slow)))
    middle.yaxis.set_major_formatter(PercentFormatter(1))
    draw_map(right, gases[-1], f"density at t = {gases[-1].time:.3g}, {list(outs)[-1]} along the box")
    return figure


def growth_rate(times: Sequence[float], amplitudes: Sequence[float]) -> float:
    """Of the wave between 0.5 and 0.8, where it grows as an exponential."""
    early, late = np.interp((0.5, 0.8), times, np.log(amplitudes))
    return float(late - early) / 0.3


def amplitude(gas: Gas) -> float:
    """Of the growing wave, as McNally, Lyra and Passy (2012) define it."""
    x, y = gas.place[:, 0], gas.place[:, 1]
    share = gas.mass / gas.density * np.exp(-4 * np.pi * np.abs(np.minimum(y, 1 - y) - 0.25))
    waves = (share * gas.speed[:, 1] * wave(4 * np.pi * x) for wave in (np.sin, np.cos))
    return 2 * float(np.hypot(*(wave.sum() for wave in waves)) / share.sum())


def draw_square(outs: Runs) -> plt.Figure:
    gases = snapshots(finest(outs))
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
    for panel, gas in zip(panels, (gases[0], gases[-1]), strict=True):
        draw_map(panel, gas, f"density at t = {gas.time:.3g}")
        panel.plot([-0.25, 0.25, 0.25, -0.25, -0.25], [-0.25, -0.25, 0.25, 0.25, -0.25], color="white", linewidth=1)
    return figure


def draw_blob(outs: Runs) -> plt.Figure:
    gases = snapshots(finest(outs))
    growth = gases[-1].time / 2.5
    figure, panels = plt.subplots(1, 2, figsize=(11, 3), width_ratios=(1, 2), layout="constrained")
    left = [cloud(gas) for gas in gases]
    panels[0].plot([gas.time / growth for gas in gases], left, "o-", color=BLUE, label="plait-sph")
    panels[0].errorbar(2.5, 0.1, 0.1, uplims=True, fmt="_", color=BLACK, label="codes with grids, at most")
    panels[0].set(xlabel="time, in growth times", title="share of the cloud that is left")
    panels[0].set(xlim=(-0.1, 2.7), ylim=(-0.03, 1.1))
    panels[0].legend(frameon=False, fontsize=9)
    draw_map(panels[1], gases[len(gases) // 2], f"density at {gases[len(gases) // 2].time / growth:.2g} growth times")
    return figure


def cloud(gas: Gas) -> float:
    """The share of the cloud's mass that is dense and cold (Agertz et al. 2007)."""
    belongs = (gas.density > 6.4) & (gas.energy < 0.9 * 0.9)
    return float(gas.mass[belongs].sum() / (40 * np.pi / 3))


@dataclass(frozen=True)
class Problem:
    name: str
    resolutions: tuple[int, ...]
    draw: Callable[[Runs], plt.Figure]
    options: tuple[str, ...] = ()


def profile(low: float, high: float) -> Callable[[Runs], plt.Figure]:
    return lambda outs: draw_profile(outs, low, high)


PROBLEMS = (
    Problem("sod", (36,), profile(-0.5, 0.5)),
    Problem("sedov", (36,), profile(0, 0.5)),
    Problem("noh", (36, 48, 80), profile(0, 0.4)),
    Problem("gresho", (60,), profile(0, 0.5)),
    Problem("kelvin-helmholtz", (36, 60, 84), draw_shear, ("--snapshots", "15")),
    Problem("square", (24,), draw_square),
    Problem("blob", (36,), draw_blob, ("--snapshots", "10")),
    Problem("evrard", (24,), profile(0, 0.8)),
)


def run(program: pathlib.Path, problem: Problem, resolution: int, out: pathlib.Path) -> str:
    """What the run prints."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    command = [program, "run", "--problem", problem.name, "--resolution", str(resolution), *problem.options]
    done = subprocess.run(
        [*command, "--force", "-o", out],
        env={**root, **os.environ},
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    return done.stdout


def row(name: str, resolution: int, text: str) -> str:
    """The table's row: the errors that are not of conserved quantities, and their limits."""
    found = re.findall(r"^  (\S.*?)\s{2,}(\S+)  (?:within|ABOVE)\s+(\S+)$", text, re.M)
    of_answer = [(what, float(error), float(limit)) for what, error, limit in found[2:]]
    errors = "; ".join(f"{what} {100 * error:.2g} %" for what, error, _ in of_answer)
    limits = ", ".join(f"{100 * limit:.2g} %" for *_, limit in of_answer)
    return f"| `{name}` | {resolution} | {errors} | {limits} |"


def make(program: pathlib.Path, problem: Problem, folder: pathlib.Path) -> None:
    outs: Runs = {resolution: folder / str(resolution) for resolution in problem.resolutions}
    for resolution, out in outs.items():
        log = out / "printed.txt"
        if not log.exists():
            out.mkdir(parents=True, exist_ok=True)
            log.write_text(run(program, problem, resolution, out))
        print(row(problem.name, resolution, log.read_text()), flush=True)
    figure = problem.draw(outs)
    figure.savefig(IMAGES / f"gas-{problem.name}.png", dpi=DPI)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="problems")
    parser.add_argument("--build", type=pathlib.Path, default=PROJECT / "build/release")
    parser.add_argument("--resolutions", type=int, nargs="+", metavar="N", help="in the place of each problem's")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the runs; what is in it is drawn, not run again")
    options = parser.parse_args()
    if len(set(options.resolutions or ())) > len(SHADES):
        parser.error(f"--resolutions: at most {len(SHADES)} can be drawn")
    known = {problem.name: problem for problem in PROBLEMS}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        sys.exit(f"make_gas_pictures.py: there is no {unknown[0]}; choose of {', '.join(known)}")
    program = options.build.resolve() / "apps/sph/plait-sph"
    with tempfile.TemporaryDirectory(prefix="plait-gas-") as scratch:
        for name in options.names or known:
            try:
                problem = known[name]
                if options.resolutions:
                    problem = replace(problem, resolutions=tuple(sorted(options.resolutions)))
                make(program, problem, (options.keep or pathlib.Path(scratch)) / name)
            except (OSError, subprocess.SubprocessError) as error:
                sys.exit(f"make_gas_pictures.py: {name}: {error}")


if __name__ == "__main__":
    main()
