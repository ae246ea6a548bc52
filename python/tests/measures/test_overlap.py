# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from mpi_runs import Rank, halo, make_run

from plait._events import Run
from plait.measures.calls import parallel_window
from plait.measures.communication import CallMeasures, measure_calls
from plait.measures.messages import match_messages
from plait.measures.overlap import Link, soonest_ns

LARGE = 1 << 20


def measure(run: Run) -> CallMeasures:
    return measure_calls(run, match_messages(run.messages), parallel_window(run))


def test_the_link_is_what_undisturbed_messages_took() -> None:
    link = measure(make_run(*halo(moving=100_000))).link
    assert link is not None
    assert link.latency_ns == pytest.approx(100_000, rel=0.01)


def test_latency_and_rate_are_told_apart_by_size() -> None:
    a, b = Rank(0), Rank(1)
    now = 0
    for step in range(40):
        size = 8 if step % 2 else LARGE
        took = 2000 + size // 10  # 10 bytes a ns
        a.receive(now, now + 100 + took, 1, size, tag=step)
        b.send(now + 100, now + 100 + took, 0, size, tag=step)
        now += 200_000
    link = measure(make_run(a, b)).link
    assert link is not None
    assert link.latency_ns == pytest.approx(2000, rel=0.01)
    assert link.bytes_per_ns == pytest.approx(10, rel=0.01)


def test_data_that_moved_only_in_the_wait_is_told_with_what_it_cost() -> None:
    """20 steps: 100 us of each wait are data that could have moved in the 400 us of computing before."""
    found = measure(make_run(*halo(20, moving=100_000)))
    for row in found.savings.ranks.iter_rows(named=True):
        assert row["progression_ns"] == pytest.approx(20 * 100_000, rel=0.02)
    possible, achieved = (found.overlap_by_rank[name].sum() for name in ("possible_ns", "achieved_ns"))
    assert possible == pytest.approx(2 * 2 * 20 * 100_000, rel=0.02)  # both sides of each message
    assert achieved == 0


def test_data_that_moved_meanwhile_leaves_nothing_to_gain() -> None:
    found = measure(make_run(*halo(20, moving=100_000, progress=True)))
    assert found.savings.share("progression_ns") < 0.002
    possible, achieved = (found.overlap_by_rank[name].sum() for name in ("possible_ns", "achieved_ns"))
    assert achieved == pytest.approx(possible, rel=0.02) and possible > 0


def test_waiting_for_a_late_sender_is_not_stalled_data() -> None:
    a, b = Rank(0), Rank(1)
    now = 0
    for step in range(20):
        receive = a.irecv(now, 1, LARGE, tag=step)
        a.wait(now + 1000, now + 500_000, [], [receive])
        b.send(now + 400_000, now + 500_000, 0, LARGE, tag=step)
        now += 600_000
    found = measure(make_run(a, b))
    assert found.savings.ranks["progression_ns"].to_list() == [0, 0]
    assert found.waits["lost_ns"].sum() == 20 * 399_000


def test_a_blocking_receive_suffers_from_a_sender_that_computes() -> None:
    """The sender posts at once and computes; the receiver waits, but nothing moves until both do."""
    a, b = Rank(0), Rank(1)
    now = 0
    for step in range(20):
        quick = step < 10
        computing = 50 if quick else 300_000
        send = b.isend(now, 0, LARGE, tag=step)
        end = now + 100 + computing + 100_000
        a.receive(now + 100, end, 1, LARGE, tag=step)
        b.wait(now + 100 + computing, end, [send], [])
        now = end + 1000
    found = measure(make_run(a, b))
    saved = found.savings.ranks["progression_ns"].to_list()
    # Of the receiver's 10 waits of 400 us, 100 us each are needed.
    assert saved[0] == pytest.approx(10 * 300_000, rel=0.02)
    # The sender could have been done before it came to wait.
    assert saved[1] == pytest.approx(10 * 100_000, rel=0.02)


def test_messages_queue_for_their_ranks() -> None:
    """Three messages of 100 ns each to one rank at once cannot all be there after 100 ns."""
    ranks = [Rank(r) for r in range(4)]
    receives = [ranks[0].irecv(10 * r, r, 1000) for r in (1, 2, 3)]
    ranks[0].wait(1000, 5000, [], receives)
    for r in (1, 2, 3):
        ranks[r].send(50, 5000, 0, 1000)
    matched = match_messages(make_run(*ranks).messages)
    soonest = soonest_ns(matched, Link(latency_ns=7, bytes_per_ns=10))
    assert sorted(soonest.tolist()) == [157, 257, 357]


def test_no_message_is_sooner_than_it_was() -> None:
    matched = match_messages(make_run(*halo(5)).messages)
    received = matched["received_ns"].to_numpy()
    assert (soonest_ns(matched, Link(1e9, 1.0)) == received).all()
    assert (soonest_ns(matched, None) == received).all()


def test_waits_that_take_little_are_not_stalled() -> None:
    a, b = Rank(0), Rank(1)
    now = 0
    for step in range(50):
        receive = a.irecv(now, 1, 8, tag=step)
        send = b.isend(now, 0, 8, tag=step)
        a.wait(now + 10_000, now + 10_010, [], [receive])
        b.wait(now + 10_000, now + 10_010, [send], [])
        now += 20_000
    assert measure(make_run(a, b)).stalled.height == 0


def test_a_run_of_tasks_has_empty_measures(ring_folder: object) -> None:
    run = Run(meta={}, ranks=2, ranks_present=(0, 1))
    found = measure(run)
    assert found.by_function.height == found.waits.height == found.stalled.height == 0
    assert found.savings.share("progression_ns") == 0
    assert found.link is None


def test_a_non_blocking_collective_that_all_had_begun_is_stalled() -> None:
    ranks = [Rank(0), Rank(1)]
    for step in range(4):
        now = step * 100_000
        for rank in ranks:
            begun = rank._call(5, "MPI_Ibarrier", now + rank.rank, now + 10, count=step)
            rank._call(2, "MPI_Wait", now + 50_000, now + 58_000)
            rank._call(10, "MPI_Ibarrier", now + rank.rank, now + 58_000, number=begun, count=step)
    found = measure(make_run(*ranks))
    assert np.allclose(found.stalled["stalled_ns"].to_numpy(), 8000)
    assert found.stalled.height == 8
