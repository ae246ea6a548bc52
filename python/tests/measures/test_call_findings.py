# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
from mpi_runs import Rank, halo, make_run, write_run

from plait import read_run
from plait._events import Run
from plait.measures.balance import balance_over_time
from plait.measures.call_findings import find_call_losses, outstanding_receives
from plait.measures.calls import parallel_window
from plait.measures.communication import measure_calls
from plait.measures.messages import match_messages


def findings(run: Run) -> list[str]:
    window = parallel_window(run)
    calls = measure_calls(run, match_messages(run.messages), window)
    return find_call_losses(run, calls, balance_over_time(run, window, 100))


def test_says_where_the_time_goes_and_what_progression_would_save() -> None:
    first, second, *_ = findings(make_run(*halo(200, moving=100_000)))
    assert first.startswith("21 % of the time is spent in MPI_Waitall at program+0x30.")
    assert second.startswith(
        "95 % of the time in MPI_Waitall is data that was ready to move earlier: background progression "
        "(`plait record --progress`) would save up to 20 % of the time; 0.0 % of what could overlap"
    )


def test_says_nothing_of_progression_where_it_would_not_help() -> None:
    assert not any("progression" in text for text in findings(make_run(*halo(200, progress=True))))


def test_says_whether_acceleration_would_help() -> None:
    helps = findings(make_run(*halo(200, moving=100_000)))[-1]
    assert helps.startswith(
        "`plait accelerate` would help: 20 % of the time is waits for messages that could"
    )
    assert "with at most 1 receive outstanding at once on a rank" in helps
    brings_nothing = findings(make_run(*halo(200, progress=True)))[-1]
    assert brings_nothing.startswith("`plait accelerate` would bring next to nothing: 0.1 %")


def test_says_what_the_engine_did_for_an_accelerated_run() -> None:
    run = make_run(*halo(200, moving=100_000))
    # As the engine of plait accelerate would have moved them: during the computing of 400 us.
    messages = run.messages.with_columns(
        pl.lit(1, dtype=pl.Int8).alias("protocol"), pl.col("posted_ns").alias("handed_ns")
    ).with_columns(pl.min_horizontal(pl.col("posted_ns") + 100_000, "completed_ns").alias("arrived_ns"))
    own = messages.head(1).with_columns(
        pl.lit(False).alias("received"), pl.lit(0, dtype=pl.Int64).alias("number")
    )
    found = findings(replace(run, messages=messages, engine_messages=pl.concat([messages, own])))
    assert re.match(
        r"This run was accelerated: 420 messages of the program with 420 MiB went through plait's "
        r"engine, 420 of them after a rendezvous; they were under way for 42 ms in all, and during "
        r"95\.\d % of that the receiving rank computed\. 1 further message with 1 MiB are the engine",
        found[-1],
    ), found[-1]
    assert not any("would help" in text or "--progress`" in text for text in found)


def test_counts_receives_that_are_outstanding_at_once() -> None:
    ranks = [Rank(0), Rank(1)]
    receives = [ranks[0].irecv(10 * tag, 1, 8, tag=tag) for tag in range(100)]
    sends = [ranks[1].isend(10 * tag, 0, 8, tag=tag) for tag in range(100)]
    ranks[0].wait(2000, 3000, [], receives)
    ranks[1].wait(2000, 3000, sends, [])
    most, passed = outstanding_receives(make_run(*ranks))
    assert most == 100
    assert passed == sum(range(100)) / 2
    assert outstanding_receives(make_run(Rank(0))) == (0, 0.0)


def test_names_the_rank_that_comes_late() -> None:
    ranks = [Rank(rank) for rank in range(4)]
    for step in range(10):
        for rank in ranks:
            late = 300 if rank.rank == 2 else 0
            rank.collective("MPI_Barrier", 1000 * step + 500 + late, 1000 * step + 810, count=step)
    text = " ".join(findings(make_run(*ranks)))
    assert "waiting for ranks that came late" in text
    assert "It was rank 2 that came last in 100.0 % of it" in text
    assert "Rank 2 computed 1." in text


def test_a_program_that_hardly_communicates_is_told_so() -> None:
    rank = Rank(0)
    rank.collective("MPI_Barrier", 100, 110)
    rank.collective("MPI_Barrier", 100_000, 100_010, count=1)
    (only,) = findings(make_run(rank))
    assert only.startswith("Only 0.0 % of the time")


def test_a_run_of_tasks_has_no_such_findings(ring_folder: Path) -> None:
    assert findings(read_run(ring_folder)) == []


def test_places_are_shown_by_function_where_known(tmp_path: Path) -> None:
    write_run(tmp_path, *halo(50))
    (tmp_path / "sites.json").write_text(
        '{"program+0x30": {"function": "exchange", "file": "src/halo.c", "line": 7}}'
    )
    assert "in MPI_Waitall at exchange (halo.c:7)." in findings(read_run(tmp_path))[0]


def test_setting_up_is_no_matter_of_sending_less() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
        rank.spawn(2000, 90_000)
        rank.finalise(100_000, 100_100)
    found = " ".join(findings(make_run(*ranks)))
    assert "89 % of the time is setting up communicators, types, windows or processes" in found
    assert "Sending less" not in found
