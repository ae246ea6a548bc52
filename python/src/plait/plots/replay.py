# SPDX-License-Identifier: Apache-2.0
"""A recorded exchange beside its replay; time against the size of messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plait._units import bytes_unit, format_time, time_unit
from plait.measures.messages import data_rate, in_flight
from plait.measures.replay import Exchange, Knee
from plait.plots import palette, style

_POINTS_MAX = 30_000
_BINS = 200
_LEGEND_MAX = 12
#: Of two lengths: from here on the shorter would be lost on the longer one's axis.
_RATIO_MAX = 4
_NAMES = ("as logged", "replayed")


def plot_comparison(logged: Exchange, replayed: Exchange) -> Figure | None:
    """Three rows: data in flight, rate into each rank, time of sending against time of receiving.

    On the same axes; if one takes more than `_RATIO_MAX` times as long, on axes of their own."""
    both = (logged, replayed)
    if any(not one.messages or one.length_ns <= 0 for one in both):
        return None
    longest = max(one.length_ns for one in both)
    is_shared = longest <= _RATIO_MAX * min(one.length_ns for one in both)
    figure = style.new_figure(12, 10.5)
    axes = style.add_axes(figure, 3, 2, sharey="row" if is_shared else False)
    units = [time_unit(longest if is_shared else one.length_ns) for one in both]
    scales = [scale for scale, _ in units]
    _draw_in_flight(axes[0:2], both, scales)
    _draw_rate(axes[2:4], both, scales)
    _draw_scatter(axes[4:6], both, units)
    for place, axis in enumerate(axes):
        side = place % 2
        axis.set_xlim(0, (longest if is_shared else both[side].length_ns) / scales[side])
        axis.set_ylim(bottom=0)
        axis.grid(axis="both")
        axis.set_axisbelow(True)
    for axis, name, one in zip(axes, _NAMES, both, strict=False):
        style.title(axis, f"{name}: {format_time(one.length_ns)}")
    for axis, (_, unit) in zip(axes[2:4], units, strict=True):
        axis.set_xlabel(f"time since the first message [{unit}]")
    ranks = np.unique(logged.matched["source"].to_numpy())
    if ranks.size <= _LEGEND_MAX:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return figure


def _draw_in_flight(axes: Sequence[Axes], both: Sequence[Exchange], scales: Sequence[float]) -> None:
    curves = [in_flight(one.matched) for one in both]
    size, name = bytes_unit(max(curve.peak() for each in curves for curve in each.values()))
    for axis, each, one, scale in zip(axes, curves, both, scales, strict=True):
        for rank, curve in each.items():
            time = (curve.time_ns - one.window_ns[0]) / scale
            axis.step(
                time,
                curve.value / size,
                where="post",
                color=palette.rank_colour(rank),
                linewidth=0.9,
                label=f"rank {rank}",
            )
    axes[0].set_ylabel(f"in flight from each rank [{name}]")


def _draw_rate(axes: Sequence[Axes], both: Sequence[Exchange], scales: Sequence[float]) -> None:
    found = [data_rate(one.matched, one.window_ns, _BINS) for one in both]
    high = max(float(rate.max()) for _, rates in found for rate in rates.values())
    size, name = next(
        ((s, n) for s, n in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")) if high >= s), (1.0, "B/s")
    )
    for axis, (edges, rates), one, scale in zip(axes, found, both, scales, strict=True):
        for rank, rate in rates.items():
            time = (edges - one.window_ns[0]) / scale
            axis.stairs(rate / size, time, color=palette.rank_colour(rank), linewidth=0.9)
    axes[0].set_ylabel(f"rate into each rank [{name}]")


def _draw_scatter(
    axes: Sequence[Axes], both: Sequence[Exchange], units: Sequence[tuple[float, str]]
) -> None:
    for axis, one, (scale, unit) in zip(axes, both, units, strict=True):
        matched = one.matched
        if matched.height > _POINTS_MAX:
            matched = matched[np.linspace(0, matched.height - 1, _POINTS_MAX).astype(np.int64)]
        sent = (matched["sent_ns"].to_numpy() - one.window_ns[0]) / scale
        received = (matched["received_ns"].to_numpy() - one.window_ns[0]) / scale
        high = one.length_ns / scale
        axis.plot([0, high], [0, high], color=style.SOFT, linewidth=1, linestyle="--")
        colours = [palette.rank_colour(int(rank)) for rank in matched["source"].to_numpy()]
        axis.scatter(
            sent, received, s=10 if matched.height < 2000 else 3, c=colours, alpha=0.5, linewidths=0
        )
        axis.set_xlabel(f"sent [{unit}]")
    axes[0].set_ylabel(f"received [{units[0][1]}]")


def plot_scaling(scales: Sequence[float], times_s: Sequence[float], knee: Knee | None) -> Figure:
    """Logarithmic on both axes; a dashed line for time in proportion to size."""
    figure = style.new_figure(8, 5.4)
    axes = style.add_axes(figure)[0]
    x, y = np.asarray(scales), np.asarray(times_s)
    order = np.argsort(x)
    x, y = x[order], y[order]
    unit_ns, unit = time_unit(float(y.max()) * 1e9)
    y = y * 1e9 / unit_ns
    with style.context():
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
    axes.plot(
        x,
        y[-1] * x / x[-1],
        color=style.SOFT,
        linewidth=1,
        linestyle="--",
        label="in proportion to size",
    )
    axes.plot(x, y, "o", color=palette.rank_colour(0), markersize=7, label="replayed")
    if knee is not None:
        fitted = np.asarray(knee.fitted_s)[order] * 1e9 / unit_ns
        axes.plot(x, fitted, color=palette.rank_colour(1), linewidth=1.5, label="two-piece fit")
        axes.axvline(knee.scale, color=palette.rank_colour(1), linewidth=1, linestyle=":")
        axes.annotate(
            f"latency takes over\nbelow {knee.scale:.2g}",
            (knee.scale, 0.04),
            xycoords=("data", "axes fraction"),
            xytext=(6, 0),
            textcoords="offset points",
            color=style.SOFT,
            fontsize=9,
        )
    axes.set_ylim(float(y.min()) * 0.6, float(y.max()) * 1.6)
    axes.set_xticks(x, [f"1/{round(1 / value)}" if value < 1 else f"{value:g}" for value in x])
    steps = [10.0**power * digit for power in range(-3, 5) for digit in (1, 2, 5)]
    shown = [value for value in steps if y.min() * 0.6 <= value <= y.max() * 1.6]
    axes.set_yticks(shown, [f"{value:g}" for value in shown])
    axes.minorticks_off()
    axes.grid()
    axes.set_xlabel("factor on the size of each message")
    axes.set_ylabel(f"length of the exchange [{unit}]")
    style.title(axes, "Time against size")
    axes.legend(loc="upper left")
    return figure
