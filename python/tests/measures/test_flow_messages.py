# SPDX-License-Identifier: Apache-2.0
"""Paths through the messages of flows: of runs written by hand, and of a real factorisation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import run as run_process

import polars as pl
import pytest
import trace_writer as w

from plait import _build, read_run
from plait.measures import critical_path as cp
from plait.measures.flow_messages import KINDS, with_causes, with_flow_messages
from plait.measures.messages import match_messages
from plait.report.analysis import Analysis, analyse
from plait.report.graphs import draw_kinds

COMM, TAG = 1 << 30, 77
_Stretch = tuple[int, int, int, int]  # rank, what, start, end


def analysis_of(folder: Path, *ranks: bytes) -> Analysis:
    w.write_meta(folder, len(ranks))
    for rank, records in enumerate(ranks):
        w.write_rank(folder, rank, len(ranks), {0: w.name(0, 1, "potrf") + records})
    return analyse(read_run(folder), folder, None)


def stretches(analysis: Analysis) -> list[_Stretch]:
    return analysis.paths.select("rank", "what", "start_ns", "end_ns").rows()


def message(direction: int, peer: int, *times: int) -> bytes:
    posted, handed, arrived, completed = times
    return w.message(
        *(direction, peer, 0, 8, (posted, handed, arrived, completed)), communicator=COMM, tag=TAG
    )


def sender(rank_to: int = 1) -> bytes:
    """A task that writes from 10 to 50, and a send of its value."""
    records = w.task(1, 10, 50, ready=5, id_=1) + w.flow_task(1, 2, [(1, 1)])
    records += w.flow_task(2, 3, [(1, 0)], part=1, communicator=COMM, tag=TAG)
    return records + message(0, rank_to, 52, 53, 54, 55)


def receiver(source: int = 0, posted: int = 4) -> bytes:
    """A receive, whose task runs from 85 to 95."""
    records = w.flow_task(2, 3, [(1, 1)], part=2, communicator=COMM, tag=TAG)
    records += w.flow_task(3, 4, [(1, 0), (2, 1)]) + message(1, source, posted, 0, 70, 75)
    return records + w.task(1, 85, 95, ready=80, id_=3, released_by=2)


def test_a_received_value_leads_to_the_task_that_wrote_it(tmp_path: Path) -> None:
    assert stretches(analysis_of(tmp_path, sender(), receiver())) == [
        (0, cp.WORKER_WAIT, 5, 10),
        (0, cp.RUN, 10, 50),
        (0, cp.RELEASE, 50, 52),
        (1, cp.TRANSFER, 52, 70),
        (1, cp.NOTICE, 70, 75),
        (1, cp.RELEASE, 75, 80),
        (1, cp.WORKER_WAIT, 80, 85),
        (1, cp.RUN, 85, 95),
    ]


def test_a_forwarded_value_leads_through_the_rank_between(tmp_path: Path) -> None:
    between = w.flow_task(2, 3, [(1, 1)], part=2, communicator=COMM, tag=TAG)
    between += message(1, 0, 4, 0, 60, 64) + message(0, 2, 62, 63, 66, 67)
    found = stretches(analysis_of(tmp_path, sender(), between, receiver(source=1)))
    assert found[1:5] == [
        (0, cp.RUN, 10, 50),
        (0, cp.RELEASE, 50, 52),
        (1, cp.TRANSFER, 52, 60),
        (1, cp.NOTICE, 60, 62),
    ]
    assert found[5] == (2, cp.TRANSFER, 62, 70)


def test_a_receive_posted_late_leads_to_the_task_that_ended_last_before(tmp_path: Path) -> None:
    before = w.task(1, 20, 71, ready=20, id_=9) + w.flow_task(9, 1, [(5, 1)])
    found = stretches(analysis_of(tmp_path, sender(), before + receiver(posted=73)))
    assert found[:3] == [(1, cp.START, 5, 20), (1, cp.RUN, 20, 71), (1, cp.RELEASE, 71, 73)]


def test_of_a_value_sent_again_the_last_record_before_the_message_counts(tmp_path: Path) -> None:
    again = w.task(1, 51, 60, ready=51, id_=8) + w.flow_task(8, 56, [(1, 1)])
    again += w.flow_task(9, 57, [(1, 0)], part=1, communicator=COMM, tag=TAG)
    analysis = analysis_of(tmp_path, sender() + again, receiver())
    sends = analysis.ordered_run.tasks.filter(pl.col("role") == 1)
    assert sends["released_by"].to_list() == [1]


def test_counts_are_of_the_tasks_that_were_recorded(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, sender(), receiver())
    assert (analysis.run.tasks.height, analysis.ordered_run.tasks.height) == (2, 4)
    assert analysis.ordered_run.kinds == ("potrf", *KINDS)
    assert analysis.kinds["name"].to_list() == ["potrf"]


def test_the_graph_has_the_messages(tmp_path: Path) -> None:
    dot = draw_kinds(analysis_of(tmp_path, sender(), receiver())).dot
    assert all(name in dot for name in KINDS)


def test_a_run_without_flows_stays_as_it_is(tmp_path: Path) -> None:
    run = analysis_of(tmp_path, w.task(1, 10, 50)).run
    assert with_causes(with_flow_messages(run, match_messages(run.messages))) is run


def test_the_path_of_a_factorisation_is_its_tasks_on_both_ranks(tmp_path: Path) -> None:
    program = _build.built_application("plait-cholesky")
    if program is None:
        pytest.skip("plait-cholesky is not built")
    command = [sys.executable, "-m", "plait", "run", "-n", "2", "-o", str(tmp_path / "run")]
    run_process([*command, str(program), "--size", "512", "--tile", "64"], check=True, timeout=240,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, capture_output=True)  # fmt: skip
    analysis = analyse(read_run(tmp_path / "run"), tmp_path / "run", None)
    shares = dict(analysis.shares.select("name", "share").rows())
    assert shares.get(cp.WHAT[cp.START], 0.0) < 0.2
    assert {"potrf", "trsm"} <= set(shares) and {"gemm", "syrk"} & set(shares)
    ran = analysis.paths.filter(pl.col("what") == cp.RUN)
    assert set(ran["rank"]) == {0, 1}
