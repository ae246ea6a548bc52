# SPDX-License-Identifier: Apache-2.0
"""Who sends how much to whom, in messages of which sizes, and how even the load is over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from plait._units import bytes_unit, format_bytes, time_unit
from plait.measures.balance import waiting_shares
from plait.measures.rank_groups import group_matrix, group_rows, group_size
from plait.plots import palette, style
from plait.report.analysis import Analysis

GROUPS_MAX = 512
_ROWS_MAX = 256
_NUMBERS_MAX = 8
#: In percent: beyond, hardly anybody computes at all.
_IMBALANCE_MAX = 400

Floats = npt.NDArray[np.float64]


def colour_map(name: str, stops: tuple[str, ...]) -> Colormap:
    return LinearSegmentedColormap.from_list(name, list(stops))


def plot_matrix(analysis: Analysis) -> Figure | None:
    ranks = analysis.run.ranks
    messages = group_matrix(analysis.traffic.matrix, ranks, GROUPS_MAX)
    collectives = group_matrix(analysis.traffic.collectives, ranks, GROUPS_MAX)
    parts = [
        ("Bytes in messages", messages.bytes, True),
        ("Messages", messages.messages, False),
        ("Bytes in collectives", collectives.bytes, True),
    ]
    parts = [part for part in parts if part[1].any()]
    if not parts or ranks < 2:
        return None
    figure = style.new_figure(0.4 + 5.2 * len(parts), 5.3)
    for axes, (name, values, is_bytes) in zip(style.add_axes(figure, 1, len(parts)), parts, strict=True):
        _draw_matrix(figure, axes, values, ranks, is_bytes=is_bytes)
        style.title(axes, name)
    return figure


def _draw_matrix(figure: Figure, axes: Axes, values: Floats, ranks: int, *, is_bytes: bool) -> None:
    shown: Floats = np.where(values > 0, values, np.nan)
    least, most = float(np.nanmin(shown)), float(np.nanmax(shown))
    # At least a power of ten from pale to dark, so that small differences appear small.
    scale = LogNorm(min(least, most / 10), most)
    image = axes.imshow(
        shown,
        cmap=colour_map("amounts", palette.AMOUNTS),
        norm=scale,
        interpolation="nearest",
        extent=(-0.5, ranks - 0.5, ranks - 0.5, -0.5),
    )
    axes.set_facecolor("#f4f6f8")
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    axes.locator_params(integer=True)
    if ranks <= _NUMBERS_MAX:
        for (row, column), value in np.ndenumerate(values):
            if value > 0:
                colour = palette.ink_on(palette.AMOUNTS[round(6 * float(scale(value)))])
                text = format_bytes(value) if is_bytes else f"{value:,.0f}"
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.02)
    low, high = float(scale.vmin or 1.0), float(scale.vmax or 1.0)
    ticks = [low, (low * high) ** 0.5, high]
    names = [format_bytes(value) if is_bytes else f"{value:,.3g}" for value in ticks]
    bar.ax.minorticks_off()
    bar.set_ticks(ticks, labels=names)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)


def plot_sizes(analysis: Analysis) -> Figure | None:
    sizes = analysis.traffic.sizes
    if not sizes.height:
        return None
    figure = style.new_figure(13, 3.6)
    panels = style.add_axes(figure, 1, 2)
    _draw_sizes(panels[0], sizes, sizes["messages"].to_numpy().astype(np.float64), palette.AMOUNTS[4])
    panels[0].set_ylabel("messages")
    panels[0].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    style.title(panels[0], "Messages by size")
    scale, unit = bytes_unit(float(sizes["bytes"].to_numpy().max()))
    _draw_sizes(panels[1], sizes, sizes["bytes"].to_numpy() / scale, palette.AMOUNTS[2])
    panels[1].set_ylabel(f"bytes [{unit}]")
    style.title(panels[1], "Bytes by size of message")
    return figure


def _draw_sizes(axes: Axes, sizes: pl.DataFrame, values: Floats, colour: str) -> None:
    count = sizes.height
    axes.bar(np.arange(count), values, 0.92, color=colour)
    every = -(-count // 12)
    at = np.arange(0, count, every)
    names = [format_bytes(low) if low else "0" for low in sizes["low_bytes"].to_list()]
    axes.set_xticks(at - 0.46, [names[i] for i in at], fontsize=8.5)
    axes.set_xlabel("size of a message, from (up to the next power of two)")
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def plot_balance(analysis: Analysis) -> Figure | None:
    balance = analysis.traffic.balance
    if analysis.run.is_profile or len(balance.ranks) < 2 or not balance.computing_ns.any():
        return None
    shares = waiting_shares(balance)
    rows = group_rows(shares, group_size(len(balance.ranks), _ROWS_MAX))
    scale, unit = time_unit(analysis.total_ns)
    edges = (balance.edges_ns - analysis.window_ns[0]) / scale
    heights = [min(7.0, 1.2 + 0.22 * rows.shape[0]), 1.7]
    figure = style.new_figure(13, 1.0 + sum(heights))
    panels = style.add_axes(figure, len(heights), sharex=True, height_ratios=heights)
    image = panels[0].imshow(
        100 * rows,
        cmap=colour_map("waiting", palette.WAITING),
        norm=Normalize(0, 100),
        aspect="auto",
        interpolation="nearest",
        extent=(edges[0], edges[-1], len(balance.ranks) - 0.5, -0.5),
    )
    panels[0].set_ylabel("rank")
    panels[0].locator_params(axis="y", integer=True)
    inside = "in calls" if analysis.run.calls.height else "idle"
    bar = figure.colorbar(image, ax=panels[0], pad=0.01, fraction=0.03)
    bar.set_label(f"time {inside} [%]")
    bar.outline.set_visible(False)
    style.title(panels[0], f"How much of the time each rank was {inside}")
    _draw_imbalance(panels[1], edges, balance.imbalance)
    panels[-1].set_xlabel(f"time since the start of the run [{unit}]")
    return figure


def _draw_imbalance(axes: Axes, edges: Any, imbalance: Floats) -> None:
    high = 100 * float(imbalance.max(initial=0.0))
    axes.stairs(
        np.minimum(100 * imbalance, _IMBALANCE_MAX), edges, fill=True, color="#D55E00", alpha=0.75
    )
    cut = f", cut\nat {_IMBALANCE_MAX}" if high > _IMBALANCE_MAX else ""
    axes.set_ylabel(f"most over\nmean [%{cut}]")
    axes.set_ylim(0, max(5.0, 1.05 * min(high, _IMBALANCE_MAX)))
    axes.grid(axis="y")
