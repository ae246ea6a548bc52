# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mpi_runs import Rank, make_run

from plait import read_run
from plait.measures.balance import balance_over_time


def test_computing_is_what_is_in_no_call() -> None:
    ranks = [Rank(0), Rank(1)]
    ranks[0].collective("MPI_Barrier", 50, 100)
    ranks[1].collective("MPI_Barrier", 90, 100)
    ranks[0].collective("MPI_Barrier", 150, 200, count=1)
    ranks[1].collective("MPI_Barrier", 150, 200, count=1)
    found = balance_over_time(make_run(*ranks), (0, 200), 2)
    assert found.computing_ns.tolist() == [[50, 50], [90, 50]]
    assert found.imbalance == pytest.approx([90 / 70 - 1, 0])
    assert found.whole() == pytest.approx(140 / 120 - 1)


def test_ranks_that_take_turns_are_balanced_as_a_whole() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        start = 0 if rank.rank else 50
        rank.collective("MPI_Barrier", start, start + 50)
        rank.collective("MPI_Barrier", 150 - start, 200 - start, count=1)
    found = balance_over_time(make_run(*ranks), (0, 200), 4)
    assert found.whole() == 0
    assert found.imbalance.max() == 1


def test_of_a_run_of_tasks_computing_is_being_in_tasks(ring_folder: Path) -> None:
    run = read_run(ring_folder)
    found = balance_over_time(run, run.window_ns(), 50)
    busy = (run.tasks.filter(run.tasks["role"] == 0)).select("rank", "start_ns", "end_ns")
    for row, rank in enumerate(found.ranks):
        own = busy.filter(busy["rank"] == rank)
        assert found.computing_ns[row].sum() == pytest.approx(
            (own["end_ns"] - own["start_ns"]).sum(), rel=1e-6
        )


def test_nothing_recorded_is_nothing_to_compare() -> None:
    found = balance_over_time(make_run(Rank(0)), (0, 100), 3)
    assert found.ranks == () and found.whole() == 0
    assert np.array_equal(found.imbalance, np.zeros(3))
