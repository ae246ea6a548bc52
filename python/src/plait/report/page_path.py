# SPDX-License-Identifier: Apache-2.0
"""Section of the page: the critical path of the whole run, through calls and tasks."""

from __future__ import annotations

from html import escape

import polars as pl

from plait._units import format_share, format_time
from plait.measures import run_path
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.bars import bar
from plait.report.html import figure, legend, swatch, table

_ROWS_MAX = 24
_HEADS = ("", "", "", "time", "of the path", "stretches")


def run_path_section(analysis: Analysis) -> str:
    """Of a run with calls: what its length consists of, all together and by name and rank."""
    shares = analysis.run_path_shares
    if not shares.height:
        return ""
    whole = int(shares["time_ns"].sum())
    by_what = shares.group_by("what").agg(pl.col("time_ns").sum(), pl.col("count").sum()).sort("what")
    colours = [palette.RUN_PATH[what] for what in by_what["what"].to_list()]
    parts = [time / max(1, whole) for time in by_what["time_ns"].to_list()]
    rows = [
        [
            swatch(palette.RUN_PATH[row["what"]], row["name"]),
            f"rank {row['rank']}",
            bar([row["share"]], [palette.RUN_PATH[row["what"]]]),
            format_time(row["time_ns"]),
            format_share(row["time_ns"], whole),
            f"{row['count']:,}",
        ]
        for row in shares.head(_ROWS_MAX).iter_rows(named=True)
    ]
    left_out = shares.height - _ROWS_MAX
    of_all = f" (the first {_ROWS_MAX} of {shares.height})" if left_out > 0 else ""
    texts = [run_path.WHAT[what] for what in by_what["what"].to_list()]
    return figure(
        "run-path",
        "Why the run took as long as it did",
        escape(
            "The critical path of the whole run: at each moment the thread that the end of the run "
            "waited for. It leads from a call that waited to the rank that came last, from a task to "
            "what released it, and from the end of a graph to its last task. Only what is on it is "
            "worth making faster."
        ),
        f'<div class="plot">{bar(parts, colours, "tall")}'
        f"{legend(list(zip(colours, texts, strict=True)))}"
        f"{table(f'By name and rank{of_all}', _HEADS, rows)}</div>",
        plain=True,
    )
