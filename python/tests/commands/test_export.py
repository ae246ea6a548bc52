# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from halo_run import Halo
from typer.testing import CliRunner, Result

from plait import PlaitError, read_run
from plait.__main__ import app
from plait._build import find_program
from plait.export.swift import write_swift
from plait.writers.plait import write_run


def plait(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "120"})


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "halo"
    write_run(Halo().run(), folder)
    return folder


@pytest.mark.parametrize(
    ("to", "name"),
    [
        ("perfetto", "out"),
        ("otf2", "out/traces.otf2"),
        ("parquet", "out/calls.parquet"),
        ("swift", "out/mpiuse_report-rank3-step1.dat"),
    ],
)
def test_each_format_is_written_once_and_again_with_force(
    halo: Path, tmp_path: Path, to: str, name: str
) -> None:
    if to == "otf2":
        pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
    command = ("export", halo, "--format", to, "-o", tmp_path / "out")
    first = plait(*command)
    assert first.exit_code == 0, first.output
    assert f"wrote {tmp_path / 'out'}" in first.output
    assert (tmp_path / name).stat().st_size > 50
    second = plait(*command)
    assert isinstance(second.exception, PlaitError)
    assert "--force" in str(second.exception)
    assert plait(*command, "--force").exit_code == 0


def test_one_step_of_a_run(ring_folder: Path, tmp_path: Path) -> None:
    done = plait("export", ring_folder, "--format", "parquet", "--step", 3, "-o", tmp_path)
    assert done.exit_code == 0, done.output
    assert pl.read_parquet(tmp_path / "tasks.parquet")["step"].unique().to_list() == [3]


def test_what_cannot_be_is_a_sentence(halo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words, wrong in (
        ((halo, "--format", "vampir"), "it is one of perfetto, otf2"),
        ((halo, "--format", "parquet", "-o", tmp_path / "file"), "is a file"),
        ((halo, "--format", "perfetto", "-o", tmp_path), "is a folder"),
        ((tmp_path, "--format", "perfetto"), "holds no readable"),
    ):
        done = plait("export", *words)
        assert isinstance(done.exception, PlaitError)
        assert wrong in str(done.exception)


def test_a_folder_with_other_things_keeps_them(halo: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    command = ("export", halo, "--format", "parquet", "--force", "-o", tmp_path)
    assert plait(*command).exit_code == 0
    assert plait(*command).exit_code == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_program_that_is_not_built_is_named(
    halo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("plait._build.source_folder", lambda: None)
    monkeypatch.chdir(tmp_path)  # builds are looked up here too
    done = plait("export", halo, "--format", "goal", "-o", tmp_path / "out.goal")
    assert isinstance(done.exception, PlaitError)
    assert "plait-schedule is not built" in str(done.exception)


@pytest.fixture
def schedule_program() -> Path:
    """Skips the test where it is not built."""
    try:
        return find_program("plait-schedule")
    except PlaitError as error:
        pytest.skip(str(error))


def test_exchanges_go_to_simulators(halo: Path, tmp_path: Path, schedule_program: Path) -> None:
    goal = tmp_path / "goal" / "halo.goal"
    done = plait("export", halo, "--format", "goal", "-o", goal)
    assert done.exit_code == 0, done.output
    assert goal.read_text().startswith("num_ranks 4\n")
    assert goal.read_text().count(" send 65536b to ") == 40
    simgrid = tmp_path / "simgrid"
    simgrid.mkdir()
    (simgrid / "notes.txt").write_text("mine")
    for force in ((), ("--force",)):
        done = plait("export", halo, "--format", "simgrid", "-o", simgrid, *force)
        assert done.exit_code == 0, done.output
        assert (simgrid / "rank-0003.ti").is_file()
    assert (simgrid / "notes.txt").read_text() == "mine"
    assert isinstance(plait("export", halo, "--format", "goal", "-o", goal).exception, PlaitError)


def test_logs_of_swift_can_be_simulated(tmp_path: Path, schedule_program: Path) -> None:
    write_swift(Halo().run(), tmp_path / "logs")
    assert plait("import", "swift", tmp_path / "logs", "-o", tmp_path / "run").exit_code == 0
    done = plait("export", tmp_path / "run", "--format", "goal", "-o", tmp_path / "out.goal")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.goal").read_text().count(" send 65536b to ") == 40


def test_logs_of_swift_become_a_run(halo: Path, tmp_path: Path) -> None:
    logs, run = tmp_path / "logs", tmp_path / "run"
    assert plait("export", halo, "--format", "swift", "-o", logs).exit_code == 0
    names = ("--names", logs / "swift-names.txt")
    done = plait("import", "swift", *sorted(logs.glob("*.dat")), "-o", run, *names)
    assert done.exit_code == 0, done.output
    assert "4 ranks, 1 step, 100 requests" in done.output
    found = read_run(run)
    assert found.messages.height == 100
    assert found.meta["recorder"] == "swift"
    again = plait("import", "swift", logs, "-o", run)
    assert isinstance(again.exception, PlaitError)
    assert plait("import", "swift", logs, "-o", run, "--force").exit_code == 0
    reported = plait("report", run, "--output", tmp_path / "report")
    assert reported.exit_code == 0, reported.output
    assert "50 messages" in reported.output


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    done = plait("import", "swift", tmp_path / "none.dat", "-o", tmp_path / "run")
    assert isinstance(done.exception, PlaitError)
    assert "does not exist" in str(done.exception)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [("export",), ("import",), ("import", "swift")])
def test_help_teaches(words: tuple[str, ...]) -> None:
    done = plait(*words, "--help")
    assert done.exit_code == 0
    assert "swift" in done.output


def test_steps_of_swift_without_tasks_are_reported_as_well(ring_folder: Path, tmp_path: Path) -> None:
    logs, run = tmp_path / "logs", tmp_path / "run"
    write_swift(read_run(ring_folder), logs)
    for path in logs.glob("thread_info_MPI-step*.dat"):
        if path.name != "thread_info_MPI-step12.dat":
            path.unlink()
    assert plait("import", "swift", logs, "-o", run).exit_code == 0
    whole = plait("report", run, "--output", tmp_path / "whole")
    assert whole.exit_code == 0, whole.output
    assert "30 steps" in whole.output
    assert "critical path of step 12" in whole.output
    one = plait("report", run, "--step", 7, "--output", tmp_path / "one")
    assert one.exit_code == 0, one.output
    assert "8 messages" in one.output
