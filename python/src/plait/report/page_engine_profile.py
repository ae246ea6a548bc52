# SPDX-License-Identifier: Apache-2.0
"""Sections of the page of a profile of plait's engine: tasks by kind, messages by size, regions."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from plait import _events as events
from plait._units import format_bytes, format_share, format_time
from plait.measures.engine_profile import message_sums, region_sums, task_sums, task_time_by_rank
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.html import figure, legend, swatch, table
from plait.report.page_calls import ROWS_MAX, rank_bars
from plait.report.page_profile import duration_histogram

_DRAWN_MAX = 4
_QUANTILES = ("p50_ns", "p90_ns", "p99_ns", "max_ns")
_QUANTILE_HEADS = ("half are below", "90 % below", "99 % below", "longest")
_TEXT = "Durations are counted in bins that double, so quantiles are right within a factor of 2. "


def engine_sections(analysis: Analysis) -> list[str]:
    """Empty texts where the run has no such sums."""
    return [
        _rank_section(analysis),
        _task_section(analysis),
        _message_section(analysis),
        _region_section(analysis),
    ]


def _rank_section(analysis: Analysis) -> str:
    """Of each rank the time of its workers in tasks, and the rest."""
    found = task_time_by_rank(analysis.run)
    if not found.height:
        return ""
    length = analysis.window_ns[1] - analysis.window_ns[0]
    workers = int(analysis.run.meta.get("workers") or 0)
    threads = np.maximum(found["workers"].to_numpy().astype(np.int64), workers)
    busy = found["time_ns"].to_numpy().astype(np.float64)
    values = np.stack([busy, np.maximum(threads * length - busy, 0.0)], axis=1)
    mean = float(values[:, 0].mean())
    over = 100 * (float(values[:, 0].max()) / max(mean, 1.0) - 1)
    colours, texts = [palette.COMPUTING, "#e8ebef"], ["in tasks", "in no task"]
    bars = rank_bars(found["rank"].to_list(), values, colours, texts)
    return figure(
        "engine-ranks",
        f"What the workers' time went into: the busiest rank is {over:.1f} % above the mean",
        "Of all workers of a rank, from the begin of the recording to its end.",
        f'<div class="plot">{legend(list(zip(colours, texts, strict=True)))}{bars}</div>',
        plain=True,
    )


def _task_section(analysis: Analysis) -> str:
    run, found = analysis.run, task_sums(analysis.run)
    if not found.height:
        return ""
    marks = palette.bar_marks(run)
    whole = int(found["time_ns"].sum())
    rows: list[list[str]] = []
    drawn: list[str] = []
    for row in found.head(ROWS_MAX).iter_rows(named=True):
        kind = row["kind"]
        name = run.kinds[kind] if kind >= 0 else "kinds folded together"
        colour = marks[kind].css if kind >= 0 else "#9aa5b1"
        rows.append([swatch(colour, name), *_cells(row, whole), *_waits(row)])
        if len(drawn) < _DRAWN_MAX and kind >= 0:
            drawn.append(duration_histogram(name, row, marks[kind].colour, "task"))
    heads = ("kind", "tasks", "time", "share", *_QUANTILE_HEADS, "queued, mean", "99 % below")
    inside = table("By kind", heads, rows)
    return figure(
        "engine-tasks",
        "Each kind of task: how often, how long, how long queued",
        f"{_TEXT}Queued is from being ready to the start.",
        f'<div class="plot">{inside}<br>{"<br>".join(drawn)}</div>',
        plain=True,
    )


def _message_section(analysis: Analysis) -> str:
    found = message_sums(analysis.run)
    if not found.height:
        return ""
    whole = int(found["time_ns"].sum())
    rows = []
    for row in found.iter_rows(named=True):
        protocol = events.PROTOCOLS[row["protocol"]]
        size = _sizes(row["size_class"])
        cells = [escape(size), protocol, *_cells(row, whole), *_waits(row), format_bytes(row["bytes"])]
        rows.append(cells)
    heads = ("size", "protocol", "messages", "time", "share", *_QUANTILE_HEADS, "to the network, mean")
    inside = table("As they were sent", (*heads, "99 % below", "bytes"), rows)
    return figure(
        "engine-messages",
        "Messages of the engine: how long sends took, by size",
        f"{_TEXT}From posting to completion; to the network: from posting until it had the data.",
        f'<div class="plot">{inside}</div>',
        plain=True,
    )


def _region_section(analysis: Analysis) -> str:
    run, found = analysis.run, region_sums(analysis.run)
    if not found.height:
        return ""
    whole = int(found["time_ns"].sum())
    rows = [
        [
            escape(run.span_kinds[row["span"]] if row["span"] >= 0 else "regions folded together"),
            *_cells(row, whole),
        ]
        for row in found.head(ROWS_MAX).iter_rows(named=True)
    ]
    inside = table("By name", ("region", "times", "time", "share", *_QUANTILE_HEADS), rows)
    return figure(
        "engine-regions",
        "Regions and phases",
        f"{_TEXT}Sums over all ranks.",
        f'<div class="plot">{inside}</div>',
        plain=True,
    )


def _cells(row: dict[str, Any], whole_ns: int) -> list[str]:
    times = [format_time(row[name]) for name in _QUANTILES]
    share = format_share(row["time_ns"], max(1, whole_ns))
    return [f"{row['count']:,}", format_time(row["time_ns"]), share, *times]


def _waits(row: dict[str, Any]) -> list[str]:
    mean = (row["waited_ns"] or 0) / max(1, row["count"])
    return [format_time(mean), format_time(row["waited_p99_ns"] or 0)]


def _sizes(size_class: int) -> str:
    if size_class == 0:
        return "no data"
    if size_class == 255:
        return "sizes folded together"
    return f"{format_bytes(1 << (size_class - 1))} to {format_bytes((1 << size_class) - 1)}"
