# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import trace_writer as w
from mpi_runs import NUMBER, Message, Rank, make_run, write_run

from plait import read_run
from plait._events import Run
from plait.measures.messages import match_messages, unmatched_messages
from plait.measures.trouble import find_trouble


def trouble(run: Run) -> list[str]:
    return find_trouble(run, match_messages(run.messages), unmatched_messages(run.messages))


def test_sends_without_a_receive_are_listed_with_their_call_site() -> None:
    ranks = [Rank(0), Rank(1)]
    for tag in (5, 5, 6):
        send = ranks[0].isend(10 * tag, 1, 100, tag=tag)
        ranks[0].complete(0, send, 1000)
    ranks[1].receive(5, 900, 0, 100, tag=6)
    run = make_run(*ranks)
    assert unmatched_messages(run.messages)["tag"].to_list() == [5, 5]
    assert trouble(run) == [
        "2 sends from rank 0 to rank 1 (the first: tag 5, 100 B), posted by MPI_Isend at program+0x10: "
        "have no partner in the trace"
    ]


def test_a_region_that_was_not_ended_is_named_with_its_ranks() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(10)
        rank.raw(w.name(1, 0, "solve") + w.open_region(0, 20, 90) + w.span(0, 20, 90))
    assert trouble(make_run(*ranks)) == [
        'The region "solve" was begun and not ended, 2 times on ranks 0, 1: it is shown up to the end '
        "of its thread, or of the recording"
    ]


def test_ranks_without_a_record_of_the_engine_are_named() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank in ranks:
        rank.initialise(10)
        rank.collective("MPI_Barrier", 20, 30)
    ranks[1].raw(w.engine(2, 12))
    assert trouble(make_run(*ranks)) == [
        "Ranks 0, 2 have no record of what plait's engine did, as others have: figures of that are "
        "without them"
    ]


def test_ranks_that_called_mpi_not_at_all_are_named() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(10)
        rank.raw(w.engine(1, 12))
    ranks[0].send(20, 30, 0, 8)
    assert any(
        line.startswith("Rank 1 has no record of MPI calls") for line in trouble(make_run(*ranks))
    )


def test_time_in_which_the_recording_was_off_is_reported() -> None:
    rank = Rank(0)
    rank.initialise(10)
    rank.raw(w.name(1, 0, "recording off (MPI_Pcontrol)") + w.span(0, 20, 3020))
    assert trouble(make_run(rank)) == [
        "MPI_Pcontrol(0) switched the recording off on 1 rank, for up to 3 µs (rank 0): calls in this "
        "time are not shown, and it counts as computing"
    ]


def test_a_receive_that_never_completed_is_listed() -> None:
    ranks = [Rank(0), Rank(1)]
    receive = ranks[1].irecv(10, 0, 8)
    ranks[1].complete(1, receive, 0, flags=3)
    anything = Message(w.NOTHING, 1, 8, 99, 50)
    ranks[1].complete(1, anything, 0, flags=3)
    found = trouble(make_run(*ranks))
    assert found == [
        "Rank 0 has no record of MPI calls, as others have: figures of that are without it",
        "1 receive on rank 1 from any rank (the first: tag 1, 8 B): never completed",
        "1 receive on rank 1 from rank 0 (the first: tag 0, 8 B), posted by MPI_Irecv at program+0x20: "
        "never completed",
    ]


def test_a_send_whose_receive_is_unfinished_is_matched_but_not_done() -> None:
    ranks = [Rank(0), Rank(1)]
    ranks[0].send(10, 20, 1, 8)
    receive = ranks[1].irecv(10, 0, 8)
    ranks[1].complete(1, receive, 0, flags=3)
    run = make_run(*ranks)
    assert match_messages(run.messages).height == 0
    assert unmatched_messages(run.messages).select("rank", "received", "unfinished").rows() == [
        (1, True, True)
    ]


def test_messages_that_arrive_before_they_are_sent_tell_of_the_clocks() -> None:
    ranks = [Rank(0), Rank(1)]
    ranks[0].send(5000, 5100, 1, 8)
    ranks[1].receive(1000, 2000, 0, 8)
    (found,) = trouble(make_run(*ranks))
    assert found.startswith("1 message arrived before it was sent, by up to 3 µs (from rank 0 to 1)")


def test_a_clock_that_runs_backwards_is_named(tmp_path: Path) -> None:
    rank = Rank(0)
    for start in (1000, 2000, 500, 3000):
        rank.raw(w.call(2, NUMBER["MPI_Wait"], start, start + 10))
    write_run(tmp_path, rank)
    (found,) = trouble(read_run(tmp_path))
    assert found.startswith("The clock of rank 0 ran backwards 1 time, by up to 1.5 µs")


def test_a_collective_as_a_whole_may_be_recorded_before_earlier_tests(tmp_path: Path) -> None:
    rank = Rank(0)
    rank.raw(w.call(10, NUMBER["MPI_Ibarrier"], 100, 2500))
    rank.raw(w.call(2, NUMBER["MPI_Wait"], 1000, 2000))
    write_run(tmp_path, rank)
    assert trouble(read_run(tmp_path)) == []


def test_a_run_in_order_is_no_trouble(ring_folder: Path) -> None:
    assert trouble(read_run(ring_folder)) == []


def test_ranks_that_recorded_other_things_than_the_rest_are_named() -> None:
    ranks = [Rank(number) for number in range(3)]
    for rank in ranks:
        rank.initialise(100)
        if rank.rank != 1:
            rank.collective("MPI_Barrier", 1000, 2000, communicator=5)
        rank.finalise(3000, 4000)
    assert trouble(make_run(*ranks)) == [
        "Rank 1 has no record of MPI calls, as others have: figures of that are without it"
    ]


def test_a_program_that_only_begins_and_ends_is_reported() -> None:
    rank = Rank(0)
    rank.initialise(100)
    rank.finalise(3000, 4000)
    assert trouble(make_run(rank)) == [
        "The program called MPI only to begin and to end: there is nothing that ranks could wait for"
    ]
