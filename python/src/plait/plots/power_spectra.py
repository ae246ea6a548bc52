# SPDX-License-Identifier: Apache-2.0
"""A cosmological run: power spectra beside linear theory, and groups by mass."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plait.plots import style
from plait.readers.groups import Groups
from plait.readers.power_spectra import PowerSpectrum

_CURVES_MAX = 7
_AGREES = 0.05
_POWERS = FuncFormatter(lambda value, _: f"{value:.0e}")


def plot_power_spectra(spectra: list[PowerSpectrum]) -> Figure:
    """Left the spectra, dashed what linear theory makes of the first; right their ratio."""
    chosen = _spread(spectra)
    colours = colormaps["viridis_r"](np.linspace(0.08, 1, len(chosen)))
    figure = style.new_figure(13, 5.0)
    left, right = style.add_axes(figure, 1, 2)
    for one, colour in zip(chosen, colours, strict=True):
        label = f"redshift {one.redshift:.3g}"
        left.plot(one.wave_number, one.power, color=colour, lw=1.8, label=label)
        left.plot(one.wave_number, one.linear, color=colour, lw=1.0, ls="--")
        right.plot(one.wave_number, one.power / one.linear, color=colour, lw=1.8, label=label)
    left.set_yscale("log")
    left.yaxis.set_major_formatter(_POWERS)
    left.set_ylabel("power [Mpc^3]")
    left.plot([], [], color=style.SOFT, lw=1.0, ls="--", label="linear theory")
    left.legend(loc="lower left", fontsize=9)
    style.title(left, "Power spectra")
    right.axhspan(1 - _AGREES, 1 + _AGREES, color="#8a96a3", alpha=0.2, lw=0)
    right.axhline(1, color="#8a96a3", lw=1.0, ls="--")
    top = max(2.0, min(12.0, 1.1 * max(float((one.power / one.linear).max()) for one in chosen)))
    right.set_ylim(0, top)
    right.set_ylabel("over linear theory")
    style.title(right, f"Growth beside linear theory (band: {_AGREES:.0%})")
    for axes in (left, right):
        _label_waves(axes)
    return figure


def plot_groups(times: list[Groups]) -> Figure:
    """How many groups are at least as heavy, over time."""
    figure = style.new_figure(7.5, 5.0)
    (axes,) = style.add_axes(figure, 1, 1)
    chosen = times[-_CURVES_MAX:]
    colours = colormaps["viridis_r"](np.linspace(0.08, 1, len(chosen)))
    for groups, colour in zip(chosen, colours, strict=True):
        masses = np.sort(groups.masses)[::-1] * 1e10
        number = np.arange(1, masses.size + 1)
        axes.step(
            masses, number, where="pre", color=colour, lw=1.8, label=f"redshift {groups.redshift:.3g}"
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(_POWERS)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("mass [solar masses]")
    axes.set_ylabel("groups at least as heavy")
    axes.grid(visible=True)
    axes.legend(loc="best", fontsize=9)
    style.title(axes, "Groups by mass")
    return figure


def _spread(spectra: list[PowerSpectrum]) -> list[PowerSpectrum]:
    """Some, evenly in the logarithm of the scale factor, with the first and the last."""
    scale = np.log([1 / (1 + one.redshift) for one in spectra])
    wanted = np.linspace(scale[0], scale[-1], _CURVES_MAX)
    nearest = np.abs(scale[None, :] - wanted[:, None]).argmin(axis=1)
    return [spectra[i] for i in np.unique(nearest)]


def _label_waves(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("wave number k [1/Mpc]")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True)
