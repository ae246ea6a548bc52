# SPDX-License-Identifier: Apache-2.0
"""The numbers behind the figures, as CSV files beside the page."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from plait._files import write_file
from plait.measures.critical_path import RUN as RUNNING
from plait.measures.critical_path import WHAT
from plait.report.analysis import Analysis


def write_tables(analysis: Analysis, output: Path) -> None:
    """kinds.csv, dead-time.csv (each worker in each step) and critical-path.csv (each stretch)."""
    tables = {
        "kinds": analysis.kinds.drop("kind"),
        "dead-time": analysis.dead_steps,
        "critical-path": _path(analysis),
    }
    for name, table in tables.items():
        if table.height:
            write_file(output / f"{name}.csv", table.write_csv)


def _path(analysis: Analysis) -> pl.DataFrame:
    """Times since the start of each step."""
    kinds = dict(enumerate(analysis.run.kinds))
    begin = analysis.steps.select("step", pl.col("start_ns").alias("begin"))
    return analysis.paths.join(begin, on="step", how="left", maintain_order="left").select(
        *("step", "rank", "worker"),
        pl.col("kind").replace_strict(kinds, default="", return_dtype=pl.String).alias("task"),
        pl.col("id").alias("task_id"),
        pl.when(pl.col("what") == RUNNING)
        .then(pl.lit("computing"))
        .otherwise(pl.col("what").replace_strict(dict(enumerate(WHAT)), return_dtype=pl.String))
        .alias("what"),
        (pl.col("start_ns") - pl.col("begin")).alias("start_ns"),
        (pl.col("end_ns") - pl.col("begin")).alias("end_ns"),
    )
