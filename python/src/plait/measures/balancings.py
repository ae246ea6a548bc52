# SPDX-License-Identifier: Apache-2.0
"""When elements of a collection were moved between ranks, what that took and what came of it."""

from __future__ import annotations

import polars as pl

from plait._events import Run

_PREFIX = "balance: "
#: Of each balancing, from the counters of rank 0 (src/plait/data/balance/rebalancer.cpp).
_COUNTED = {
    "imbalance before": "before",
    "imbalance predicted": "predicted",
    "objects moved": "objects_moved",
    "bytes moved": "bytes_moved",
}
SCHEMA: dict[str, pl.DataType] = {
    "step": pl.Int64(),
    "time_ns": pl.Int64(),
    **{column: pl.Float64() for column in _COUNTED.values()},
    "measured": pl.Float64(),  # imbalance just before the next balancing; null of the last
    "decide_ns": pl.Int64(),  # of the slowest rank; null where nothing was decided, or moved
    "move_ns": pl.Int64(),
}


def balancings(run: Run) -> pl.DataFrame:
    """A row for each time that a program requested balancing, also when nothing was moved."""
    kinds = {name: index for index, name in enumerate(run.counter_kinds)}
    first = kinds.get(_PREFIX + "imbalance before")
    if first is None:
        return pl.DataFrame(schema=SCHEMA)
    found = _counter(run, first).select("step", "time_ns", pl.col("value").alias("before"))
    for name, column in list(_COUNTED.items())[1:]:
        found = found.join(
            _counter(run, kinds.get(_PREFIX + name, -1)).select("step", pl.col("value").alias(column)),
            on="step",
            how="left",
        )
    measured = _counter(run, kinds.get(_PREFIX + "imbalance measured", -1))
    found = found.join(
        measured.select("step", pl.col("value").alias("measured")), on="step", how="left"
    ).with_columns(pl.col("measured").shift(-1))
    for name, column in (("decide", "decide_ns"), ("move", "move_ns")):
        found = found.join(_slowest(run, name, column), on="step", how="left")
    return found.select(*SCHEMA).sort("time_ns")


def _counter(run: Run, kind: int) -> pl.DataFrame:
    return (
        run.counters.filter(pl.col("kind") == kind).sort("time_ns").unique("step", maintain_order=True)
    )


def _slowest(run: Run, name: str, column: str) -> pl.DataFrame:
    kind = run.span_kinds.index(_PREFIX + name) if _PREFIX + name in run.span_kinds else -1
    return (
        run.spans.filter(pl.col("kind") == kind)
        .group_by("step")
        .agg((pl.col("end_ns") - pl.col("start_ns")).max().alias(column))
    )
