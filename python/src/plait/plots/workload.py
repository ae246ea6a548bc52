# SPDX-License-Identifier: Apache-2.0
"""What steps cost that update few particles, beside those that update many."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from plait.plots import style

_DOTS, _LINE, _MEAN = "#0072B2", "#8a96a3", "#D55E00"
_SHARES_PER_DECADE = 4


def plot_workload(steps: pl.DataFrame) -> Figure:
    """Time of each step against the particles that it updated, both logarithmic.

    Beside it where the run's time went, by how much of the particles steps updated.
    """
    figure = style.new_figure(13, 4.8)
    left, right = style.add_axes(figure, 1, 2, width_ratios=[1.35, 1])
    shown = steps.filter((pl.col("updated") > 0) & (pl.col("took_ms") > 0))
    updated, took = shown["updated"].to_numpy(), shown["took_ms"].to_numpy()
    left.grid(visible=True, which="major")
    left.scatter(updated, took, s=14, color=_DOTS, alpha=0.45, lw=0, label="a step", zorder=3)
    largest = updated >= 0.9 * updated.max()
    rate = float(np.median(took[largest] / updated[largest]))
    ends = np.array([updated.min(), updated.max()])
    left.plot(
        ends, rate * ends, color=_LINE, ls="--", lw=1.2, label="if time were in proportion", zorder=2
    )
    left.set_xscale("log")
    left.set_yscale("log")
    for ticks in (left.xaxis, left.yaxis):
        ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    left.set_xlabel("particles updated in the step, on all ranks")
    left.set_ylabel("time of the step [ms]")
    left.legend(loc="upper left")
    style.title(left, f"{shown.height:,} steps")

    share = updated / shown["particles"].to_numpy()
    classes = np.floor(np.log10(np.clip(share, 1e-6, 1.0)) * _SHARES_PER_DECADE + 1e-9)
    places = np.unique(classes)
    time = np.array([took[classes == c].sum() for c in places])
    work = np.array([updated[classes == c].sum() for c in places])
    at = 10 ** (places / _SHARES_PER_DECADE)
    width = 0.4 * (10 ** (1 / _SHARES_PER_DECADE) - 1) * at
    right.bar(at, 100 * time / took.sum(), width=width, align="edge", color=_DOTS, label="of the time")
    right.bar(
        at + width,
        100 * work / updated.sum(),
        width=width,
        align="edge",
        color=_MEAN,
        label="of the updates",
    )
    right.set_xscale("log")
    right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    right.set_xlabel("part of the particles that a step updates")
    right.set_ylabel("[%]")
    right.legend(loc="upper left")
    saved = 100 * updated.sum() / float(shown["particles"].sum())
    style.title(right, f"{saved:.3g} % of the updates of equal steps")
    return figure
