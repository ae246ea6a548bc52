# SPDX-License-Identifier: Apache-2.0
"""Sections of the page: where workers' time went, and the numbers of each kind of task."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait import _events as events
from plait._units import format_share, format_time
from plait.measures.dead_time import PART_TEXTS, PARTS
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.html import figure, legend, swatch, table

_LANES_MAX = 128
_COLUMNS_MAX = 400
_HEADS = ("in tasks", "before", "between, ready", "between, none ready", "after", "no graph")
_WIDTH, _HEIGHT = 1000, 180


def dead_time_section(analysis: Analysis) -> str:
    """For each worker, and for each step the mean over workers."""
    dead = analysis.dead
    if not dead.height:
        return ""
    whole = dead.select(pl.sum_horizontal(PARTS).alias("whole"))["whole"].to_numpy()
    colours = palette.DEAD_TIME
    rows = []
    total = {name: int(dead[name].sum()) for name in PARTS}
    rows.append(_dead_row("all workers", total, int(whole.sum())))
    for row, length in zip(dead.head(_LANES_MAX).iter_rows(named=True), whole, strict=False):
        rows.append(_dead_row(f"rank {row['rank']}, worker {row['worker']}", row, int(length)))
    heads = ["", "", *_HEADS]
    left_out = dead.height - _LANES_MAX
    caption = "Each worker" + (f" (the first {_LANES_MAX} of {dead.height:,})" if left_out > 0 else "")
    inside = legend(list(zip(colours, PART_TEXTS, strict=True)))
    inside += f'<div class="plot">{table(caption, heads, rows)}{_dead_steps(analysis)}</div>'
    return figure(
        "dead-time",
        "Where the time of the workers went",
        "A step of a rank lasts from the start of the graph's run there to the end of the rank's "
        "last task or message. Between two tasks of a worker, either a task was ready on its rank "
        "(it had no lock, or no worker had taken it yet) or nothing was: it waited for messages or "
        "for other workers. Time in which no graph was running is the program's own between steps.",
        inside,
        plain=True,
    )


def _dead_row(label: str, parts: dict[str, int], whole: int) -> list[str]:
    shares = [100 * parts[name] / max(1, whole) for name in PARTS]
    bar = "".join(
        f'<div style="left:{sum(shares[:i]):.2f}%;width:{share:.2f}%;background:{palette.DEAD_TIME[i]};'
        'border-radius:0"></div>'
        for i, share in enumerate(shares)
    )
    cells = [
        f"{format_time(parts[name])}<br><small>{format_share(parts[name], whole)}</small>"
        for name in PARTS
    ]
    return [label, f'<div class="track tall">{bar}</div>', *cells]


def _dead_steps(analysis: Analysis) -> str:
    """Columns of a step each, or of some, mean over the workers; what lies within steps."""
    inner = [*PARTS[:-1]]
    steps = (
        analysis.dead_steps.group_by("step")
        .agg(pl.col(inner).mean())
        .sort("step")
        .select("step", *inner)
    )
    if steps.height < 2:
        return ""
    each = -(-steps.height // _COLUMNS_MAX)
    gathered = (
        steps.with_row_index("at")
        .group_by(pl.col("at") // each, maintain_order=True)
        .agg(
            pl.col("step").min().alias("first"), pl.col("step").max().alias("last"), pl.col(inner).mean()
        )
    )
    values = gathered.select(inner).to_numpy()
    high = max(1.0, float(values.sum(axis=1).max()))
    width = _WIDTH / gathered.height
    shapes = []
    for index, (first, last) in enumerate(gathered.select("first", "last").rows()):
        tops = np.concatenate(([0.0], np.cumsum(values[index]))) / high * _HEIGHT
        told = [f"step {first}" if first == last else f"steps {first} to {last}, mean"]
        told += [f"{text}: {format_time(v)}" for text, v in zip(PART_TEXTS, values[index], strict=False)]
        bars = "".join(
            f'<rect x="{index * width:.2f}" y="{_HEIGHT - tops[i + 1]:.2f}" width="{width * 0.9:.2f}" '
            f'height="{tops[i + 1] - tops[i]:.2f}" fill="{palette.DEAD_TIME[i]}"/>'
            for i in range(len(inner))
        )
        shapes.append(f'<g data-tip="{"&#10;".join(told)}">{bars}</g>')
    return (
        f'<p class="above">Within each step, mean over the workers (highest: {format_time(high)}; '
        f"{'each column is a step' if each == 1 else f'each column is the mean of {each} steps'}, from "
        f"{steps['step'].item(0)} to {steps['step'].item(-1)})</p>"
        f'<svg class="columns" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">'
        f"{''.join(shapes)}</svg>"
    )


def kinds_section(analysis: Analysis) -> str:
    kinds = analysis.kinds
    if not kinds.height:
        return ""
    colours = [mark.css for mark in palette.kind_marks(analysis.run)]
    parts = []
    for captions, wanted in (
        ("Tasks", pl.col("role") == events.ROLE_TASK),
        ("Messages, from posting to the end", pl.col("role") != events.ROLE_TASK),
    ):
        rows = [_kind_row(row, colours) for row in kinds.filter(wanted).iter_rows(named=True)]
        if rows:
            parts.append(table(captions, _KIND_HEADS, rows))
    return figure(
        "kinds",
        "Each kind of task in numbers",
        "Queued is the time from ready to start, in the mean and for 95 % of them. By rank: the "
        "mean on the rank where tasks of this kind were shortest, and where they were longest.",
        f'<div class="plot">{"<br>".join(parts)}</div>',
        plain=True,
    )


_KIND_HEADS = (
    *("kind", "count", "sum", "share", "mean", "least", "median", "95 %", "99 %", "most"),
    *("queued", "95 %", "by rank"),
)


def _kind_row(row: dict[str, float], colours: list[str]) -> list[str]:
    low, high = format_time(row["low_mean_ns"]), format_time(row["high_mean_ns"])
    return [
        swatch(colours[int(row["kind"])], str(row["name"])),
        f"{row['count']:,}",
        format_time(row["sum_ns"]),
        f"{100 * row['share']:.1f} %",
        *(format_time(row[f"{name}_ns"]) for name in ("mean", "min", "median", "p95", "p99", "max")),
        *(format_time(row[name]) for name in ("queued_ns", "queued_p95_ns")),
        low if low == high else f"{low} – {high}",
    ]
