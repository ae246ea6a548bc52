# SPDX-License-Identifier: Apache-2.0
"""The task plot of one rank as a picture, on the time axis that all ranks share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from plait._events import Run
from plait._units import time_unit
from plait.measures.idle import covered_until
from plait.plots import palette, style
from plait.plots.marks import HATCHES, OTHER, Mark, is_line
from plait.report.analysis import Analysis
from plait.report.lanes import Lane, Lanes, bar_kinds

#: Ranks that get a picture of their own; the page shows all.
RANKS_MAX = 16
#: More bars than this in a lane are drawn as shares of each pixel column.
BARS_MAX = 1_500
_GAP = 0.15
_COLUMNS = 1600
_ROWS = 40
_TILE = 12  # pixels, after which patterns repeat
#: Whether a pixel of a tile belongs to a pattern's lines: [pattern, y, x].
_LINES = np.asarray(
    [
        [[int(is_line(pattern, x, y)) for x in range(_TILE)] for y in range(_TILE)]
        for pattern in range(len(HATCHES))
    ]
)
_HEIGHTS = {
    "worker": 1.0,
    "spans": 0.35,
    "gaps": 0.3,
    "messages": 0.22,
    "calls": 1.0,
    "background": 0.22,
}


def plot_rank(run: Run, lanes: Lanes, analysis: Analysis, rank: int) -> Figure | None:
    own = [lane for lane in lanes.lanes if lane.rank == rank]
    if not own:
        return None
    close = _close_window(analysis)
    panels = 1 if close is None else 2
    height = sum(_HEIGHTS[lane.what] + _GAP for lane in own)
    figure = style.new_figure(13, min(24.0, panels * max(1.6, 0.9 + 0.5 * height) + 0.7))
    axes = style.add_axes(figure, panels)
    names, marks = kind_table(run)
    shown = _draw_panel(axes[0], own, analysis, analysis.window_ns)
    mean = analysis.ranks.filter(analysis.ranks["rank"] == rank)["idle_share"]
    idle = f": {100 * float(mean.item()):.1f} % idle" if mean.len() else ""
    style.title(axes[0], f"What each worker of rank {rank} did{idle}")
    if close is not None:
        shown |= _draw_panel(axes[1], own, analysis, close)
        style.title(axes[1], f"The same, close up: around step {analysis.typical_step()}")
    handles = [style.patch(marks[kind], names[kind]) for kind in _with_marks(marks, shown)]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False, fontsize=8.5)
    return figure


def _close_window(analysis: Analysis) -> tuple[int, int] | None:
    """Two steps from the typical one on, where the whole run has too many to see one."""
    if analysis.steps.height <= 6:
        return None
    numbers = analysis.steps["step"].to_list()
    first = min(numbers.index(analysis.typical_step()), len(numbers) - 2)
    low = int(analysis.steps["start_ns"].item(first))
    high = int(analysis.steps["end_ns"].item(first + 1))
    room = (high - low) // 50
    return low - room, high + room


def _draw_panel(axes: Axes, own: list[Lane], analysis: Analysis, window_ns: tuple[int, int]) -> set[int]:
    _, marks = kind_table(analysis.run)
    scale, unit = time_unit(window_ns[1] - window_ns[0])
    shown: set[int] = set()
    ticks: list[tuple[float, str]] = []
    top = 0.0
    for lane in own:
        size = _HEIGHTS[lane.what]
        shown |= draw_lane(axes, lane, (top, size), marks, window_ns, scale)
        label = lane_label(lane, analysis)
        if label:
            ticks.append((top + size / 2, label))
        top += size + _GAP
    axes.set_yticks([y for y, _ in ticks], [label for _, label in ticks], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top, -_GAP)
    axes.set_xlim(0, (window_ns[1] - window_ns[0]) / scale)
    since = "the run" if window_ns == analysis.window_ns else "this stretch"
    axes.set_xlabel(f"time since the start of {since} [{unit}]")
    starts = (analysis.steps["start_ns"].to_numpy() - window_ns[0]) / scale
    starts = starts[(starts >= 0) & (starts <= (window_ns[1] - window_ns[0]) / scale)]
    if starts.size <= 40:
        axes.vlines(starts, -_GAP, top, color=style.SOFT, linewidth=0.7, linestyle=(0, (4, 3)))
    return shown


def _with_marks(marks: list[Mark], shown: set[int]) -> list[int]:
    """All kinds with marks of their own, and one of the others, if there are any."""
    own = [kind for kind in sorted(shown) if marks[kind] != OTHER]
    return own + [kind for kind in sorted(shown) if marks[kind] == OTHER][:1]


def kind_table(run: Run) -> tuple[list[str], list[Mark]]:
    """Names and marks of all kinds of bars, in the order in which make_lanes numbers them."""
    marks = palette.bar_marks(run)
    names = (
        "other kinds" if mark == OTHER else name
        for name, mark in zip(bar_kinds(run), marks, strict=True)
    )
    return list(names), marks


def lane_label(lane: Lane, analysis: Analysis) -> str:
    if lane.what != "worker":
        return lane.label
    table = analysis.lanes
    found = table.filter((table["rank"] == lane.rank) & (table["worker"] == lane.worker))
    return f"{lane.label}\n{100 * float(found['idle_share'].item()):.1f} % idle"


def draw_lane(
    axes: Axes,
    lane: Lane,
    place: tuple[float, float],
    marks: list[Mark],
    window_ns: tuple[int, int],
    scale: float,
    alpha: float = 1.0,
) -> set[int]:
    """Draws one lane at `place`, (top, height); returns the kinds that are in it."""
    bars = lane.bars()
    inside = (bars["end_ns"] >= window_ns[0]) & (bars["start_ns"] <= window_ns[1])
    bars = bars.filter(inside)
    start = (bars["start_ns"].to_numpy() - window_ns[0]) / scale
    end = (bars["end_ns"].to_numpy() - window_ns[0]) / scale
    kind = bars["kind"].to_numpy()
    top, size = place
    if lane.what == "worker":
        width = (window_ns[1] - window_ns[0]) / scale
        axes.fill_between([0, width], top, top + size, color="#f4f6f8", linewidth=0, zorder=0)
    if start.size > BARS_MAX:
        image = _shares_image(start, end, kind, marks, (window_ns[1] - window_ns[0]) / scale)
        extent = (0.0, (window_ns[1] - window_ns[0]) / scale, top + size, top)
        axes.imshow(image, extent=extent, aspect="auto", interpolation="nearest", zorder=1)
    else:
        corners = np.stack(
            [
                np.stack([start, np.full(start.size, top)], axis=1),
                np.stack([start, np.full(start.size, top + size)], axis=1),
                np.stack([end, np.full(start.size, top + size)], axis=1),
                np.stack([end, np.full(start.size, top)], axis=1),
            ],
            axis=1,
        )
        _add_bars(axes, corners, kind, marks, alpha)
    return set(np.unique(kind).tolist())


def _add_bars(
    axes: Axes,
    corners: npt.NDArray[np.float64],
    kind: npt.NDArray[np.int32],
    marks: list[Mark],
    alpha: float,
) -> None:
    colour = np.asarray([to_rgb(mark.colour) for mark in marks])
    line = np.asarray([to_rgb(mark.line) for mark in marks])
    pattern = np.asarray([mark.pattern for mark in marks])
    for number in np.unique(pattern[kind]).tolist():
        own = pattern[kind] == number
        shapes = PolyCollection(
            list(corners[own]), facecolors=colour[kind[own]], linewidths=0, alpha=alpha
        )
        if number:
            shapes.set(hatch=HATCHES[number], edgecolors=line[kind[own]])
        axes.add_collection(shapes)


def _shares_image(
    start: npt.NDArray[np.float64],
    end: npt.NDArray[np.float64],
    kind: npt.NDArray[np.int32],
    marks: list[Mark],
    width: float,
) -> npt.NDArray[np.uint8]:
    """Each pixel column shows its time by kind, stacked from below; white is idle."""
    edges = np.linspace(0.0, width, _COLUMNS + 1)
    shares = np.zeros((len(marks), _COLUMNS))
    for index in np.unique(kind):
        own = kind == index
        shares[index] = np.diff(covered_until(start[own], end[own], edges)) / (width / _COLUMNS)
    tops = np.minimum(np.cumsum(shares, axis=0), 1.0) * _ROWS
    image = np.full((_ROWS, _COLUMNS, 4), 0, dtype=np.uint8)
    rows = np.arange(_ROWS)[::-1, None] + 0.5
    which = (rows[:, :, None] > tops.T[None, :, :]).sum(axis=2)
    table = np.zeros((2, len(marks) + 1, 4), dtype=np.uint8)
    for index, mark in enumerate(marks):
        for layer, colour in enumerate((mark.colour, mark.line)):
            table[layer, index] = [*(int(255 * part) for part in to_rgb(colour)), 255]
    patterns = np.asarray([*(mark.pattern for mark in marks), 0])
    y, x = np.mgrid[: which.shape[0], : which.shape[1]]
    image[:] = table[_LINES[patterns[which], y % _TILE, x % _TILE], which]
    return image
