# SPDX-License-Identifier: Apache-2.0
"""Profiles of plait's engine: what is read, measured and shown of their sums."""

from __future__ import annotations

from pathlib import Path

import pytest
import trace_writer as w

from plait import read_run, write_report, write_run
from plait.measures.engine_profile import message_sums, region_sums, task_sums, task_time_by_rank
from plait.report.analysis import Analysis, analyse

SECOND = 10**9
OWN_COMMUNICATOR = 0xFFFFFFF0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ranks of 10 s with one worker: rank 0 is 4 s in tasks, rank 1 8 s; each sends to the other."""
    run = tmp_path / "run"
    w.write_meta(run, 2, options={"profile": "on"})
    for rank, busy in ((0, 4), (1, 8)):
        sent = {"peer": 1 - rank, "communicator": 0, "size_class": 13, "worker": 0xFFFF}
        records = [
            w.name(0, 0, "force"),
            w.name(1, 0, "solve"),
            w.clock(0, 0, 0),
            w.engine_sum(
                0, kind=0, count=1000, time=busy * SECOND, longest=SECOND, bins={10: 990, 22: 10}
            ),
            w.engine_sum(1, kind=0, count=1000, time=SECOND, longest=SECOND, bins={0: 1000}),
            w.engine_sum(2, count=100, time=SECOND, longest=SECOND, size=500_000, protocol=1, **sent),
            w.engine_sum(3, count=100, time=5000, longest=50, protocol=1, **sent),
            w.engine_sum(2, count=7, size=7, **{**sent, "communicator": OWN_COMMUNICATOR}),
            w.engine_sum(6, span=0, count=3, time=6 * SECOND, longest=3 * SECOND, bins={23: 3}),
            w.profile_state(10 * SECOND),
        ]
        w.write_rank(run, rank, 2, {0: b"".join(records)})
    return run


def analysis_of(folder: Path) -> Analysis:
    return analyse(read_run(folder), folder, None)


def test_tasks_are_summed_by_kind_with_their_queueing(folder: Path) -> None:
    run = read_run(folder)
    assert run.is_profile
    row = task_sums(run).row(0, named=True)
    assert run.kinds[row["kind"]] == "force"
    assert (row["count"], row["time_ns"], row["waited_ns"]) == (2000, 12 * SECOND, 2 * SECOND)
    assert 2**17 <= row["p50_ns"] <= 2**18
    assert row["p99_ns"] >= row["p90_ns"]


def test_messages_are_summed_by_size_without_those_of_the_runtime(folder: Path) -> None:
    rows = message_sums(read_run(folder)).rows(named=True)
    assert [(row["size_class"], row["count"], row["bytes"]) for row in rows] == [(13, 200, 1_000_000)]
    assert rows[0]["waited_ns"] == 10_000


def test_regions_and_ranks_have_their_sums(folder: Path) -> None:
    run = read_run(folder)
    assert region_sums(run)["time_ns"].to_list() == [12 * SECOND]
    assert task_time_by_rank(run)["time_ns"].to_list() == [4 * SECOND, 8 * SECOND]


def test_the_matrix_and_the_sizes_have_messages_of_the_engine(folder: Path) -> None:
    traffic = analysis_of(folder).traffic
    assert traffic.matrix.rows() == [(0, 1, 100, 500_000), (1, 0, 100, 500_000)]
    assert int(traffic.sizes["messages"].sum()) == 200


def test_a_report_has_sections_of_them(folder: Path, tmp_path: Path) -> None:
    page = write_report(analysis_of(folder), tmp_path / "out").page.read_text()
    for name in ("engine-ranks", "engine-tasks", "engine-messages", "engine-regions", "matrix"):
        assert f'id="{name}"' in page, name
    assert "33.3 % above the mean" in page


def test_it_is_written_as_it_was_read(folder: Path, tmp_path: Path) -> None:
    run = read_run(folder)
    write_run(run, tmp_path / "again")
    again = read_run(tmp_path / "again")
    order = ["rank", "of", "communicator"]
    assert again.engine_sums.sort(order).equals(run.engine_sums.sort(order))
