# SPDX-License-Identifier: Apache-2.0
"""The load of each rank, as it was and as each balancer would have it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from plait.plots import palette, style

_BARS_MAX = 256
_LINES_MAX = 12


def draw_loads(results: dict[str, Any]) -> Figure:
    """Left: ranks by number, before and with the best. Right: of every line, imbalance against bytes.

    `results`: what plait-balance writes with --json.
    """
    lines = results["lines"]
    best = min(lines[1:] or lines, key=lambda line: line["cost_max_s"])
    mean = results["load_mean_s"]
    unit, factor = _unit(lines[0]["load_max_s"])
    figure = style.new_figure(12, 4.6)
    left, right = style.add_axes(figure, 1, 2, width_ratios=[3, 2])
    with style.context():
        _by_rank(left, lines[0], best, factor)
        left.axhline(mean * factor, color=style.INK, linewidth=0.8, linestyle=(0, (4, 3)))
        left.set_xlabel("rank")
        left.set_ylabel(f"load of a phase ({unit})")
        _trade(right, lines)
    style.title(left, f"Loads before and with {best['balancer']}")
    style.title(right, "What evenness costs")
    return figure


def _by_rank(axes: Any, before: dict[str, Any], best: dict[str, Any], factor: float) -> None:
    ranks = len(before["loads_s"])
    colours = palette.COMPUTING, palette.OVERLAP[0]
    for line, colour, label in (
        (before, colours[0], f"as it was: {_share(before)}"),
        (best, colours[1], f"{best['balancer']}: {_share(best)}"),
    ):
        loads = np.asarray(line["loads_s"]) * factor
        if ranks <= _BARS_MAX:
            wide = line is before
            axes.bar(
                np.arange(ranks), loads, width=0.9 if wide else 0.45, color=colour, label=label, lw=0
            )
        else:
            axes.step(np.arange(ranks), loads, where="mid", color=colour, linewidth=0.8, label=label)
    axes.margins(x=0.01)
    axes.set_ylim(0, 1.3 * max(before["load_max_s"], best["load_max_s"], 1e-300) * factor)
    axes.legend(loc="upper right")
    if ranks <= 16:
        axes.set_xticks(np.arange(ranks))


def _share(line: dict[str, Any]) -> str:
    return f"{100 * line['imbalance']:.3g} % above the mean"


def _trade(axes: Any, lines: list[dict[str, Any]]) -> None:
    """What is left of the imbalance, against what elements send each other from then on."""
    least = 1e-6  # Zero has no place on a logarithmic axis, and less than this cannot be measured.
    shown = [lines[0], *sorted(lines[1:], key=lambda line: line["imbalance"])[: _LINES_MAX - 1]]
    talks = any(line["bytes_between_ranks"] > 0 for line in lines)
    what = "bytes_between_ranks" if talks else "bytes_moved"
    most = max(line[what] for line in lines)
    unit, factor = next(
        ((u, f) for u, f in (("GB", 1e-9), ("MB", 1e-6), ("kB", 1e-3)) if most * f >= 1), ("B", 1.0)
    )
    for number, line in enumerate(shown):
        colour = "#8a97a5" if number == 0 else palette.kind_colour(number - 1)
        place = line[what] * factor, max(100 * line["imbalance"], 100 * least)
        axes.plot(
            *place, "s" if number == 0 else "o", color=colour, markersize=8, label=line["balancer"]
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(left=0, right=1.08 * most * factor or None)
    shares = [max(100 * line["imbalance"], 100 * least) for line in shown]
    axes.set_ylim(min(shares) / 4, max(shares) * 4)
    axes.grid(True, which="major")
    axes.set_xlabel(
        f"sent between ranks in a phase ({unit})" if talks else f"moved ({unit}); nothing is sent"
    )
    axes.set_ylabel("imbalance (% above the mean)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8)


def _unit(seconds: float) -> tuple[str, float]:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return unit, factor
    return "µs", 1e6
