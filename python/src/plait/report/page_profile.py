# SPDX-License-Identifier: Apache-2.0
"""Sections of the page that only profiles have: time by class, durations by function, windows."""

from __future__ import annotations

import numpy as np

from plait import _events as events
from plait._units import format_count, format_share, format_time
from plait.measures.profile import bin_edges_ns, durations, rank_classes
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.bars import columns
from plait.report.html import figure, legend, swatch, table
from plait.report.page_calls import ROWS_MAX, rank_bars

#: Functions whose durations are drawn.
_DRAWN_MAX = 4
#: ... and the share of the time below which they are not.
_WORTH = 0.01
_WINDOWS_MAX = 12


def class_time_section(analysis: Analysis) -> str:
    """For each rank: computing, and calls by what they do."""
    found = rank_classes(analysis.run, analysis.calls)
    if not found.ranks:
        return ""
    colours = [palette.CLASS_TIME[what] for what in found.classes]
    whole = analysis.traffic.balance.whole()
    return figure(
        "rank-classes",
        f"What each rank's time went into: the busiest computed {100 * whole:.1f} % more than the mean",
        "Computing is the time in no call. Of the time in calls, sums do not show what was waiting for "
        "a late rank and what was moving data: ranks that compute less than others and are longer in "
        "waits or collectives wait for those.",
        f'<div class="plot">{legend(list(zip(colours, found.texts, strict=True)))}'
        f"{rank_bars(found.ranks, found.values, colours, found.texts)}</div>",
        plain=True,
    )


def durations_section(analysis: Analysis) -> str:
    if not analysis.run.is_profile:
        return ""
    found = durations(analysis.run)
    if not found.height:
        return ""
    marks = palette.function_marks(analysis.run)
    rows: list[list[str]] = []
    drawn: list[str] = []
    least = _WORTH * analysis.calls.whole_ns
    for row in found.head(ROWS_MAX).iter_rows(named=True):
        name = analysis.run.functions[row["function"]]
        times = [format_time(row[f"{quantile}_ns"]) for quantile in ("p50", "p90", "p99", "max")]
        rows.append([swatch(marks[row["function"]].css, name), f"{row['count']:,}", *times])
        if len(drawn) < _DRAWN_MAX and row["time_ns"] >= least:
            drawn.append(duration_histogram(name, row, marks[row["function"]].colour))
    heads = ("function", "calls", "half are below", "90 % below", "99 % below", "longest")
    return figure(
        "durations",
        "How long calls took",
        "Durations are counted in bins that double, so quantiles are right within a factor of 2. Two "
        "heaps far apart are calls that found their data and calls that waited for it.",
        f'<div class="plot">{table("By function", heads, rows)}<br>{"<br>".join(drawn)}</div>',
        plain=True,
    )


def duration_histogram(name: str, row: dict[str, float], colour: str, noun: str = "call") -> str:
    """How often each duration was. `row`: with BIN_COLUMNS."""
    counts = np.array([row[column] for column in events.BIN_COLUMNS], dtype=np.float64)
    used = np.flatnonzero(counts)
    if not used.size:
        return ""
    first, last = int(used[0]), int(used[-1])
    edges = bin_edges_ns()
    whole = int(counts.sum())
    tips = [
        f"{format_time(edges[i])} to {format_time(edges[i + 1])}: "
        f"{format_count(int(counts[i]), noun)}, {format_share(counts[i], whole)}"
        for i in range(first, last + 1)
    ]
    shown = columns(
        counts[first : last + 1, None],
        [colour],
        tips,
        most=f"{name}: at most {format_count(int(counts.max()), noun)} in a bin",
        marks=(format_time(edges[first]), format_time(edges[last + 1])),
    )
    return f"<div>{shown}</div>"


def windows_section(analysis: Analysis) -> str:
    """The windows whose events were recorded; nothing where there are none."""
    found = analysis.run.windows
    if not analysis.run.is_profile or not found.height:
        return ""
    low = analysis.window_ns[0]
    rows = []
    numbers = found["number"].unique().sort()
    for number in numbers.head(_WINDOWS_MAX):
        own = found.filter(found["number"] == number)
        start, end = int(own["start_ns"].to_numpy().min()), int(own["end_ns"].to_numpy().max())
        rows.append(
            [
                f"{number}",
                format_time(start - low),
                format_time(end - start),
                f"{own['rank'].n_unique():,}",
                f"<code>plait report {analysis.folder.name} --window {number}</code>",
            ]
        )
    more = numbers.len() - _WINDOWS_MAX
    caption = "Windows" + (f" (the first {_WINDOWS_MAX} of {numbers.len():,})" if more > 0 else "")
    inside = table(caption, ("window", "begins at", "length", "ranks", "its report"), rows)
    return figure(
        "windows",
        f"Windows with all events: {numbers.len():,}",
        "Of these parts of the run there is everything: what each rank did when, who waited for whom, "
        "what was in flight.",
        f'<div class="plot">{inside}</div>',
        plain=True,
    )
