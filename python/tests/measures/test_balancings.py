# SPDX-License-Identifier: Apache-2.0
"""Balancings in a trace: what was foretold, what came of it, what they took."""

from __future__ import annotations

import polars as pl
import pytest

from plait import _events as events
from plait._events import Run
from plait.measures.balancings import SCHEMA, balancings

KINDS = tuple(
    f"balance: {name}"
    for name in (
        *("imbalance before", "imbalance predicted", "imbalance measured"),
        *("objects moved", "bytes moved"),
    )
)


def run_with(counters: list[tuple[int, int, float, int]], spans: list[tuple[int, int, int, int]]) -> Run:
    """Counters as (kind, time, value, step), spans as (rank, kind, length, step)."""
    table = pl.DataFrame([(0, *one) for one in counters], schema=events.COUNTERS, orient="row")
    stretches = pl.DataFrame(
        [(rank, 0, kind, 0, 100, 100 + length, step) for rank, kind, length, step in spans],
        schema=events.SPANS,
        orient="row",
    )
    return Run(
        meta={},
        ranks=2,
        ranks_present=(0, 1),
        counters=table,
        spans=stretches,
        counter_kinds=KINDS,
        span_kinds=("balance: decide", "balance: move"),
    )


def test_each_balancing_is_a_row_with_what_came_of_it() -> None:
    first = [(0, 10, 0.5, 4), (1, 10, 0.1, 4), (3, 11, 7.0, 4), (4, 11, 700.0, 4)]
    second = [(2, 20, 0.12, 8), (0, 21, 0.12, 8), (1, 21, 0.12, 8)]
    found = balancings(run_with(first + second, [(0, 0, 30, 4), (1, 0, 50, 4), (1, 1, 9, 4)]))
    assert found.rows() == [
        (4, 10, 0.5, 0.1, 7.0, 700.0, 0.12, 50, 9),
        (8, 21, 0.12, 0.12, None, None, None, None, None),
    ]


@pytest.mark.parametrize("kinds", [(), ("residual",)])
def test_a_run_that_balances_nothing_has_no_rows(kinds: tuple[str, ...]) -> None:
    run = Run(meta={}, ranks=1, ranks_present=(0,), counter_kinds=kinds)
    assert balancings(run).schema == pl.Schema(SCHEMA)
    assert balancings(run).height == 0
