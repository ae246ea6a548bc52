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
from plait._events import IS_OF_ENGINE, NO_WORKER, ROLE_TASK, Run
from plait.measures.counted import counted
from plait.measures.messages import match_messages
from plait.measures.run_path import CALL, MESSAGE, TASK, run_path
from plait.measures.samples import measure_samples
from plait.measures.wait_states import WAITS

ARGUMENTS = (
    *("--problem", "plate", "--cells", "32", "16", "--steps", "3", "--way", "collection"),
    *("--patches", "4", "--solver", "electrostatic"),
)
#: So long that there are samples of its tasks.
LONGER = (
    *("--problem", "plate", "--cells", "128", "64", "--steps", "40", "--way", "collection"),
    *("--patches", "8"),
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
    return started(*arguments, **variables).stdout


def started(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
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
    return done


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


def replayed(program: Path, folder: Path, *arguments: str) -> tuple[Run, Run, str]:
    """A run with calls and tasks, its replay, and what that printed."""
    plait("run", "-n", 2, "-w", 2, "--record-mpi", "-o", folder / "run", program, *arguments)
    done = started("replay", folder / "run", "--compute", "drop", "-o", folder / "again")
    return read_run(folder / "run"), read_run(folder / "again"), done.stderr


def test_a_replay_has_the_calls_beside_the_tasks(pic: Path, tmp_path: Path) -> None:
    logged, again, said = replayed(pic, tmp_path, *ARGUMENTS)
    assert "left out" not in said
    wanted = match_messages(logged.messages.filter(~IS_OF_ENGINE))
    of_engine = match_messages(logged.messages.filter(IS_OF_ENGINE))
    played_messages = match_messages(again.messages).height  # with some between elements
    assert wanted.height <= played_messages <= wanted.height + of_engine.height
    calls = [logged.functions[function] for function in logged.calls["function"]]
    played = [again.functions[function] for function in again.calls["function"]]
    assert played.count("MPI_Iallreduce") == calls.count("MPI_Allreduce") > 0  # two streams: tested
    predicted = plait("predict", tmp_path / "run", "--platform", "gigabit", "--no-advice")
    assert re.search(r"^predicted ", predicted, re.MULTILINE)


def test_a_replay_has_the_messages_of_tasks(tmp_path: Path) -> None:
    dns = _build.built_application("plait-dns")
    if dns is None:
        pytest.skip("plait-dns is not built")
    logged, again, said = replayed(Path(dns), tmp_path, "--points", "16", "--steps", "2")
    assert "left out" not in said
    engine = match_messages(logged.messages.filter(IS_OF_ENGINE))
    of_tasks = engine.filter(pl.col("sent_ns") >= logged.tasks["start_ns"].min())
    assert 0.9 * of_tasks.height < match_messages(again.messages).height <= engine.height


def test_calls_of_the_mpi_driver_are_left_out(pic: Path, tmp_path: Path) -> None:
    command = ("run", "-n", 2, "-w", 2, "--record-mpi", "-o", tmp_path / "run", pic, *ARGUMENTS)
    plait(*command, PLAIT_NETWORK="mpi")
    run = read_run(tmp_path / "run")
    check_both(run, 2)
    assert set(run.tasks["worker"].unique()) <= {0, 1}
    assert set(run.calls["worker"].unique()) == {0}


def test_samples_and_counters_of_tasks_need_no_calls(pic: Path, tmp_path: Path) -> None:
    options = ("--sample", 1000, "--counters", "task-clock,page-faults", "-o", tmp_path / "run")
    done = started("run", "-n", 2, "-w", 2, *options, pic, *LONGER)
    assert checksum(done.stdout) == checksum(plait("run", "-n", 2, "--no-trace", pic, *LONGER))
    run = read_run(tmp_path / "run")
    assert run.meta["recorder"] == "plait"
    assert run.calls.height == 0
    assert run.tasks["rank"].unique().sort().to_list() == [0, 1]
    check_samples(run, done.stderr)
    check_counts(run, done.stderr)
    plait("report", tmp_path / "run", "--quiet")
    page = (tmp_path / "run" / "report" / "report.html").read_text()
    assert ("In each kind of task" in page) == (run.samples.height > 0)
    assert ("What was counted in tasks and regions" in page) == (counted(run).height > 0)


def check_samples(run: Run, errors: str) -> None:
    """Of workers, in tasks; none where neither perf nor timers are permitted."""
    if "no samples" in errors:
        assert not run.samples.height
        return
    assert {0} <= set(run.samples["worker"].unique()) <= {0, 1, NO_WORKER}
    measures = measure_samples(run, run.calls, pl.DataFrame(schema=WAITS))
    assert measures.by_task.height > 0
    assert set(measures.by_task["task"]) <= set(run.kinds)


def check_counts(run: Run, errors: str) -> None:
    """One record for each task and counter; none where the kernel does not permit counters."""
    of_tasks = run.counts.filter(pl.col("id") > 0)
    if "nothing is counted" in errors:
        assert not of_tasks.height
        return
    computed = run.tasks.filter(pl.col("role") == ROLE_TASK)
    assert of_tasks.height == 2 * computed.height
    # The parts of a task that goes on later have its id.
    joined = of_tasks.join(
        computed,
        left_on=["rank", "id", "start_ns", "end_ns", "task"],
        right_on=["rank", "id", "start_ns", "end_ns", "kind"],
    )
    assert joined.height == of_tasks.height
    clock = run.counter_kinds.index("task-clock")
    assert joined.filter(pl.col("counter") == clock)["value"].to_numpy().min() > 0


def test_paths_and_samples_beside_calls(pic: Path, tmp_path: Path) -> None:
    options = ("--record-mpi", "--call-path", 3, "--sample", 1000, "-o", tmp_path / "run")
    done = started("run", "-n", 2, *options, pic, *LONGER, "--solver", "electrostatic")
    run = read_run(tmp_path / "run")
    check_both(run, 2)
    check_samples(run, done.stderr)
    sites = [run.sites[site] for site in run.calls["site"].unique() if site >= 0]
    assert max(len(site.callers) for site in sites) == 2


def test_plait_record_around_a_plait_program_records_both(pic: Path, tmp_path: Path) -> None:
    starter = _launcher.find_launcher(None)
    crowd = ["--oversubscribe"] if starter.family == "Open MPI" else []
    plait("record", "-o", tmp_path / "run", "--", starter.path, *crowd, "-n", 3, pic, *ARGUMENTS)
    check_both(read_run(tmp_path / "run"), 3)
    plait("report", tmp_path / "run", "--quiet")
    page = (tmp_path / "run" / "report" / "report.html").read_text()
    assert "Why the run took as long as it did" in page
    assert "What each rank did: tasks, and calls" in page


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--no-trace", "--record-mpi"], "--record-mpi records, and --no-trace does not"),
        (["--no-trace", "--sample", "100"], "--sample records, and --no-trace does not"),
        (["--no-trace", "--counters", "cycles"], "--counters records, and --no-trace does not"),
        (["--sample", "100", "--call-path", "4"], "--call-path is of MPI calls; give --record-mpi"),
    ],
)
def test_options_that_contradict_each_other(tmp_path: Path, options: list[str], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "plait", "run", *options, "true"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert sentence in done.stderr
