# SPDX-License-Identifier: Apache-2.0
"""Data in flight, data rate, and when messages were sent against when they were received."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from plait._units import bytes_unit, format_time, time_unit
from plait.measures.messages import data_rate, in_flight, since_step_start, thinned
from plait.plots import palette, style
from plait.report.analysis import Analysis

_POINTS_MAX = 60_000
_BINS = 500
#: Of a curve as wide as a figure: more steps than this cannot be distinguished.
_COLUMNS = 800
_LEGEND_MAX = 16
_HIGHEST = 8

Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))


def plot_in_flight(analysis: Analysis) -> Figure | None:
    if not analysis.matched.height:
        return None
    curves = in_flight(analysis.matched)
    scale, unit = time_unit(analysis.total_ns)
    size, name = bytes_unit(max(curve.peak() for curve in curves.values()))
    figure = style.new_figure(13, 3.6)
    axes = style.add_axes(figure)[0]
    chosen = _highest({rank: curve.peak() for rank, curve in curves.items()})
    for rank in chosen:
        curve = thinned(curves[rank], analysis.window_ns, _COLUMNS)
        time = (curve.time_ns - analysis.window_ns[0]) / scale
        colour = palette.rank_colour(rank)
        value = curve.value / size
        axes.step(time, value, where="post", color=colour, linewidth=0.9, label=f"rank {rank}")
    axes.set_xlim(0, analysis.total_ns / scale)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_xlabel(f"time since the start of the run [{unit}]")
    axes.set_ylabel(f"data in flight [{name}]")
    of_ranks = _told(chosen, len(curves), "in flight")
    style.title(axes, f"Data in flight: sent by each rank and not yet received{of_ranks}")
    _legend(figure, len(chosen))
    return figure


def plot_rate(analysis: Analysis) -> Figure | None:
    if not analysis.matched.height:
        return None
    edges, rates = data_rate(analysis.matched, analysis.window_ns, _BINS)
    scale, unit = time_unit(analysis.total_ns)
    high = max(float(rate.max()) for rate in rates.values())
    size, name = next(((s, n) for s, n in _RATES if high >= s), (1.0, "B/s"))
    figure = style.new_figure(13, 3.6)
    axes = style.add_axes(figure)[0]
    chosen = _highest({rank: float(rate.max()) for rank, rate in rates.items()})
    time = (edges - analysis.window_ns[0]) / scale
    if len(chosen) < len(rates):
        mean = np.mean(list(rates.values()), axis=0) / size
        axes.stairs(mean, time, color=style.INK, linewidth=1.3, label="mean of all")
    for rank in chosen:
        colour = palette.rank_colour(rank)
        axes.stairs(rates[rank] / size, time, color=colour, linewidth=0.9, label=f"rank {rank}")
    axes.set_xlim(0, analysis.total_ns / scale)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_xlabel(f"time since the start of the run [{unit}]")
    axes.set_ylabel(f"data rate [{name}]")
    style.title(axes, f"Data rate into each rank{_told(chosen, len(rates), 'rate')}")
    _legend(figure, len(chosen))
    return figure


def plot_scatter(analysis: Analysis) -> Figure | None:
    matched = analysis.matched
    if not matched.height:
        return None
    if matched.height > _POINTS_MAX:
        matched = matched[np.linspace(0, matched.height - 1, _POINTS_MAX).astype(np.int64)]
    if analysis.steps.height < 2:
        return _plot_delays(analysis, matched)
    starts = analysis.steps["start_ns"].to_numpy()
    sent_ns = matched["sent_ns"].to_numpy()
    sent = since_step_start(sent_ns, sent_ns, starts).astype(np.float64)
    received = since_step_start(matched["received_ns"].to_numpy(), sent_ns, starts)
    # The few slowest must not squeeze the rest into a corner.
    high = float(np.quantile(received, 0.999)) * 1.03
    scale, unit = time_unit(high)
    figure = style.new_figure(8, 6.4)
    axes = style.add_axes(figure)[0]
    axes.plot([0, high / scale], [0, high / scale], color=style.SOFT, linewidth=1, linestyle="--")
    count = _scatter(axes, sent / scale, received / scale, matched["source"].to_numpy())
    axes.set_xlim(0, high / scale)
    axes.set_ylim(0, high / scale)
    axes.grid()
    axes.set_axisbelow(True)
    axes.set_xlabel(f"sent, since the start of its step [{unit}]")
    axes.set_ylabel(f"received, since the start of its step [{unit}]")
    style.title(axes, "When messages were sent, and when received")
    _legend(figure, count)
    return figure


def _plot_delays(analysis: Analysis, matched: pl.DataFrame) -> Figure:
    """Of a run without steps: how long each message was under way."""
    sent_ns, received_ns = matched["sent_ns"].to_numpy(), matched["received_ns"].to_numpy()
    scale, unit = time_unit(analysis.total_ns)
    delay = np.maximum(received_ns - sent_ns, 1)
    figure = style.new_figure(13, 4.4)
    axes = style.add_axes(figure)[0]
    time = (sent_ns - analysis.window_ns[0]) / scale
    count = _scatter(axes, time, delay, matched["source"].to_numpy())
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(_time_text))
    axes.minorticks_off()
    axes.set_xlim(0, analysis.total_ns / scale)
    axes.grid()
    axes.set_axisbelow(True)
    axes.set_xlabel(f"sent, since the start of the run [{unit}]")
    axes.set_ylabel("from sending to the end of the receive")
    style.title(axes, "How long messages were under way")
    _legend(figure, count)
    return figure


def _time_text(value: float, _: int | None) -> str:
    return format_time(value)


def _scatter(axes: Axes, x: Numbers, y: Numbers, source: npt.NDArray[np.int32]) -> int:
    """Coloured by sender; each by itself only where a legend can name it. Returns how many there are."""
    ranks = np.unique(source)
    is_named = ranks.size <= _LEGEND_MAX
    colours = np.asarray([to_rgba(palette.rank_colour(int(rank))) for rank in ranks])
    for rank in ranks if is_named else [-1]:
        own = source == rank if is_named else source >= 0
        axes.scatter(
            x[own],
            y[own],
            s=12 if source.size < 2000 else 3,
            c=colours[np.searchsorted(ranks, source[own])],
            alpha=0.5,
            linewidths=0,
            label=f"rank {rank}" if is_named else None,
        )
    return int(ranks.size)


def _highest(peaks: dict[int, float]) -> list[int]:
    """All ranks, or of more than can be distinguished those with the highest peaks, by number."""
    if len(peaks) <= _LEGEND_MAX:
        return sorted(peaks)
    ordered = sorted(peaks, key=lambda rank: (-peaks[rank], rank))
    return sorted(ordered[:_HIGHEST])


def _told(chosen: list[int], count: int, what: str) -> str:
    return f" (the {len(chosen)} of {count:,} with most {what})" if len(chosen) < count else ""


def _legend(figure: Figure, count: int) -> None:
    if count <= _LEGEND_MAX:
        legend = figure.axes[0].legend(loc="upper right", ncols=min(8, count), markerscale=2)
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1.0)
