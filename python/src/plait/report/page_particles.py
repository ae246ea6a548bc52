# SPDX-License-Identifier: Apache-2.0
"""The phases of a particle code's step, as a table."""

from __future__ import annotations

import polars as pl

from plait._units import format_share
from plait.measures.particle_steps import phase_times
from plait.report.analysis import Analysis
from plait.report.html import figure, table

_HEADS = ("", "", "mean of ranks [ms]", "largest [ms]", "on rank", "largest over mean", "of all phases")
_COLOUR = "#5B7FA6"


def particle_phases_section(analysis: Analysis) -> str:
    """Milliseconds of workers in a step; nothing for programs that note no phases."""
    times = phase_times(analysis.run)
    if not times.height:
        return ""
    ranks = analysis.run.ranks
    phases = (
        times.sort("mean_ms", descending=True)
        .group_by("phase", maintain_order=True)
        .agg(
            (pl.col("mean_ms").sum() / ranks).alias("mean"),
            pl.col("mean_ms").max().alias("largest"),
            pl.col("rank").first().alias("on"),
        )
        .sort("mean", descending=True)
    )
    whole = float(phases["mean"].to_numpy().sum())
    top = float(phases["largest"].to_numpy().max())
    rows = [
        [
            row["phase"],
            f'<div class="track tall"><div style="left:0;width:{100 * row["mean"] / top:.2f}%;'
            f'background:{_COLOUR};border-radius:0"></div></div>',
            f"{row['mean']:.3f}",
            f"{row['largest']:.3f}",
            str(row["on"]),
            f"{row['largest'] / row['mean']:.2f}",
            format_share(row["mean"], whole),
        ]
        for row in phases.iter_rows(named=True)
    ]
    steps = int(times["steps"].to_numpy().max())
    caption = f"Time of workers in each phase of a step, on the mean of {steps:,} steps"
    return figure(
        "particle-phases",
        "The phases of a step",
        "As the particle library counted them: time in which workers were at each phase, in a step. "
        "Where the largest is far above the mean, that phase is what the other ranks wait for.",
        f'<div class="plot">{table(caption, list(_HEADS), rows)}</div>',
        plain=True,
    )
