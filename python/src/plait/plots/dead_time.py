# SPDX-License-Identifier: Apache-2.0
"""Where the time of the workers went: a bar for each worker, and columns over the steps."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plait._units import format_share, time_unit
from plait.measures.dead_time import PART_TEXTS, PARTS
from plait.plots import palette, style
from plait.report.analysis import Analysis

_LANES_MAX = 48
_COLUMNS_MAX = 400


def plot_dead_time(analysis: Analysis) -> Figure | None:
    dead = analysis.dead
    if not dead.height:
        return None
    lanes = dead.head(_LANES_MAX)
    has_steps = analysis.dead_steps["step"].n_unique() > 1
    heights = [0.5 + 0.34 * lanes.height, *([2.6] if has_steps else [])]
    figure = style.new_figure(13, 1.5 + sum(heights))
    panels = style.add_axes(figure, len(heights), height_ratios=heights)
    _draw_lanes(panels[0], lanes)
    whole = int(dead.select(pl.sum_horizontal(PARTS).sum()).item())
    work = format_share(int(dead["busy_ns"].sum()), whole)
    style.title(panels[0], f"Where the time of the workers went: {work} in tasks")
    if has_steps:
        _draw_steps(panels[1], analysis.dead_steps)
    handles = [Patch(color=c, label=t) for c, t in zip(palette.DEAD_TIME, PART_TEXTS, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _draw_lanes(axes: Axes, lanes: pl.DataFrame) -> None:
    parts = lanes.select(PARTS).to_numpy()
    scale, unit = time_unit(float(parts.sum(axis=1).max()))
    left = np.zeros(lanes.height)
    for index, colour in enumerate(palette.DEAD_TIME):
        axes.barh(np.arange(lanes.height), parts[:, index] / scale, left=left, color=colour, height=0.78)
        left += parts[:, index] / scale
    names = [f"rank {rank}, worker {worker}" for rank, worker in lanes.select("rank", "worker").rows()]
    axes.set_yticks(np.arange(lanes.height), names, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, max(float(left.max()), 1e-9))
    axes.set_xlabel(f"time [{unit}]")


def _draw_steps(axes: Axes, dead: pl.DataFrame) -> None:
    inner = list(PARTS[:-1])
    steps = dead.group_by("step").agg(pl.col(inner).mean()).sort("step")
    each = -(-steps.height // _COLUMNS_MAX)
    if each > 1:
        at = pl.col("at") // each
        gathered = steps.with_row_index("at").group_by(at, maintain_order=True)
        steps = gathered.agg(pl.col("step").first(), pl.col(inner).mean())
    parts = steps.select(inner).to_numpy()
    scale, unit = time_unit(float(parts.sum(axis=1).max()))
    bottom = np.zeros(steps.height)
    for index, colour in enumerate(palette.DEAD_TIME[:-1]):
        width = 0.9 * each
        axes.bar(steps["step"].to_numpy(), parts[:, index] / scale, width, bottom, color=colour)
        bottom += parts[:, index] / scale
    axes.margins(x=0.01)
    axes.set_xlabel("step" if each == 1 else f"step (columns are means of {each})")
    axes.set_ylabel(f"mean over workers [{unit}]")
    style.title(axes, "Within each step")
