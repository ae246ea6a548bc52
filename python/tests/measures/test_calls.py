# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import polars as pl
from mpi_runs import NUMBER, Rank, halo, make_run

from plait import _events as events
from plait.measures.calls import call_at, call_times, calls_within, lane_time, parallel_window


def simple() -> tuple[Rank, Rank]:
    a, b = Rank(0), Rank(1)
    a.initialise(100)
    b.initialise(150)
    a.collective("MPI_Barrier", 200, 300)
    a.collective("MPI_Barrier", 400, 430, count=1)
    a.collective("MPI_Allreduce", 500, 560, count=2, given=8, got=8)
    a.finalise(800, 1100)
    b.finalise(1000, 1100)
    return a, b


def test_the_window_is_between_the_first_init_and_the_last_finalize() -> None:
    assert parallel_window(make_run(*simple())) == (100, 1000)


def test_without_init_and_finalize_the_window_is_everything() -> None:
    rank = Rank(0)
    rank.collective("MPI_Barrier", 20, 30)
    rank.collective("MPI_Barrier", 50, 60)
    assert parallel_window(make_run(rank)) == (20, 60)


def test_calls_are_counted_within_the_window_only() -> None:
    run = make_run(*simple())
    calls = calls_within(run, (100, 1000))
    of = {NUMBER[name]: name for name in NUMBER}
    times = {
        (rank, of[NUMBER[run.functions[function]]]): (start, end)
        for rank, function, start, end in calls.select(
            "rank", "function", "start_ns", "end_ns"
        ).iter_rows()
    }
    # A rank that waits in MPI_Finalize for the last one loses time; what comes after does not count.
    assert times[0, "MPI_Finalize"] == (800, 1000)
    assert times[1, "MPI_Init"] == (100, 150)
    assert (0, "MPI_Init") not in times and (1, "MPI_Finalize") not in times


def test_times_by_function() -> None:
    run = make_run(*simple())
    calls = calls_within(run, (100, 1000)).filter(pl.col("class") == events.CALL_COLLECTIVE)
    whole = lane_time(calls_within(run, (100, 1000)), (100, 1000))
    assert whole == 2 * 900
    table = call_times(calls, whole, "function")
    rows = {run.functions[row["function"]]: row for row in table.iter_rows(named=True)}
    assert list(rows) == ["MPI_Barrier", "MPI_Allreduce"]
    barrier = rows["MPI_Barrier"]
    assert (barrier["count"], barrier["time_ns"], barrier["mean_ns"], barrier["max_ns"]) == (
        2,
        130,
        65,
        100,
    )
    assert barrier["share"] == 130 / 1800
    assert (rows["MPI_Allreduce"]["bytes_given"], rows["MPI_Allreduce"]["bytes_got"]) == (8, 8)


def test_repeated_tests_are_calls_of_their_own() -> None:
    rank = Rank(0)
    rank._call(2, "MPI_Waitall", 100, 400, repeats=2)
    rank._call(2, "MPI_Waitall", 500, 600)
    table = call_times(make_run(rank).calls, 1000, "function")
    assert table.select("count", "time_ns", "mean_ns").row(0) == (4, 400, 100)


def test_a_begun_collective_is_no_call_of_its_own() -> None:
    rank = Rank(0)
    rank.collective("MPI_Barrier", 20, 30)
    rank._call(5, "MPI_Ibarrier", 40, 42, count=1)
    rank._call(10, "MPI_Ibarrier", 40, 900, count=1)
    assert calls_within(make_run(rank), (0, 1000)).height == 2


def test_finds_the_call_in_which_something_happened() -> None:
    calls = calls_within(make_run(*halo(3)), (0, 10**9))
    waits = calls.with_row_index("row").filter(pl.col("class") == events.CALL_COMPLETES)
    found = call_at(calls, waits["rank"], waits["worker"], waits["end_ns"])
    assert found.tolist() == waits["row"].to_list()
    nowhere = call_at(calls, waits["rank"], waits["worker"] + 1, waits["end_ns"])
    assert set(nowhere.tolist()) == {-1}
    between = call_at(calls, waits["rank"], waits["worker"], waits["end_ns"] + 50)
    assert set(between.tolist()) == {-1}
