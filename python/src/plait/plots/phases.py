# SPDX-License-Identifier: Apache-2.0
"""Bars of the time in each phase, the histogram of poll gaps, and counters over time."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from plait._units import format_time, time_unit
from plait.measures.counter_curves import COUNTERS_MAX, curves_to_draw
from plait.plots import palette, style
from plait.report.analysis import Analysis

_PHASES_MAX = 40


def plot_phases(analysis: Analysis) -> Figure | None:
    marks, spans = palette.kind_marks(analysis.run), palette.span_marks(analysis.run)
    tables = [
        (f"Time in each {what}, mean over ranks (line: least to most)", table, scheme)
        for what, table, scheme in (
            ("kind of task", analysis.task_phases.head(_PHASES_MAX), marks),
            ("kind of message task", analysis.message_phases.head(_PHASES_MAX), marks),
            ("span", analysis.span_phases.head(_PHASES_MAX), spans),
        )
        if table.height
    ]
    if not tables:
        return None
    heights = [table.height + 2.2 for _, table, _ in tables]
    figure = style.new_figure(10, 0.8 + 0.3 * sum(heights))
    panels = style.add_axes(figure, len(tables), height_ratios=heights)
    for axes, (text, table, scheme) in zip(panels, tables, strict=True):
        scale, unit = time_unit(float(table["max_ns"].to_numpy().max()))
        rows = np.arange(table.height)
        low, mean, high = (table[name].to_numpy() / scale for name in ("min_ns", "mean_ns", "max_ns"))
        own = [scheme[kind] for kind in table["kind"]]
        axes.barh(rows, mean, color=[mark.colour for mark in own], height=0.72, **style.lines_over(own))
        axes.hlines(rows, low, high, color=style.INK, linewidth=2)
        for row, (value, right) in enumerate(zip(table["mean_ns"], high, strict=True)):
            axes.text(right, row, f"  {format_time(value)}", va="center", fontsize=8, color=style.SOFT)
        axes.set_yticks(rows, [style.short(name) for name in table["phase"]])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"time [{unit}]")
        style.title(axes, text)
    return figure


def plot_gaps(analysis: Analysis) -> Figure | None:
    gaps = analysis.run.gaps
    if not gaps.height:
        return None
    length = np.maximum((gaps["end_ns"] - gaps["start_ns"]).to_numpy(), 1).astype(np.float64)
    scale, unit = time_unit(float(length.max()))
    low, high = length.min() / scale * 0.9, length.max() / scale * 1.1
    figure = style.new_figure(8, 4)
    axes = style.add_axes(figure)[0]
    bins = np.geomspace(low, high, 30).tolist()
    axes.hist(length / scale, bins=bins, weights=length / scale, color=palette.GAP, rwidth=0.92)
    axes.set_xscale("log")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"length of a gap [{unit}]")
    axes.set_ylabel(f"time in gaps of this length [{unit}]")
    style.title(axes, "How long no thread polled the network while something was in flight")
    return figure


def plot_counters(analysis: Analysis) -> Figure | None:
    counters = analysis.run.counters
    kinds = [k for k in range(len(analysis.run.counter_kinds)) if (counters["kind"] == k).any()]
    kinds = kinds[:COUNTERS_MAX]
    if not kinds:
        return None
    scale, unit = time_unit(analysis.total_ns)
    figure = style.new_figure(10, 0.6 + 2.6 * len(kinds))
    for axes, kind in zip(style.add_axes(figure, len(kinds)), kinds, strict=True):
        name = analysis.run.counter_kinds[kind]
        for (rank,), own in (
            curves_to_draw(counters.filter(pl.col("kind") == kind))
            .sort("time_ns")
            .group_by(["rank"], maintain_order=True)
        ):
            time = (own["time_ns"].to_numpy() - analysis.window_ns[0]) / scale
            colour = palette.rank_colour(int(str(rank)))
            axes.plot(
                time,
                own["value"],
                color=colour,
                linewidth=1.3,
                label=f"rank {rank}",
                ls=palette.rank_dash(int(str(rank))),
            )
        axes.grid()
        axes.set_xlabel(f"time since the start of the run [{unit}]")
        style.title(axes, f"{style.short(name).capitalize()} over time")
        if len(axes.lines) <= 12:
            axes.legend(loc="best")
    return figure
