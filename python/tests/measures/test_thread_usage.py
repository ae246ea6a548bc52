# SPDX-License-Identifier: Apache-2.0
"""Sentences on cores and sleep, from made-up counts of the kernel."""

from __future__ import annotations

import polars as pl

from plait._events import CALLS, COUNTS, Run
from plait.measures.thread_usage import asleep_outside, find_core_trouble, thread_usage

_NAMES = ("processor time", "waiting for a core", "involuntary switches", "cores allowed")
SECOND = 10**9


def run_of(*threads: tuple[int, int, int, int], in_calls: int = 0) -> Run:
    """Each a rank that ran for 10 s: processor time, waiting for a core, switches, cores allowed."""
    counts = pl.DataFrame(
        {
            "rank": [rank for rank in range(len(threads)) for _ in _NAMES],
            "worker": [0] * 4 * len(threads),
            "counter": list(range(4)) * len(threads),
            "region": [-1] * 4 * len(threads),
            "task": [-1] * 4 * len(threads),
            "start_ns": [0] * 4 * len(threads),
            "end_ns": [10 * SECOND] * 4 * len(threads),
            "value": [value for thread in threads for value in thread],
            "id": [0] * 4 * len(threads),
        }
    ).select(pl.col(name).cast(kind) for name, kind in COUNTS.items())
    calls = pl.DataFrame({"rank": [0], "start_ns": [0], "end_ns": [in_calls]})
    calls = calls.with_columns(pl.lit(0).alias(n) for n in CALLS if n not in calls.columns)
    return Run(
        meta={"hosts": ["one"] * len(threads)},
        ranks=len(threads),
        ranks_present=tuple(range(len(threads))),
        counts=counts,
        calls=calls.select(pl.col(name).cast(kind) for name, kind in CALLS.items()),
        counter_kinds=_NAMES,
    )


def test_more_threads_than_cores_come_first() -> None:
    run = run_of((6 * SECOND, 4 * SECOND, 900, 2), (5 * SECOND, 5 * SECOND, 800, 2))
    (first,) = find_core_trouble(run)
    assert first.startswith(
        "More threads than cores: threads were ready to run but had no core for 45.0 % of the time "
        "(rank 1 most, 5 s), and were interrupted for others 1,700 times. 2 ranks share a host"
    )


def test_enough_cores_are_not_mentioned() -> None:
    assert find_core_trouble(run_of((10 * SECOND, SECOND // 100, 3, 2))) == []
    assert find_core_trouble(Run(meta={}, ranks=1, ranks_present=(0,))) == []


def test_sleep_outside_of_calls_is_no_computing() -> None:
    run = run_of((3 * SECOND, 0, 1, 2), in_calls=2 * SECOND)
    assert asleep_outside(run).to_dicts() == [{"rank": 0, "asleep_ns": 5 * SECOND}]
    (sentence,) = find_core_trouble(run)
    assert sentence.startswith("Threads slept outside of calls for at least 50.0 % of the time (rank 0")


def test_sleep_that_calls_may_have_had_does_not_count() -> None:
    run = run_of((3 * SECOND, 0, 1, 2), in_calls=8 * SECOND)
    assert asleep_outside(run)["asleep_ns"].to_list() == [0]


def test_a_kernel_without_these_counts_is_no_sleep() -> None:
    run = run_of((0, 0, 0, 2))
    assert thread_usage(run).height == 1
    assert find_core_trouble(run) == []
