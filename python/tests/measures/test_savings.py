# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from mpi_runs import Rank, make_run

from plait._events import Run
from plait.measures.calls import parallel_window
from plait.measures.communication import measure_calls
from plait.measures.messages import match_messages
from plait.measures.savings import Savings


def savings_of(run: Run) -> Savings:
    return measure_calls(run, match_messages(run.messages), parallel_window(run)).savings


def test_small_messages_that_could_have_gone_together() -> None:
    """Each of 10 steps: 5 messages to rank 1 and one to rank 2, each posted in 100 ns."""
    ranks = [Rank(0), Rank(1), Rank(2)]
    now = 0
    for step in range(10):
        begun, tag = [], 10 * step
        for n in range(5):
            begun.append(ranks[0].isend(now + 200 * n, 1, 64, tag=tag + n, cost=100))
        begun.append(ranks[0].isend(now + 1000, 2, 64, tag=tag, cost=100))
        ranks[0].wait(now + 2000, now + 2010, begun, [])
        for n in range(5):
            ranks[1].receive(now + 1500 + 10 * n, now + 1505 + 10 * n, 0, 64, tag=tag + n)
        ranks[2].receive(now + 1500, now + 1505, 0, 64, tag=tag)
        now += 10_000
    found = savings_of(make_run(*ranks))
    assert found.small_messages == 10 * 4
    assert found.ranks["packing_ns"].to_list() == [10 * 4 * 100, 0, 0]


def test_large_messages_gain_nothing_by_going_together() -> None:
    ranks = [Rank(0), Rank(1)]
    begun = [ranks[0].isend(200 * n, 1, 1 << 16, tag=n) for n in range(5)]
    ranks[0].wait(2000, 2100, begun, [])
    for n in range(5):
        ranks[1].receive(1500 + 10 * n, 2000 + 10 * n, 0, 1 << 16, tag=n)
    assert savings_of(make_run(*ranks)).small_messages == 0


def test_messages_with_a_wait_between_cannot_go_together() -> None:
    ranks = [Rank(0), Rank(1)]
    for n in range(5):
        begun = ranks[0].isend(1000 * n, 1, 64, tag=n)
        ranks[0].wait(1000 * n + 100, 1000 * n + 200, [begun], [])
        ranks[1].receive(1000 * n, 1000 * n + 200, 0, 64, tag=n)
    assert savings_of(make_run(*ranks)).small_messages == 0


def test_balance_would_save_what_was_waited_for_others() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank, start in zip(ranks, (100, 900), strict=True):
        rank.initialise(10)
        rank.collective("MPI_Barrier", start, 1000)
        rank.finalise(1010, 1020)
    found = savings_of(make_run(*ranks))
    assert found.ranks["late_ns"].to_list() == [800, 0]
    assert found.whole_ns == 2 * 1000
    assert found.share("late_ns") == pytest.approx(0.4)
    assert found.ranks["in_calls_ns"].to_list() == [900, 100]
