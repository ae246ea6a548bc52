# SPDX-License-Identifier: Apache-2.0
"""Reports of programs that were recorded from outside: calls, messages, no tasks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import trace_writer as w
from chromium import open_page
from synthetic_mpi import HaloProgram

from plait import read_run, write_report
from plait.report.analysis import analyse

FIGURES = (
    *("waits", "tasks", "call-time", "collectives", "overlap", "balance", "in-flight", "rate"),
    *("scatter", "matrix", "sizes", "run-path"),
)
PICTURES = (
    *("calls", "rank-time", "call-time", "overlap", "balance", "matrix", "message-sizes"),
    *("in-flight", "data-rate", "send-receive"),
)


def report_of(folder: Path, output: Path) -> Path:
    return write_report(analyse(read_run(folder), folder, None), output).page


@pytest.fixture(scope="module")
def page_of_halo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("halo")
    return report_of(HaloProgram(ranks=4, steps=30).write(folder / "run"), folder / "out")


def test_every_figure_paints(page_of_halo: Path) -> None:
    page = open_page(page_of_halo)
    assert page.console == []
    assert page.figures() == dict.fromkeys(FIGURES, True)
    assert "Solver::step (solver.cpp:301)" in page.html


def test_pictures_and_tables_stand_beside_the_page(page_of_halo: Path) -> None:
    names = {path.stem for path in page_of_halo.parent.glob("*.png")}
    assert names == set(PICTURES)
    calls = pl.read_csv(page_of_halo.parent / "calls-by-function.csv")
    assert calls["function"].to_list()[:2] == ["MPI_Waitall", "MPI_Allreduce"]
    parts = pl.read_csv(page_of_halo.parent / "rank-time.csv")
    assert (parts["computing_ns"] > 0).all()
    pairs = pl.read_csv(page_of_halo.parent / "matrix.csv")
    assert set(pairs.select("source", "destination").rows()) == {
        *((0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 0), (0, 3)),
    }


def test_thousands_of_ranks_are_shown_in_groups(tmp_path: Path) -> None:
    page = open_page(report_of(HaloProgram(1100, 2).write(tmp_path / "run"), tmp_path / "out"))
    assert page.console == []
    assert all(page.figures().values())
    assert "have no lane of their own" in page.html
    assert "Each cell is 2 by 2 ranks" in page.html


def test_a_message_that_nobody_received_is_listed_with_its_call_site(tmp_path: Path) -> None:
    run = HaloProgram(ranks=2, steps=3).write(tmp_path / "run")
    w.write_rank(run, 1, 2, {0: w.name(3, 1, "MPI_Init")})
    page = open_page(report_of(run, tmp_path / "out"))
    assert page.console == []
    assert "Messages with one side only: 12" in page.html
    assert "send_faces (halo.cpp:120)" in page.html


def test_a_million_calls_are_on_the_page_one_by_one(tmp_path: Path) -> None:
    run = HaloProgram(ranks=16, steps=10_450, seed=2).write(tmp_path / "run")
    page_file = report_of(run, tmp_path / "out")
    assert page_file.stat().st_size < 16 << 20
    page = open_page(page_file)
    assert page.console == []
    assert all(page.figures().values())
    assert "This run is long" not in page.html
