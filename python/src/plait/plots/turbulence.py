# SPDX-License-Identifier: Apache-2.0
"""A run of plait-dns: spectra, energy over time, and the strength of vorticity."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plait.plots import style
from plait.readers.turbulence import Floats, Measurements, VorticitySlice

_INK, _BLUE, _ORANGE, _GREEN = "#1b2430", "#0072B2", "#D55E00", "#009E73"
_TIMES = "viridis_r"
_CURVES_MAX = 7
_SHOWN_MIN = 1e-16  # of the highest: below is rounding


def plot_spectra(measured: Measurements) -> Figure:
    """Energy spectrum over time, and transfer at the last one."""
    figure = style.new_figure(13, 4.8)
    left, right = style.add_axes(figure, 1, 2)
    _draw_spectra(left, measured)
    _draw_transfer(right, measured)
    return figure


def plot_history(measured: Measurements) -> Figure:
    """Energy, dissipation, and measures of the turbulence, over time."""
    columns = measured.columns
    figure = style.new_figure(13, 4.2)
    panels = style.add_axes(figure, 1, 3)
    time = columns["time"]
    _draw_pair(panels[0], time, ("energy", columns["energy"]), None)
    style.title(panels[0], "Kinetic energy")
    _draw_pair(panels[1], time, ("dissipation", columns["dissipation"]), None)
    style.title(panels[1], "Dissipation")
    second = ("resolution k_max eta", columns["k_max_eta"])
    _draw_pair(panels[2], time, ("Taylor-scale Reynolds number", columns["taylor_reynolds"]), second)
    style.title(panels[2], "Reynolds number and resolution")
    if time.size > 1:
        rate = -np.gradient(columns["energy"], time)
        panels[1].plot(
            *(time, rate + _power(columns)),
            color=_ORANGE,
            lw=1.2,
            ls="--",
            label="-dE/dt + forcing",
            zorder=1,
        )
        panels[1].legend(loc="best", frameon=False, fontsize=9)
    return figure


def plot_vorticity(slices: list[VorticitySlice]) -> Figure:
    """The middle plane in z, each with its own scale."""
    figure = style.new_figure(6.6 * len(slices), 6.0)
    for axes, one in zip(style.add_axes(figure, 1, len(slices)), slices, strict=True):
        _draw_slice(axes, one)
    return figure


def _power(columns: dict[str, Floats]) -> Floats:
    return columns.get("forcing_power", np.zeros_like(columns["time"]))


def _draw_spectra(axes: Axes, measured: Measurements) -> None:
    time = measured.columns["time"]
    chosen = np.unique(np.linspace(0, time.size - 1, _CURVES_MAX).round().astype(int))
    norm = Normalize(float(time[0]), max(float(time[-1]), float(time[0]) + 1e-12))
    colours = ScalarMappable(norm, _TIMES)
    k = np.arange(measured.spectrum.shape[1])
    top = max(float(np.nanmax(measured.spectrum, initial=0.0)), 1e-300)
    drawn: list[float] = []
    for row in chosen:
        energy = measured.spectrum[row]
        shown = (k > 0) & (energy > _SHOWN_MIN * top)
        if shown.any():
            axes.plot(
                *(k[shown], energy[shown]),
                color=colours.to_rgba(time[row]),
                lw=2.2 if row == chosen[-1] else 1.3,
                marker="o" if shown.sum() < 12 else None,
                ms=3,
            )
            drawn.append(float(energy[shown].min()))
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_guide(axes, measured.spectrum[-1], k)
    if measured.k_max > 1:
        axes.axvline(measured.k_max, color="#9aa5b1", lw=1, ls=":")
        axes.annotate(
            "k_max", (measured.k_max, 1.0), xycoords=("data", "axes fraction"), fontsize=8,
            xytext=(3, -10), textcoords="offset points", color=style.SOFT,
        )  # fmt: skip
    axes.set_ylim(max(min(drawn, default=1e-3), 1e-12 * top) * 0.5, 4 * top)
    axes.set_xlabel("wave number k")
    axes.set_ylabel("E(k)")
    axes.grid(True, which="major")
    _label_waves(axes)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    style.title(axes, "Energy spectrum")
    bar = axes.figure.colorbar(colours, ax=axes, pad=0.02, aspect=30)
    bar.set_label("time")
    bar.outline.set_visible(False)


def _label_waves(axes: Axes) -> None:
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_guide(axes: Axes, energy: Floats, k: np.ndarray) -> None:
    """k^(-5/3), just above the last spectrum."""
    shown = (k >= 1) & (energy > 0)
    if shown.sum() < 4:
        return
    ends = np.array([2.0, max(4.0, k[shown][-1] / 2)])
    inside = shown & (k >= ends[0]) & (k <= ends[1])
    if not inside.any():
        return
    height = float((energy[inside] * k[inside] ** (5 / 3)).max()) * 1.8
    axes.plot(ends, height * ends ** (-5 / 3), color=_INK, lw=1.1, ls="--")
    middle = float(np.sqrt(ends.prod()))
    axes.annotate(
        "k^(-5/3)", (middle, height * middle ** (-5 / 3)), fontsize=9,
        xytext=(4, 5), textcoords="offset points",
    )  # fmt: skip


def _draw_transfer(axes: Axes, measured: Measurements) -> None:
    k = np.arange(measured.transfer.shape[1])
    energy, transfer = measured.spectrum[-1], measured.transfer[-1]
    loss = 2 * measured.viscosity * k**2 * energy
    flux = -np.cumsum(transfer)
    axes.axhline(0, color="#9aa5b1", lw=0.8)
    axes.plot(k[1:], transfer[1:], color=_BLUE, lw=1.8, label="transfer T(k) into each shell")
    axes.plot(k[1:], -loss[1:], color=_ORANGE, lw=1.8, label="lost to viscosity, -2 nu k^2 E(k)")
    axes.plot(k[1:], flux[1:], color=_GREEN, lw=1.3, ls="--", label="flux through k")
    if k.size > 2:
        axes.set_xscale("log")
        _label_waves(axes)
    axes.set_xlabel("wave number k")
    axes.set_ylabel("energy per time")
    axes.grid(True, which="major")
    axes.legend(loc="best", frameon=False, fontsize=9)
    time = measured.columns["time"][-1]
    style.title(axes, f"Where energy goes, t = {time:.4g}")


def _draw_pair(
    axes: Axes, time: Floats, first: tuple[str, Floats], second: tuple[str, Floats] | None
) -> None:
    marker = "o" if time.size < 20 else None
    axes.plot(time, first[1], color=_BLUE, lw=1.8, marker=marker, ms=3, label=first[0])
    axes.set_xlabel("time")
    axes.set_ylabel(first[0], color=_BLUE)
    axes.grid(True)
    top = float(np.nanmax(first[1], initial=0.0))
    axes.set_ylim(0, 1.08 * top if top > 0 else 1)
    if second is not None:
        other = axes.twinx()
        other.plot(time, second[1], color=_ORANGE, lw=1.5, marker=marker, ms=3)
        other.set_ylabel(second[0], color=_ORANGE)
        other.set_ylim(0, max(1.08 * float(np.nanmax(second[1], initial=0.0)), 1e-12))
        for side in ("top", "left", "bottom"):
            other.spines[side].set_visible(False)
        other.spines["right"].set_color("#9aa5b1")


def _draw_slice(axes: Axes, one: VorticitySlice) -> None:
    values = one.values
    finite = values[np.isfinite(values)]
    top = float(np.quantile(finite, 0.998)) if finite.size else 0.0
    image = axes.imshow(
        values,
        origin="lower",
        extent=(0, 2 * np.pi, 0, 2 * np.pi),
        cmap="inferno",
        norm=Normalize(0.0, top if top > 0 else 1.0),
        interpolation="bicubic" if min(values.shape) < 256 else "nearest",
    )
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03, extend="max")
    bar.outline.set_visible(False)
    bar.set_label("|vorticity|")
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    style.title(axes, f"Step {one.step}, t = {one.time:.4g}")
