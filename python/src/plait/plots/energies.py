# SPDX-License-Identifier: Apache-2.0
"""Energies of a particle code over time, and how well their sum is kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from plait.plots import style

_KINDS = (
    ("kinetic", "motion", "#0072B2"),
    ("thermal", "heat", "#D55E00"),
    ("potential", "gravity", "#009E73"),
    ("energy", "all", "#1b2430"),
)


def plot_energies(columns: dict[str, npt.NDArray[np.float64]]) -> Figure:
    figure = style.new_figure(13, 4.2)
    left, right = style.add_axes(figure, 1, 2)
    time, whole = columns["time"], columns["energy"]
    for name, label, colour in _KINDS:
        if np.any(columns[name] != 0):
            left.plot(
                time, columns[name], color=colour, lw=2.0 if name == "energy" else 1.5, label=label
            )
    left.legend(loc="best")
    left.set_xlabel("time")
    style.title(left, "Energy")
    scale = float(np.max([np.abs(columns[name]).max() for name, _, _ in _KINDS])) or 1.0
    right.plot(time, 100 * (whole - whole[0]) / scale, color="#1b2430", lw=1.5)
    right.axhline(0, color="#8a96a3", lw=1.0, ls="--")
    right.set_xlabel("time")
    right.set_ylabel("of the largest energy [%]")
    style.title(right, "Change of the sum")
    for axes in (left, right):
        axes.grid(visible=True)
    return figure
