# SPDX-License-Identifier: Apache-2.0
"""What counters counted in each region and kind of task (`plait record`, `run --counters`)."""

from __future__ import annotations

import polars as pl

from plait._events import Run

_COLUMNS = {
    **{"of": pl.String(), "name": pl.String(), "count": pl.Int64(), "time_ns": pl.Int64()},
    **{"instructions_a_cycle": pl.Float64(), "misses_a_thousand": pl.Float64()},
}


def counted(run: Run) -> pl.DataFrame:
    """A row for each region or kind of task: of ("region" or "task"), name, count (of them), time_ns,
    a column for each counter, and instructions_a_cycle, misses_a_thousand (cache misses of 1000
    instructions), null where these were not counted. Sums over all ranks, the longest first; what is
    inside of a region counts in it, too."""
    named = run.counts.filter((pl.col("region") >= 0) | (pl.col("task") >= 0))
    if not named.height:
        return pl.DataFrame(schema=_COLUMNS)
    regions, kinds = dict(enumerate(run.span_kinds)), dict(enumerate(run.kinds))
    table = named.select(
        pl.when(pl.col("region") >= 0).then(pl.lit("region")).otherwise(pl.lit("task")).alias("of"),
        pl.when(pl.col("region") >= 0)
        .then(
            pl.col("region").cast(pl.Int64).replace_strict(regions, default="", return_dtype=pl.String)
        )
        .otherwise(
            pl.col("task").cast(pl.Int64).replace_strict(kinds, default="", return_dtype=pl.String)
        )
        .alias("name"),
        pl.col("counter")
        .cast(pl.Int64)
        .replace_strict(dict(enumerate(run.counter_kinds)), default="", return_dtype=pl.String),
        (pl.col("end_ns") - pl.col("start_ns")).alias("time_ns"),
        pl.col("value").cast(pl.Int64),
    )
    sums = table.group_by("of", "name", "counter").agg(
        pl.len().cast(pl.Int64).alias("count"), pl.col("time_ns", "value").sum()
    )
    wide = sums.pivot("counter", index=["of", "name"], values="value", sort_columns=True)
    whole = sums.group_by("of", "name").agg(pl.col("count", "time_ns").max())
    found = whole.join(wide, on=["of", "name"]).sort(
        "of", "time_ns", "name", descending=[True, True, False]
    )
    return found.with_columns(
        _ratio(found, "instructions", "cycles").alias("instructions_a_cycle"),
        (1000 * _ratio(found, "cache-misses", "instructions")).alias("misses_a_thousand"),
    )


def _ratio(table: pl.DataFrame, above: str, below: str) -> pl.Expr:
    """Null where one of them was not counted."""
    if {above, below} <= set(table.columns):
        return pl.col(above) / pl.col(below)
    return pl.lit(None, dtype=pl.Float64())
