# SPDX-License-Identifier: Apache-2.0
"""`plait run --record-mpi` and `plait record`: a program with MPI and plait in it, whole runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from plait import _build, _launcher, read_run
from plait._events import IS_OF_ENGINE, Run
from plait.measures.messages import match_messages
from plait.measures.run_path import CALL, MESSAGE, TASK, run_path

ARGUMENTS = (
    *("--problem", "plate", "--cells", "32", "16", "--steps", "3", "--way", "collection"),
    *("--patches", "4", "--solver", "electrostatic"),
)
#: What the solver of plait-pic calls, and its begin and end: nothing of the runtime's network.
CALLED = {
    *("MPI_Allreduce", "MPI_Waitall", "MPI_Irecv", "MPI_Isend", "MPI_Init_thread", "MPI_Comm_dup"),
    *("MPI_Comm_free", "MPI_Finalize", "MPI_Bcast", "MPI_Barrier", "MPI_Reduce"),
}


@pytest.fixture(scope="module")
def pic() -> Path:
    found = _build.built_application("plait-pic")
    recorder = _build.build_folder() / _build.RECORDER.files[0]
    if found is None or not recorder.is_file():
        pytest.skip("plait-pic or the recorder is not built")
    return Path(found)


def plait(*arguments: object, **variables: str) -> str:
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PLAIT_TRACE"},
        **_launcher.root_environment(),
        "PLAIT_BUILD": str(_build.build_folder().absolute()),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-m", "plait", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def checksum(output: str) -> str:
    found = re.search(r"^checksum (\w+)$", output, re.MULTILINE)
    assert found is not None, output
    return found[1]


def check_both(run: Run, ranks: int) -> None:
    """Calls, tasks, spans and messages of both kinds on all ranks; the runtime's own calls on none."""
    assert run.ranks_present == tuple(range(ranks))
    for table in (run.calls, run.tasks, run.spans, run.engines):
        assert table["rank"].unique().sort().to_list() == list(range(ranks))
    assert {run.functions[index] for index in run.calls["function"].unique()} <= CALLED
    of_engine = run.messages.filter(IS_OF_ENGINE)
    assert of_engine.height and of_engine.height < run.messages.height
    matched = match_messages(run.messages)
    assert matched.height * 2 == run.messages.height
    check_solver(run)
    whats = set(run_path(run, matched)["what"].to_list())
    assert {TASK, CALL} <= whats or {TASK, MESSAGE} <= whats


def check_solver(run: Run) -> None:
    """The solver's calls are in its span, and no task is."""
    solve = run.span_kinds.index("solve")
    reduce = run.functions.index("MPI_Allreduce")
    for rank in run.ranks_present:
        spans = run.spans.filter((pl.col("rank") == rank) & (pl.col("kind") == solve))
        calls = run.calls.filter((pl.col("rank") == rank) & (pl.col("function") == reduce))
        tasks = run.tasks.filter(pl.col("rank") == rank)
        for start, end in spans.select("start_ns", "end_ns").rows():
            inside = (pl.col("start_ns") >= start) & (pl.col("end_ns") <= end)
            assert calls.filter(inside).height > 0
            assert tasks.filter(inside).height == 0


@pytest.mark.parametrize("ranks", [2, 3])
def test_plait_run_records_both(pic: Path, tmp_path: Path, ranks: int) -> None:
    plain = plait("run", "-n", ranks, "--no-trace", pic, *ARGUMENTS)
    output = plait("run", "-n", ranks, "--record-mpi", "-o", tmp_path / "run", pic, *ARGUMENTS)
    assert checksum(output) == checksum(plain)
    check_both(read_run(tmp_path / "run"), ranks)
    assert not (tmp_path / "run" / "engine").exists()


def test_calls_of_the_mpi_driver_are_left_out(pic: Path, tmp_path: Path) -> None:
    command = ("run", "-n", 2, "-w", 2, "--record-mpi", "-o", tmp_path / "run", pic, *ARGUMENTS)
    plait(*command, PLAIT_NETWORK="mpi")
    run = read_run(tmp_path / "run")
    check_both(run, 2)
    assert set(run.tasks["worker"].unique()) <= {0, 1}
    assert set(run.calls["worker"].unique()) == {0}


def test_plait_record_around_a_plait_program_records_both(pic: Path, tmp_path: Path) -> None:
    starter = _launcher.find_launcher(None)
    crowd = ["--oversubscribe"] if starter.family == "Open MPI" else []
    plait("record", "-o", tmp_path / "run", "--", starter.path, *crowd, "-n", 3, pic, *ARGUMENTS)
    check_both(read_run(tmp_path / "run"), 3)
    plait("report", tmp_path / "run", "--quiet")
    page = (tmp_path / "run" / "report" / "report.html").read_text()
    assert "Why the run took as long as it did" in page
    assert "What each rank did: tasks, and calls" in page


def test_recording_and_not_tracing_contradict_each_other(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "plait", "run", "--no-trace", "--record-mpi", "true"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert "--record-mpi records, and --no-trace does not" in done.stderr
