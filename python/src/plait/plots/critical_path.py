# SPDX-License-Identifier: Apache-2.0
"""The critical path of the step of median length, over the lanes."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plait import _events as events
from plait._units import format_share, format_time, time_unit
from plait.measures import critical_path as measure
from plait.plots import palette, style
from plait.plots.marks import HATCHES, Mark
from plait.plots.timeline import draw_lane, kind_table
from plait.report.analysis import Analysis
from plait.report.lanes import Lane, Lanes

_LANES_MAX = 64


def plot_path(analysis: Analysis, lanes: Lanes) -> Figure | None:
    step = analysis.typical_step()
    if step is None:
        return None
    path = analysis.paths.filter(pl.col("step") == step)
    workers = [lane for lane in lanes.lanes if lane.what == "worker" and lane.last_rank < 0][:_LANES_MAX]
    if not path.height or not workers:
        return None
    window = (int(path["start_ns"].item(0)), int(path["end_ns"].item(-1)))
    scale, unit = time_unit(window[1] - window[0])
    figure = style.new_figure(13, 2.0 + 0.5 * len(workers))
    axes = style.add_axes(figure)[0]
    _, marks = kind_table(analysis.run)
    for index, lane in enumerate(workers):
        draw_lane(axes, lane, (index, 0.8), marks, window, scale, alpha=0.25)
    used = _draw_path(axes, path, workers, marks, window[0], scale)
    names = [f"rank {lane.rank}, {lane.label}" for lane in workers]
    axes.set_yticks([index + 0.4 for index in range(len(workers))], names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(workers), -0.2)
    axes.set_xlim(0, (window[1] - window[0]) / scale)
    axes.set_xlabel(f"time since the start of the step [{unit}]")
    whole = window[1] - window[0]
    running = path.filter(pl.col("what") == measure.RUN)
    computing = int((running["end_ns"] - running["start_ns"]).sum())
    style.title(
        axes,
        f"Why step {step} took {format_time(whole)}: its critical path, "
        f"{format_share(computing, whole)} computing",
    )
    handles = [style.patch(marks[kind], analysis.run.kinds[kind]) for kind in used]
    handles.append(Patch(color=palette.WAITS[measure.TRANSFER], label="message under way"))
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.75 / (0.9 + 0.4 * len(workers))),
        ncols=8,
        frameon=False,
    )
    return figure


def _draw_path(
    axes: Axes,
    path: pl.DataFrame,
    workers: list[Lane],
    marks: list[Mark],
    low_ns: int,
    scale: float,
) -> list[int]:
    place = {(lane.rank, lane.worker): index for index, lane in enumerate(workers)}
    last: tuple[float, float] | None = None
    transfer = False
    used: list[int] = []
    for row in path.iter_rows(named=True):
        where = place.get((row["rank"], row["worker"]))
        if row["what"] != measure.RUN or row["role"] != events.ROLE_TASK or where is None:
            transfer = transfer or row["what"] in (measure.TRANSFER, measure.NOTICE)
            continue
        begin, end = ((row[name] - low_ns) / scale for name in ("start_ns", "end_ns"))
        axes.barh(
            where + 0.4,
            end - begin,
            left=begin,
            height=0.8,
            color=marks[row["kind"]].colour,
            hatch=HATCHES[marks[row["kind"]].pattern],
            edgecolor=style.INK,
            linewidth=0.7,
        )
        if row["kind"] not in used:
            used.append(row["kind"])
        if last is not None and (transfer or last[1] != where + 0.4):
            colour = palette.WAITS[measure.TRANSFER] if transfer else style.INK
            arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8 if transfer else 1.0}
            axes.annotate("", (begin, where + 0.4), last, arrowprops=arrow)
        last = (end, where + 0.4)
        transfer = False
    return used
