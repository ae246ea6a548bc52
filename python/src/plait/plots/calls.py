# SPDX-License-Identifier: Apache-2.0
"""Calls of a recorded program: a lane for each rank, time in them, what was waited for, and overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plait._units import format_share, time_unit
from plait.measures.profile import rank_classes
from plait.measures.rank_groups import group_rows, group_size
from plait.measures.rank_time import PART_TEXTS, PARTS, large_parts, rank_times
from plait.plots import palette, style
from plait.plots.timeline import draw_lane, kind_table
from plait.report.analysis import Analysis
from plait.report.lanes import Lane, Lanes

_LANES_MAX = 48
_CLOSE_MAX = 32
_ARROWS_MAX = 300
_ROWS_MAX = 14
_NAME_MAX = 52
_BARS_MAX = 32
_COLUMNS_MAX = 400

Floats = npt.NDArray[np.float64]

_RANK_TIME_TITLE = "What each rank's time went into"


def plot_lanes(analysis: Analysis, lanes: Lanes) -> Figure | None:
    """Two panels: the whole run, and a stretch of it in which messages can be distinguished."""
    own = [lane for lane in lanes.lanes if lane.what == "calls"]
    if not own:
        return None
    groups = [lane for lane in own if lane.last_rank >= 0]
    if groups:
        own = [*(lane for lane in own if lane.last_rank < 0), *groups[:: -(-len(groups) // _LANES_MAX)]]
    elif len(own) > _LANES_MAX:
        at = np.linspace(0, len(own) - 1, _LANES_MAX).astype(np.int64).tolist()
        own = [own[i] for i in at]
    close = _close_window(analysis) if len(own) <= _CLOSE_MAX else None
    panels = 1 if close is None else 2
    figure = style.new_figure(13, panels * (1.0 + 0.26 * max(3, len(own))) + 0.8)
    axes = style.add_axes(figure, panels)
    names, marks = kind_table(analysis.run)
    shown = _draw_panel(axes[0], own, analysis, analysis.window_ns)
    of_ranks = "" if len(own) == len(analysis.run.ranks_present) else f" ({len(own)} lanes of them)"
    if groups:
        of_ranks = " (ranks with most and least, and means of groups)"
    style.title(axes[0], f"What each rank did: computing, and calls{of_ranks}")
    if close is not None:
        shown |= _draw_panel(axes[1], own, analysis, close)
        _draw_messages(axes[1], own, analysis, close)
        style.title(axes[1], "The same, close up, with messages")
    handles = [Patch(color=palette.COMPUTING, label="computing (in no call)")]
    handles += [style.patch(marks[kind], names[kind]) for kind in sorted(shown)[:39]]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False, fontsize=8.5)
    return figure


def _close_window(analysis: Analysis) -> tuple[int, int] | None:
    """From the middle of the run, as long as about a hundred messages, or calls, take."""
    events = analysis.matched["sent_ns"] if analysis.matched.height else analysis.run.calls["start_ns"]
    if events.len() < 200:
        return None
    times = np.sort(events.to_numpy())
    first = times.size // 2
    low, high = int(times[first]), int(times[min(times.size - 1, first + 100)])
    room = max(1000, (high - low) // 8)
    return max(analysis.window_ns[0], low - room), min(analysis.window_ns[1], high + 2 * room)


def _draw_panel(axes: Axes, own: list[Lane], analysis: Analysis, window_ns: tuple[int, int]) -> set[int]:
    _, marks = kind_table(analysis.run)
    scale, unit = time_unit(window_ns[1] - window_ns[0])
    whole = (window_ns[1] - window_ns[0]) / scale
    shown: set[int] = set()
    for row, lane in enumerate(own):
        bars = lane.bars()
        low = (int(bars["start_ns"].to_numpy().min()) - window_ns[0]) / scale
        high = (int(bars["end_ns"].to_numpy().max()) - window_ns[0]) / scale
        ends = [max(0.0, low), min(whole, high)]
        axes.fill_between(ends, row, row + 0.84, color=palette.COMPUTING, linewidth=0, zorder=0)
        shown |= draw_lane(axes, lane, (row, 0.84), marks, window_ns, scale)
    axes.set_yticks(np.arange(len(own)) + 0.42, [_name(lane) for lane in own], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(own), -0.16)
    axes.set_xlim(0, whole)
    begin = (window_ns[0] - analysis.window_ns[0]) / time_unit(analysis.total_ns)[0]
    since = "the start of the run" if not begin else f"{begin:.4g} {time_unit(analysis.total_ns)[1]}"
    axes.set_xlabel(f"time since {since} [{unit}]")
    return shown


def _name(lane: Lane) -> str:
    if lane.last_rank >= 0:
        return f"mean of {lane.rank} to {lane.last_rank}"
    return f"rank {lane.rank}" if lane.label == "calls" else f"rank {lane.rank}, {lane.label}"


def _draw_messages(axes: Axes, own: list[Lane], analysis: Analysis, window_ns: tuple[int, int]) -> None:
    scale, _ = time_unit(window_ns[1] - window_ns[0])
    row = {lane.rank: index + 0.42 for index, lane in reversed(list(enumerate(own)))}
    inside = analysis.matched.filter(
        (pl.col("received_ns") <= window_ns[1]) & (pl.col("sent_ns") >= window_ns[0])
    )
    if inside.height > _ARROWS_MAX:
        return
    for sent, received, source, to in inside.select(
        "sent_ns", "received_ns", "source", "destination"
    ).iter_rows():
        if source not in row or to not in row or source == to:
            continue
        axes.annotate(
            "",
            xy=((received - window_ns[0]) / scale, row[to]),
            xytext=((sent - window_ns[0]) / scale, row[source]),
            arrowprops={
                **{"arrowstyle": "-|>", "color": style.INK, "alpha": 0.6, "linewidth": 0.6},
                **{"mutation_scale": 7, "shrinkA": 0, "shrinkB": 0},
            },
        )


def plot_call_times(analysis: Analysis) -> Figure | None:
    """By function, and by call site."""
    run, calls = analysis.run, analysis.calls
    if not calls.by_function.height:
        return None
    colours = [mark.colour for mark in palette.function_marks(run)]
    functions = _bars(
        calls.by_function, [run.functions[f] for f in calls.by_function["function"]], colours
    )
    places = [
        f"{str(run.sites[site]) if site >= 0 else 'unknown place'}: {run.functions[function]}"
        for function, site in calls.by_site.select("function", "site").iter_rows()
    ]
    sites = _bars(calls.by_site, places, colours)
    figure = style.new_figure(13, 1.8 + 0.28 * (len(functions) + len(sites)))
    panels = style.add_axes(figure, 2, height_ratios=[1 + len(functions), 1 + len(sites)])
    inside = format_share(int(calls.by_function["time_ns"].sum()), calls.whole_ns)
    for axes, rows, name in zip(
        panels,
        (functions, sites),
        (f"Time in calls, by function: {inside} of the ranks' time", "By call site"),
        strict=True,
    ):
        _draw_bars(axes, rows, calls.whole_ns)
        style.title(axes, name)
    return figure


def _bars(found: pl.DataFrame, names: Sequence[str], colours: list[str]) -> list[tuple[str, float, str]]:
    """(name, time, colour) of the longest, the rest together."""
    times = found["time_ns"].to_list()
    own = [colours[function] for function in found["function"]]
    rows = [
        (name if len(name) <= _NAME_MAX else f"…{name[1 - _NAME_MAX :]}", float(time), colour)
        for name, time, colour in zip(names, times, own, strict=True)
    ]
    if len(rows) > _ROWS_MAX:
        rest = sum(time for _, time, _ in rows[_ROWS_MAX:])
        rows = [*rows[:_ROWS_MAX], (f"{len(rows) - _ROWS_MAX} more", rest, "#9aa5b1")]
    return rows


def _draw_bars(axes: Axes, rows: list[tuple[str, float, str]], whole_ns: int) -> None:
    at = np.arange(len(rows))
    longest = max(time for _, time, _ in rows) or 1.0
    scale, unit = time_unit(longest)
    axes.barh(at, [time / scale for _, time, _ in rows], color=[c for _, _, c in rows], height=0.74)
    for row, (_, time, _) in enumerate(rows):
        axes.text(
            time / scale,
            row,
            f" {format_share(time, whole_ns)}",
            va="center",
            fontsize=8,
            color=style.SOFT,
        )
    axes.set_yticks(at, [name for name, _, _ in rows], fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08 * longest / scale)
    axes.set_xlabel(f"time, summed over ranks [{unit}]")


def plot_waits(analysis: Analysis) -> Figure | None:
    if not analysis.calls.by_rank.height:
        return None
    if analysis.run.is_profile:
        found = rank_classes(analysis.run, analysis.calls)
        colours = [palette.CLASS_TIME[what] for what in found.classes]
        return _stacks(found.ranks, found.values, colours, found.texts, _RANK_TIME_TITLE)
    times = rank_times(analysis.run, analysis.calls)
    values = times.select(PARTS).to_numpy().astype(np.float64)
    shown = large_parts(values)
    values[:, -1] += values.sum(axis=1) - values[:, shown].sum(axis=1)
    return _stacks(
        times["rank"].to_list(),
        values[:, shown],
        [palette.RANK_TIME[i] for i in shown],
        [PART_TEXTS[i] for i in shown],
        _RANK_TIME_TITLE,
    )


def plot_overlap(analysis: Analysis) -> Figure | None:
    found = analysis.calls.overlap_by_rank
    if not found.height or not int(found["transfer_ns"].sum()):
        return None
    transfer, possible, achieved = (
        found[name].to_numpy().astype(np.float64)
        for name in ("transfer_ns", "possible_ns", "achieved_ns")
    )
    share = format_share(achieved.sum(), possible.sum()) if possible.sum() else "none"
    return _stacks(
        found["rank"].to_list(),
        np.stack([achieved, possible - achieved, transfer - possible], axis=1),
        list(palette.OVERLAP),
        ["hidden behind computing", "could have been hidden", "nothing to hide it behind"],
        f"Moving data of non-blocking messages: {share} of the possible overlap achieved",
    )


def _stacks(
    ranks: list[int], values: Floats, colours: list[str], texts: list[str], title: str
) -> Figure:
    """A bar for each rank; of many, columns, and of very many, means of neighbours."""
    scale, unit = time_unit(float(values.sum(axis=1).max()))
    is_long = len(ranks) > _BARS_MAX
    figure = style.new_figure(13, 4.2 if is_long else 1.7 + 0.3 * len(ranks))
    axes = style.add_axes(figure)[0]
    each = group_size(len(ranks), _COLUMNS_MAX)
    drawn = group_rows(values, each) / scale
    at = np.asarray(ranks[::each], dtype=np.float64)
    before = np.zeros(drawn.shape[0])
    for index, colour in enumerate(colours):
        if is_long:
            top = before + drawn[:, index]
            axes.stairs(top, [*at, at[-1] + each], baseline=before, fill=True, color=colour)
        else:
            axes.barh(np.arange(len(ranks)), drawn[:, index], left=before, color=colour, height=0.78)
        before += drawn[:, index]
    if is_long:
        axes.margins(x=0.005)
        axes.set_xlabel("rank" if each == 1 else f"rank (columns are means of {each})")
        axes.set_ylabel(f"time [{unit}]")
    else:
        axes.set_yticks(np.arange(len(ranks)), [f"rank {rank}" for rank in ranks], fontsize=8.5)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set_xlim(0, max(float(before.max()), 1e-9))
        axes.set_xlabel(f"time [{unit}]")
    style.title(axes, title)
    handles = [Patch(color=c, label=t) for c, t in zip(colours, texts, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure
