# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import polars as pl
import pytest

from plait._events import COUNTS, Run
from plait.measures.counted import counted


def test_sums_over_ranks_with_what_follows_from_two_counters() -> None:
    rows = [
        # rank, counter, region, value
        *[(0, 0, 1, 3000), (0, 1, 1, 1000), (0, 2, 1, 30)],
        *[(1, 0, 1, 1000), (1, 1, 1, 1000), (1, 2, 1, 10)],
        *[(1, 0, -1, 7), (0, 0, 0, 50)],
    ]
    rank, counter, region, value = map(list, zip(*rows, strict=True))
    counts = pl.DataFrame({"rank": rank, "counter": counter, "region": region, "value": value})
    counts = counts.with_columns(
        pl.lit(0).alias("worker"),
        pl.lit(-1).alias("task"),
        pl.lit(10).alias("start_ns"),
        pl.lit(25).alias("end_ns"),
        pl.lit(0).alias("id"),
    ).select(pl.col(name).cast(kind) for name, kind in COUNTS.items())
    names = ("instructions", "cycles", "cache-misses")
    run = Run(
        meta={},
        ranks=2,
        ranks_present=(0, 1),
        counts=counts,
        counter_kinds=names,
        span_kinds=("other", "solve"),
    )
    solve, other = counted(run).to_dicts()
    assert (solve["name"], solve["count"], solve["time_ns"]) == ("solve", 2, 30)
    assert [solve[name] for name in names] == [4000, 2000, 40]
    assert solve["instructions_a_cycle"] == pytest.approx(2.0)
    assert solve["misses_a_thousand"] == pytest.approx(10.0)
    assert (other["name"], other["instructions"], other["cycles"]) == ("other", 50, None)


def test_separates_tasks_from_regions_of_the_same_name() -> None:
    counts = pl.DataFrame(
        {
            "rank": [0, 0],
            "counter": [0, 0],
            "region": [-1, 0],
            "task": [0, -1],
            "value": [5, 7],
        }
    ).with_columns(*(pl.lit(1).alias(name) for name in ("worker", "start_ns", "end_ns", "id")))
    counts = counts.select(pl.col(name).cast(kind) for name, kind in COUNTS.items())
    run = Run(
        meta={},
        ranks=1,
        ranks_present=(0,),
        counts=counts,
        counter_kinds=("instructions",),
        span_kinds=("solve",),
        kinds=("solve",),
    )
    rows = counted(run).select("of", "name", "count", "instructions").rows()
    assert rows == [("task", "solve", 1, 5), ("region", "solve", 1, 7)]


def test_is_empty_without_counters() -> None:
    assert not counted(Run(meta={}, ranks=1, ranks_present=(0,))).height
