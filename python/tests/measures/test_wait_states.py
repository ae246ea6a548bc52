# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from mpi_runs import Rank, make_run

from plait._events import Run
from plait.measures import wait_states as ws
from plait.measures.calls import calls_within
from plait.measures.message_sides import eager_limit, message_sides
from plait.measures.messages import match_messages

LARGE = 1 << 20


def states(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    sides = message_sides(calls, match_messages(run.messages), run.clock_error_ns)
    met = ws.meetings(run, calls)
    return ws.wait_states(run, calls, sides, met, ws.begun_collectives(met, calls))


def waits_of(run: Run) -> list[tuple[Any, ...]]:
    """(kind, rank, start, lost, who came last)"""
    calls = calls_within(run, run.window_ns())
    return states(run, calls).select("kind", "rank", "start_ns", "lost_ns", "peer").rows()


def test_a_late_sender_costs_the_receiver_until_it_sends() -> None:
    a, b = Rank(0), Rank(1)
    a.receive(100, 450, 1, LARGE)
    b.send(400, 450, 0, LARGE)
    assert waits_of(make_run(a, b)) == [(ws.LATE_SENDER, 0, 100, 300, 1)]


def test_a_late_receiver_costs_the_sender_until_it_posts() -> None:
    a, b = Rank(0), Rank(1)
    a.send(100, 450, 1, LARGE)
    b.receive(400, 450, 0, LARGE)
    assert waits_of(make_run(a, b)) == [(ws.LATE_RECEIVER, 0, 100, 300, 1)]


def test_a_send_that_the_library_buffers_waits_for_nobody() -> None:
    a, b = Rank(0), Rank(1)
    a.send(10, 20, 1, 512, tag=1)  # gone before its receive was posted: messages up to 512 bytes are
    a.send(100, 450, 1, 64, tag=2)
    b.receive(400, 420, 0, 512, tag=1)
    b.receive(430, 450, 0, 64, tag=2)
    run = make_run(a, b)
    assert eager_limit(match_messages(run.messages), 0) == 512
    assert waits_of(run) == []


def test_a_wait_begins_with_its_call_not_with_the_posting() -> None:
    a, b = Rank(0), Rank(1)
    receive = a.irecv(10, 1, LARGE)
    a.wait(300, 450, [], [receive])
    b.send(400, 450, 0, LARGE)
    assert waits_of(make_run(a, b)) == [(ws.LATE_SENDER, 0, 300, 100, 1)]


def test_a_wait_for_several_messages_has_lost_what_the_latest_cost() -> None:
    a, b, c = Rank(0), Rank(1), Rank(2)
    receives = [a.irecv(10, 1, LARGE), a.irecv(20, 2, LARGE)]
    a.wait(100, 500, [], receives)
    b.send(200, 300, 0, LARGE)
    c.send(400, 500, 0, LARGE)
    run = make_run(a, b, c)
    assert waits_of(run) == [(ws.LATE_SENDER, 0, 100, 300, 2)]
    calls = calls_within(run, run.window_ns())
    assert states(run, calls)["messages"].item() == 2


@pytest.mark.parametrize("name", ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoallv"])
def test_who_comes_early_to_a_collective_waits_for_the_last(name: str) -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank, start in zip(ranks, (100, 400, 250), strict=True):
        rank.collective(name, start, 420)
    kind = ws.BARRIER if name == "MPI_Barrier" else ws.COLLECTIVE
    assert waits_of(make_run(*ranks)) == [(kind, 0, 100, 300, 1), (kind, 2, 250, 150, 1)]


def test_a_late_root_keeps_those_that_get_from_it() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank, start in zip(ranks, (100, 400, 500), strict=True):
        rank.collective("MPI_Bcast", start, max(start, 400) + 20, peer=1, given=8 * (rank.rank == 1))
    assert waits_of(make_run(*ranks)) == [(ws.ROOT, 0, 100, 300, 1)]


def test_a_root_that_reduces_waits_for_all_others() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank, start in zip(ranks, (100, 300, 200), strict=True):
        rank.collective("MPI_Reduce", start, 350 if rank.rank == 0 else start + 10, peer=0, given=8)
    assert waits_of(make_run(*ranks)) == [(ws.AT_ROOT, 0, 100, 200, 1)]


def test_a_scan_waits_for_the_ranks_before() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank, start in zip(ranks, (300, 100, 400), strict=True):
        rank.collective("MPI_Scan", start, 450, given=8)
    waits = waits_of(make_run(*ranks))
    assert [entry[:4] for entry in waits] == [(ws.COLLECTIVE, 1, 100, 200)]


def test_among_neighbours_a_rank_waits_for_those_that_it_gets_data_from() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    to = ([0, 8, 0], [0, 0, 8], [0, 0, 0])  # from 0 to 1, and from 1 to 2
    for rank, start, given in zip(ranks, (300, 200, 100), to, strict=True):
        number = rank.collective("MPI_Neighbor_alltoall", start, 400, given=sum(given))
        rank.shares(number, given)
    assert waits_of(make_run(*ranks)) == [
        (ws.COLLECTIVE, 1, 200, 100, 0),
        (ws.COLLECTIVE, 2, 100, 100, 1),
    ]


def test_collectives_of_different_communicators_are_kept_apart() -> None:
    ranks = [Rank(0), Rank(1), Rank(2), Rank(3)]
    for rank, start in zip(ranks, (100, 200, 500, 900), strict=True):
        members = [0, 1] if rank.rank < 2 else [2, 3]
        rank.members(7 + (rank.rank >= 2), members)
        rank.collective("MPI_Barrier", start, 950, communicator=7 + (rank.rank >= 2))
    waits = waits_of(make_run(*ranks))
    assert [entry[1:4] for entry in waits] == [(0, 100, 100), (2, 500, 400)]


def test_a_non_blocking_collective_is_waited_for_in_its_wait() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank, start, wait in zip(ranks, (100, 400), (300, 420), strict=True):
        begun = rank._call(5, "MPI_Ibarrier", start, start + 10)
        rank._call(2, "MPI_Wait", wait, 450)
        rank._call(10, "MPI_Ibarrier", start, 450, number=begun)
    assert waits_of(make_run(*ranks)) == [(ws.BARRIER, 0, 300, 100, 1)]


def test_who_finalises_early_waits_for_the_last() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank, start in zip(ranks, (100, 400), strict=True):
        rank.initialise(10)
        rank.finalise(start, 500)
    run = make_run(*ranks)
    calls = calls_within(run, (10, 400))
    waits = states(run, calls)
    assert waits.select("kind", "rank", "lost_ns", "peer").rows() == [(ws.END, 0, 300, 1)]


def test_losses_are_summed_by_kind() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for count in range(3):
        for rank, start in zip(ranks, (100, 400, 250), strict=True):
            rank.collective("MPI_Barrier", start + 1000 * count, 420 + 1000 * count, count=count)
    run = make_run(*ranks)
    calls = calls_within(run, run.window_ns())
    waits = states(run, calls)
    assert ws.wait_times(waits, "kind").rows() == [(ws.BARRIER, 3 * 450, 6, 0, 300)]
    assert ws.wait_times(waits, "peer")["peer"].to_list() == [1]
    assert waits.filter(pl.col("rank") == 1).height == 0
