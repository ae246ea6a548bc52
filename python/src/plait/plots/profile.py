# SPDX-License-Identifier: Apache-2.0
"""A problem of plait-sph beside its exact solution: what is at each place, as points and lines."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from plait.plots import style
from plait.readers.profiles import Profile

_PANELS = (("density", "Density"), ("speed", "Speed"), ("pressure", "Pressure"))
_LOGARITHMIC_FROM = 100.0  # times from low to high
_FOUND, _EXACT = "#0072B2", "#D55E00"


def plot_profile(profile: Profile) -> Figure:
    figure = style.new_figure(13, 4.4)
    for axes, (name, title) in zip(style.add_axes(figure, 1, 3), _PANELS, strict=True):
        _draw(axes, profile, name)
        axes.set_xlabel(profile.place)
        style.title(axes, title)
    figure.axes[0].legend(loc="best", fontsize=9)
    return figure


def _draw(axes: Axes, profile: Profile, name: str) -> None:
    place, found = profile.columns["place"], profile.columns[name]
    exact = profile.columns[f"exact_{name}"]
    axes.grid(visible=True)
    if name == "density":
        scatter = profile.columns["density_scatter"]
        axes.fill_between(place, found - scatter, found + scatter, color=_FOUND, alpha=0.18, lw=0)
    known = np.isfinite(exact)
    if known.any():
        axes.plot(place[known], exact[known], color=_EXACT, lw=1.6, label="exact", zorder=3)
    if not known.any() and found.min() > 0 and found.max() > _LOGARITHMIC_FROM * found.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.plot(place, found, ".", color=_FOUND, ms=4.5, label="particles, mean at a place", zorder=4)
