# SPDX-License-Identifier: Apache-2.0
"""The critical path of a run through calls and tasks."""

from __future__ import annotations

import trace_writer as w
from mpi_runs import Rank, make_run

from plait._events import Run
from plait.measures.messages import match_messages
from plait.measures.run_path import CALL, MESSAGE, PROGRAM, TASK, run_path, run_path_shares

_Stretch = tuple[int, int, int, int, int]  # rank, what, kind, start, end


def path(run: Run) -> list[_Stretch]:
    found = run_path(run, match_messages(run.messages))
    starts, ends = found["start_ns"].to_list(), found["end_ns"].to_list()
    assert starts[1:] == ends[:-1]  # no gaps, no overlaps
    return found.select("rank", "what", "kind", "start_ns", "end_ns").rows()


def function(run: Run, name: str) -> int:
    return run.functions.index(name)


def two_ranks() -> list[Rank]:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
        rank.raw(w.engine(1, 1000) + w.name(0, 0, "work") + w.name(0, 1, "message"))
    return ranks


def end(ranks: list[Rank], at: int) -> Run:
    for rank in ranks:
        rank.finalise(at, at + 100)
    return make_run(*ranks)


def test_a_collective_leads_to_the_rank_that_came_last() -> None:
    ranks = two_ranks()
    ranks[0].collective("MPI_Allreduce", 2000, 9000)
    ranks[1].collective("MPI_Allreduce", 8000, 8500)
    run = end(ranks, 9000)
    reduce = function(run, "MPI_Allreduce")
    assert (0, MESSAGE, reduce, 8000, 9000) in path(run)
    assert (1, PROGRAM, -1, 1000, 8000) in path(run)


def test_a_task_that_waits_in_a_call_leads_to_the_task_of_the_other_rank() -> None:
    ranks = two_ranks()
    ranks[0].raw(w.task(0, 1500, 9000, id_=1))
    ranks[0].collective("MPI_Allreduce", 2000, 8200)
    ranks[1].raw(w.task(0, 1500, 8000, id_=1))
    ranks[1].collective("MPI_Allreduce", 8000, 8200)
    run = end(ranks, 9000)
    found = path(run)
    assert (0, TASK, 0, 8200, 9000) in found
    assert (0, MESSAGE, function(run, "MPI_Allreduce"), 8000, 8200) in found
    assert (1, TASK, 0, 1500, 8000) in found


def test_a_call_after_a_graph_leads_through_the_message_of_the_engine() -> None:
    """Rank 0 calls MPI when its graph has ended, which waited for a task of rank 1."""
    ranks = two_ranks()
    graph = w.graph_run(1, 0, 1400, active=2)
    ranks[1].raw(graph + w.task(0, 1500, 7000, id_=1, ready=1500))
    ranks[1].raw(w.task(1, 7000, 7100, flags=1, object_=0, id_=2, released_by=1, ready=7000))
    ranks[1].raw(w.message(0, 0, 0, 64, (7000, 7010, 7020, 7100)))
    ranks[0].raw(graph + w.task(1, 1400, 7400, flags=2, object_=1 << 32, id_=1, ready=1400))
    ranks[0].raw(w.message(1, 1, 0, 64, (1400, 7050, 7200, 7400)))
    ranks[0].raw(w.task(0, 7400, 8000, id_=2, released_by=1, ready=7400))
    ranks[0].collective("MPI_Allreduce", 8500, 9000)
    ranks[1].collective("MPI_Allreduce", 7600, 9000)
    found = path(end(ranks, 9000))
    kinds = [stretch[:3] for stretch in found if stretch[1] in (TASK, MESSAGE)]
    assert (1, TASK, 0, 1500, 7000) in found
    assert (0, MESSAGE, -1, 7000, 7400) in found
    assert (0, TASK, 0, 7400, 8000) in found
    assert kinds.index((1, TASK, 0)) < kinds.index((0, MESSAGE, -1)) < kinds.index((0, TASK, 0))


def test_a_phase_of_a_collection_leads_to_the_rank_whose_task_was_last() -> None:
    ranks = two_ranks()
    ranks[0].raw(w.task(0, 1500, 2000, id_=1, ready=1500))
    ranks[0].raw(w.task(0, 7300, 7500, id_=2, ready=7300))
    ranks[1].raw(w.task(0, 1500, 7000, id_=1, ready=1500))
    for rank in ranks:
        rank.collective("MPI_Allreduce", 8000 + rank.rank, 9000)
    found = path(end(ranks, 9000))
    assert (1, TASK, 0, 1500, 7000) in found
    assert (0, MESSAGE, -1, 7000, 7300) in found
    assert (0, TASK, 0, 7300, 7500) in found


def test_shares_add_up_to_the_whole_path() -> None:
    ranks = two_ranks()
    ranks[0].receive(1500, 5100, 1, 8)
    ranks[1].send(5000, 5050, 0, 8)
    run = end(ranks, 6000)
    shares = run_path_shares(run_path(run, match_messages(run.messages)), run)
    assert abs(float(shares["share"].sum()) - 1.0) < 1e-9
    names = set(shares["name"].to_list())
    assert {"the program itself", "MPI_Recv, from when the last rank came"} <= names


def test_a_run_without_calls_has_none() -> None:
    assert run_path(Run({}, 1, (0,)), match_messages(Run({}, 1, (0,)).messages)).height == 0


def test_a_call_that_waits_for_no_rank_is_on_the_path_whole() -> None:
    ranks = two_ranks()
    ranks[0].send(1500, 3500, 1, 8)
    ranks[1].receive(1200, 1900, 0, 8)
    run = end(ranks, 4000)
    assert (0, CALL, function(run, "MPI_Send"), 1500, 3500) in path(run)
