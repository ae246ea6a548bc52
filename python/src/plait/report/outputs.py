# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the program itself wrote into the run's folder."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from typing import IO

import polars as pl
from matplotlib.figure import Figure

from plait._events import Run
from plait.measures.hidden import hidden_times
from plait.measures.particle_steps import particle_steps
from plait.plots import (
    bodies,
    density_map,
    energies,
    fields,
    group_shapes,
    hidden,
    power_spectra,
    profile,
    style,
    turbulence,
    workload,
)
from plait.readers.groups import read_groups
from plait.readers.openpmd import first_and_last_fields
from plait.readers.power_spectra import read_power_spectra
from plait.readers.profiles import read_profile
from plait.readers.snapshots import first_and_last
from plait.readers.statistics import read_statistics
from plait.readers.turbulence import first_and_last_slices, read_measurements
from plait.report.html import figure


@dataclass(frozen=True)
class OutputPicture:
    name: str  # of the file and of the section
    title: str
    text: str
    png: bytes

    def write_to(self, file: IO[bytes]) -> None:
        file.write(self.png)

    def section(self) -> str:
        picture = base64.b64encode(self.png).decode()
        image = f'<img alt="{escape(self.title, quote=True)}" src="data:image/png;base64,{picture}">'
        return figure(self.name, self.title, self.text, f'<div class="plot">{image}</div>', plain=True)


def draw_outputs(folder: Path, run: Run, matched: pl.DataFrame) -> Iterator[OutputPicture]:
    """One for each kind of output that is there."""
    snapshots = first_and_last(folder, "dark matter")
    if snapshots and not snapshots[-1].is_periodic:
        yield OutputPicture(
            "bodies",
            "The bodies at the first and the last snapshot",
            "Left: all bodies seen from above. Right: the same unrolled, distance from the centre "
            "against the angle around it, so that the structure of a ring is visible.",
            _png(bodies.plot_bodies(snapshots)),
        )
    maps = first_and_last_fields(folder)
    if maps:
        yield OutputPicture(
            "fields",
            "Particles and fields at the first and the last output",
            "From the openPMD files in the run's folder, in the program's units: density of all "
            "particles, and the strength of fields. Of a box with three axes, all particles and the "
            "fields in its middle plane, seen along z. Pictures above each other have one scale.",
            _png(fields.plot_fields(maps)),
        )
    yield from _draw_particles(folder, run)
    yield from _draw_turbulence(folder, run, matched)


def _draw_particles(folder: Path, run: Run) -> Iterator[OutputPicture]:
    steps = particle_steps(run)
    updated = steps["updated"].to_numpy()
    if updated.size > 1 and updated.min() < 0.9 * updated.max():  # else all steps are alike
        yield OutputPicture(
            "workload",
            "What a step costs, by how many particles it updates",
            "Left: each step, from all ranks' updates and the time of the slowest rank. Steps far "
            "above the dashed line pay for more than their particles: work for each cell, "
            "messages, waits. Right: which steps the time and the updates of the run were in.",
            _png(workload.plot_workload(steps)),
        )
    snapshots = first_and_last(folder)
    if snapshots and (snapshots[-1].kind == "gas" or snapshots[-1].is_periodic):
        yield OutputPicture(
            "density-map",
            f"{snapshots[-1].kind.capitalize()} at the first and the last snapshot",
            "Column density, seen along z, in the file's units; each particle is as wide as it "
            "reaches. `plait map` draws other snapshots, quantities and axes.",
            _png(density_map.plot_maps(snapshots)),
        )
    shared = [one for one in snapshots if one.ranks is not None and int(one.ranks.max()) > 0]
    if shared:
        yield OutputPicture(
            "domains",
            "Which rank has which particles",
            "At the first and the last snapshot, in a layer through the middle, seen along z.",
            _png(density_map.plot_maps(shared, "ranks")),
        )
    spectra = read_power_spectra(folder)
    if spectra:
        yield OutputPicture(
            "power-spectra",
            "Power spectra of the density",
            "As measured in the run. Dashed: the first spectrum, grown by linear theory. Long waves "
            "follow it; short ones do not once their contrasts are near 1. Few waves are in the box "
            "at the left end.",
            _png(power_spectra.plot_power_spectra(spectra)),
        )
    yield from _draw_groups(folder)
    statistics = read_statistics(folder)
    if statistics is not None:
        yield OutputPicture(
            "energies",
            "Energy over time",
            "As the program measured it. Left: what there is of each kind; right: how far their "
            "sum has gone from what it was at the beginning.",
            _png(energies.plot_energies(statistics)),
        )
    found = read_profile(folder)
    if found is not None:
        yield OutputPicture(
            "profile",
            f"Problem {found.problem} at t = {found.time:.4g}, beside what it should be",
            f"{found.particles:,} particles. Points are means over particles at a place, the "
            "band is how far their densities scatter; the line is the exact solution, where there "
            "is one.",
            _png(profile.plot_profile(found)),
        )


def _draw_groups(folder: Path) -> Iterator[OutputPicture]:
    groups = read_groups(folder)
    if groups:
        yield OutputPicture(
            "groups",
            "Groups of particles by mass",
            "By friends of friends, with a fifth of the mean distance of particles, 20 particles or "
            "more. Structure forms from small to large: heavier groups appear later.",
            _png(power_spectra.plot_groups(groups)),
        )
        last = groups[-1]
        if last.shapes is not None:
            yield OutputPicture(
                "group-shapes",
                f"Axes and spins of groups at redshift {last.redshift:.3g}",
                f"Of the {min(group_shapes.GROUPS_MAX, last.masses.size)} heaviest groups. Axes are "
                "those of an ellipsoid of the same second moments. The spin parameter is that of "
                "Bullock et al. (2001), at the radius of a sphere of the group's mass in 200 times "
                "the mean density.",
                _png(group_shapes.plot_group_shapes(last, last.shapes)),
            )


def _draw_turbulence(folder: Path, run: Run, matched: pl.DataFrame) -> Iterator[OutputPicture]:
    measured = read_measurements(folder)
    if measured is not None and measured.columns["time"].size:
        points = " x ".join(map(str, measured.points))
        yield from [
            OutputPicture(
                "spectrum",
                "Spectra of the flow",
                f"{points} points, viscosity {measured.viscosity:.4g}. Left: kinetic energy by wave "
                "number; the dashed line falls as in the inertial range. Right: at the last "
                "measurement, what advection brings into each shell, what viscosity takes, and flux.",
                _png(turbulence.plot_spectra(measured)),
            ),
            OutputPicture(
                "flow",
                "The flow over time",
                "As measured in the run. Dissipation and the loss of energy must agree where nothing "
                "else takes energy; a resolution k_max eta below 1 is too coarse.",
                _png(turbulence.plot_history(measured)),
            ),
        ]
        times = hidden_times(run.tasks, matched)
        if times.height and int(times["moving_ns"].sum()) > 0:
            yield OutputPicture(
                "hidden",
                "Messages behind computing",
                "The time in which a message to a rank was under way, from when both sides had "
                "posted it until the receiver was notified, and how much of it the rank's workers "
                "computed.",
                _png(hidden.plot_hidden(times)),
            )
    slices = first_and_last_slices(folder)
    if slices:
        yield OutputPicture(
            "vorticity",
            "Strength of vorticity at the first and the last output",
            "The plane in the middle of z; each picture has its own scale.",
            _png(turbulence.plot_vorticity(slices)),
        )


def _png(drawn: Figure) -> bytes:
    buffer = BytesIO()
    with style.context():
        style.save(drawn, buffer)
    return buffer.getvalue()
