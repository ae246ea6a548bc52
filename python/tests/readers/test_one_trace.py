# SPDX-License-Identifier: Apache-2.0
"""Runs in which plait's engine and the recorder of MPI calls wrote into one file a rank."""

from __future__ import annotations

import json
from pathlib import Path

import trace_writer as w
from mpi_runs import Rank, write_run

from plait import read_run
from plait.measures.messages import match_messages

OWN_COMMUNICATOR = 0xFFFFFFF1


def moved(rank: int, size: int, *, communicator: int = 0) -> bytes:
    """A message of the engine from rank 0 to rank 1: the side of `rank`."""
    return w.message(rank, 1 - rank, 0, size, (50, 51, 52, 53), communicator=communicator)


def one_trace(folder: Path) -> Path:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(10)
        rank.raw(w.engine(1, 12) + w.name(0, 0, "work") + w.task(0, 40, 60))
    ranks[0].send(20, 30, 1, 100, tag=7)
    ranks[1].receive(20, 35, 0, 100, tag=7)
    for rank in ranks:
        rank.raw(moved(rank.rank, 200) + moved(rank.rank, 8, communicator=OWN_COMMUNICATOR))
        rank.finalise(80, 90)
    return write_run(folder, *ranks)


def test_messages_of_calls_and_of_the_engine_do_not_meet(tmp_path: Path) -> None:
    run = read_run(one_trace(tmp_path))
    assert match_messages(run.messages).select("size_bytes", "protocol").rows() == [(100, 3), (200, 0)]
    assert run.engines.select("rank", "workers").rows() == [(0, 1), (1, 1)]
    assert (run.tasks.height, run.calls.height) == (2, 6)


def test_messages_of_the_runtime_itself_are_left_out(tmp_path: Path) -> None:
    run = read_run(one_trace(tmp_path))
    assert run.own_messages == 2
    assert 8 not in run.messages["size_bytes"]


def test_parallel_regions_get_their_place_in_the_program(tmp_path: Path) -> None:
    rank = Rank(0)
    rank.initialise(10)
    rank.raw(w.name(1, 0, "omp parallel program+0x12") + w.span(0, 20, 30))
    folder = write_run(tmp_path, rank)
    site = {"function": "solve(Grid&)", "file": "/src/solver.cpp", "line": 7}
    (folder / "sites.json").write_text(json.dumps({"program+0x12": site}))
    assert read_run(folder).span_kinds == ("omp parallel solve (solver.cpp:7)",)
