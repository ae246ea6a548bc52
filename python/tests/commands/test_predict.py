# SPDX-License-Identifier: Apache-2.0
"""`plait predict`: the platform that is meant, and the arguments of the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plait._build import built_program
from plait._errors import PlaitError
from plait.commands.predict import may_have_tasks, platform_file, predict
from plait.measures.task_gains import task_gains


def test_a_shipped_platform_is_found_by_name() -> None:
    assert platform_file("torus").name == "torus.json"


def test_a_file_comes_before_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torus").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert platform_file("torus") == Path("torus")


@pytest.mark.parametrize("name", ["", "no-such-machine"])
def test_an_unknown_platform_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(PlaitError, match=r"shipped are dragonfly, fat-tree, gigabit, torus"):
        platform_file(name)


@pytest.fixture
def run_of_tasks(ring_copy: Path) -> Path:
    """A run with tasks, where the program that predicts is built."""
    if built_program("plait-predict") is None:
        pytest.skip("plait-predict is not built")
    return ring_copy


def test_a_run_with_tasks_needs_no_platform(run_of_tasks: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    words = ["--workers", "1", "--json", str(results)]
    assert predict("", words, run_of_tasks) == 0
    found = json.loads(results.read_text())
    assert found["of"] == "tasks"
    assert [line["name"] for line in found["lines"]] == ["as recorded", "predicted", "1 worker a rank"]
    assert found["advice"].startswith("Making ")


def test_a_kind_that_never_ran_is_refused(run_of_tasks: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert predict("", ["--faster", "fly=2"], run_of_tasks) != 0
    assert "no tasks of kind 'fly'" in capfd.readouterr().err


def test_the_report_has_what_would_gain_most(run_of_tasks: Path) -> None:
    gains = task_gains(run_of_tasks)
    assert gains is not None
    assert gains.sentence.startswith("Making ")
    assert [gain for _, gain in gains.gains] == sorted((gain for _, gain in gains.gains), reverse=True)


def test_only_runs_of_plait_itself_have_tasks(tmp_path: Path) -> None:
    assert not may_have_tasks(None)
    (tmp_path / "meta.json").write_text('{"recorder": "mpi"}')
    assert not may_have_tasks(tmp_path)
    (tmp_path / "meta.json").write_text('{"recorder": "plait"}')
    assert may_have_tasks(tmp_path)
