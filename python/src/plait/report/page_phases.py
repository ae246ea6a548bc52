# SPDX-License-Identifier: Apache-2.0
"""Sections of the page: the time in each phase, and the critical path of a step."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import polars as pl

from plait._units import format_share, format_time
from plait.measures import critical_path
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.html import figure, swatch, table


def phases_section(analysis: Analysis) -> str:
    tables = []
    fills = [mark.css for mark in palette.kind_marks(analysis.run)]
    if analysis.task_phases.height:
        tables.append(_phase_table("Tasks", analysis.task_phases, fills))
    if analysis.message_phases.height:
        tables.append(_phase_table("Messages (overlapping, no worker)", analysis.message_phases, fills))
    if analysis.span_phases.height:
        spans = [mark.css for mark in palette.span_marks(analysis.run)]
        tables.append(_phase_table("Spans", analysis.span_phases, spans))
    if not tables:
        return ""
    return figure(
        "phases",
        "Time in each phase",
        "The bar is the mean over ranks, the black line reaches from the rank that spent least to the "
        "one that spent most. Imbalance is the most over the mean.",
        f'<div class="plot">{"".join(tables)}</div>',
        plain=True,
    )


def _phase_table(title: str, phases: pl.DataFrame, colours: Sequence[str]) -> str:
    longest = max(1.0, float(phases["max_ns"].to_numpy().max()))
    rows = []
    for row in phases.iter_rows(named=True):
        colour = colours[row["kind"]]
        mean, low, high = (100 * row[name] / longest for name in ("mean_ns", "min_ns", "max_ns"))
        bar = (
            f'<div class="track short"><div style="left:0;width:{mean:.2f}%;background:{colour}"></div>'
            f'<div class="range" style="left:{low:.2f}%;width:{max(0.3, high - low):.2f}%"></div></div>'
        )
        times = (format_time(row[name]) for name in ("total_ns", "mean_ns", "max_ns"))
        name = swatch(colour, row["phase"])
        rows.append([name, bar, f"{row['count']:,}", *times, f"{row['imbalance']:.2f}"])
    heads = ("phase", "", "count", "sum over ranks", "mean", "most", "imbalance")
    return table(title, heads, rows) + "<br>"


def path_section(analysis: Analysis) -> str:
    if not analysis.shares.height:
        return ""
    whole = int(analysis.shares["time_ns"].sum())
    marks = palette.kind_marks(analysis.run)
    colours = {name: mark.css for name, mark in zip(analysis.run.kinds, marks, strict=True)}
    rows = []
    for row in analysis.shares.iter_rows(named=True):
        running = row["what"] == critical_path.RUN
        colour = colours.get(row["name"], "#777") if running else palette.WAITS[row["what"]]
        rows.append(
            f'<tr><td><i style="background:{colour}"></i>{escape(str(row["name"]))}</td>'
            f"<td>{row['count']:,}</td><td>{format_time(row['time_ns'])}</td>"
            f"<td>{format_share(row['time_ns'], whole)}</td></tr>"
        )
    tools = (
        '<div class="tools"><button data-act="typical">Typical step</button>'
        '<button data-act="slowest">Slowest step</button><button data-act="before">‹ Step</button>'
        '<button data-act="after">Step ›</button><span class="which"></span></div>'
    )
    overall = (
        f"<table><caption>All steps ({analysis.steps.height:,})</caption><thead><tr>"
        "<th>on the path</th><th>times</th><th>time</th><th>share</th></tr></thead>"
        f"{''.join(rows)}</table>"
    )
    return figure(
        "path",
        "Why a step took as long as it did",
        "The critical path: from the task that ended last back to what each task waited for last, the "
        "task before it on its worker, the one that released it, or a message (red). Making anything "
        "outside it faster does not shorten the step.",
        f'{tools}<p class="sentence"></p><div class="plot"></div>'
        '<div class="tables"><div class="wide"><table class="path-table"></table></div>'
        f'<div class="wide">{overall}</div></div>'
        "<details><summary>Every stretch of this step, in order of time</summary>"
        '<div class="wide"><table class="path-list"></table></div></details>',
    )
