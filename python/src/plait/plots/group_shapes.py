# SPDX-License-Identifier: Apache-2.0
"""Axes, half-mass radii and spins of the heaviest groups of a cosmological run."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plait.plots import style
from plait.readers.groups import Groups, Shapes

GROUPS_MAX = 300
_POWERS = FuncFormatter(lambda value, _: f"{value:.0e}")


def plot_group_shapes(groups: Groups, shapes: Shapes) -> Figure:
    """Of the heaviest groups: left the ratios of axes, then half-mass radii and spins by mass."""
    count = min(GROUPS_MAX, groups.masses.size)
    masses = groups.masses[:count] * 1e10
    figure = style.new_figure(15, 4.6)
    ratios, radii, spins = style.add_axes(figure, 1, 3)
    points = ratios.scatter(
        shapes.intermediate[:count],
        shapes.shortest[:count],
        c=masses,
        s=16,
        cmap="viridis_r",
        norm="log",
    )
    ratios.plot([0, 1], [0, 1], color=style.SOFT, lw=1.0, ls="--")
    ratios.set(xlim=(0, 1), ylim=(0, 1))
    ratios.set_xlabel("intermediate over longest axis")
    ratios.set_ylabel("shortest over longest axis")
    figure.colorbar(points, ax=ratios, label="mass [solar masses]")
    style.title(ratios, "Axes (upper right: a sphere)")
    radii.scatter(masses, shapes.half_mass_radii[:count], s=16)
    radii.set_ylabel("half-mass radius [comoving Mpc]")
    style.title(radii, "Half-mass radius")
    spins.scatter(masses, shapes.spins[:count], s=16)
    spins.set_ylabel("spin parameter")
    style.title(spins, "Spin")
    for axes in (radii, spins):
        _label_masses(axes)
    return figure


def _label_masses(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(_POWERS)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("mass [solar masses]")
    axes.grid(visible=True)
