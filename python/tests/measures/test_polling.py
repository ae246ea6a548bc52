# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from mpi_runs import Rank, make_run

from plait._events import Run
from plait.measures import wait_states as ws
from plait.measures.communication import measure_calls
from plait.measures.messages import match_messages

LARGE = 1 << 20


def waits_of(run: Run) -> list[tuple[int, ...]]:
    """(kind, rank, start, lost, who came last)"""
    found = measure_calls(run, match_messages(run.messages), run.window_ns()).waits
    return found.select("kind", "rank", "start_ns", "lost_ns", "peer").rows()


def test_tests_before_a_message_was_sent_wait_for_its_sender() -> None:
    a, b = Rank(0), Rank(1)
    receive = a.irecv(10, 1, LARGE)
    for start in range(100, 500, 100):
        a.test(start, start + 80)
    a.wait(500, 560, [], [receive])
    b.send(350, 560, 0, LARGE)
    assert waits_of(make_run(a, b)) == [
        (ws.LATE_SENDER, 0, 100, 80, 1),
        (ws.LATE_SENDER, 0, 200, 80, 1),
        (ws.LATE_SENDER, 0, 300, 50, 1),
    ]


def test_probes_before_a_message_was_sent_wait_for_its_sender() -> None:
    a, b = Rank(0), Rank(1)
    a.probe(100, 400, 1)
    a.receive(410, 450, 1, LARGE)
    b.send(390, 450, 0, LARGE)
    assert waits_of(make_run(a, b))[0] == (ws.LATE_SENDER, 0, 100, 290, 1)


def test_tests_before_another_call_wait_for_nothing_behind_it() -> None:
    a, b = Rank(0), Rank(1)
    a.test(100, 180)
    a.collective("MPI_Barrier", 200, 210)
    b.collective("MPI_Barrier", 200, 210)
    a.receive(300, 450, 1, LARGE)
    b.send(400, 450, 0, LARGE)
    assert waits_of(make_run(a, b)) == [(ws.LATE_SENDER, 0, 300, 100, 1)]


def test_no_call_loses_more_than_it_took() -> None:
    a, b = Rank(0), Rank(1)
    receive = a.irecv(10, 1, LARGE)
    a.test(100, 180)
    a.wait(300, 450, [], [receive])
    b.send(400, 450, 0, LARGE)
    run = make_run(a, b)
    waits = measure_calls(run, match_messages(run.messages), run.window_ns()).waits
    assert waits["lost_ns"].to_list() == [80, 100]
    assert waits["messages"].to_list() == [0, 1]
