# SPDX-License-Identifier: Apache-2.0
"""`plait predict`: the platform that is meant, and the arguments of the program."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from plait._build import built_program
from plait._errors import PlaitError
from plait.commands.predict import may_have_tasks, platform_file, predict
from plait.measures.task_gains import task_gains
from plait.readers.plait import read_run


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


def test_kinds_that_only_exchange_are_left_out(
    run_of_tasks: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gains = task_gains(run_of_tasks)
    assert gains is not None
    kind = next(what.strip("`") for what, _ in gains.gains if what.startswith("`"))
    results = tmp_path / "results.json"
    assert predict("", ["--without", kind, "--json", str(results)], run_of_tasks) == 0
    _, predicted, without = json.loads(results.read_text())["lines"]
    assert without["name"] == f"without {kind}"
    assert without["total_ns"] < predicted["total_ns"]
    assert predict("", ["--without", "fly"], run_of_tasks) != 0
    assert "no tasks of kind 'fly'" in capfd.readouterr().err


def test_slowing_that_is_not_known_is_named(
    run_of_tasks: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert predict("", ["--workers", "7"], run_of_tasks) == 0
    assert "another core of the host computed during" in capfd.readouterr().out
    assert predict("", ["--latency", "x0.5"], run_of_tasks) == 0
    assert "another core of the host" not in capfd.readouterr().out


def test_a_prediction_has_its_uncertainty(
    run_of_tasks: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    assert predict("", ["--workers", "2", "--json", str(results)], run_of_tasks) == 0
    assert "The last line is uncertain by" in capfd.readouterr().out
    found = json.loads(results.read_text())
    recorded, predicted, last = (line["total_ns"] for line in found["lines"])
    share = abs(predicted / recorded - 1)  # the part of the model; computing comes in addition
    assert share * last - 1 <= found["uncertainty_ns"] < last


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


EXCHANGE = ["--synthetic", "pattern=halo,ranks=4,mean=8KiB,compute=80us,steps=2", "--no-advice"]


@pytest.fixture
def gigabit() -> str:
    if built_program("plait-predict") is None:
        pytest.skip("plait-predict is not built")
    return "gigabit"


def test_tiles_a_halo_to_a_large_one_and_reports_it(
    gigabit: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [*EXCHANGE, "--tile", "16", "--output", str(tmp_path / "run")]
    assert predict(gigabit, words) == 0
    assert "2x2x1 ranks becomes a periodic grid of 8x8x1 ranks" in capfd.readouterr().err
    messages = read_run(tmp_path / "run").messages
    sent = messages.filter(~pl.col("received")).group_by("source").agg(pl.col("destination").n_unique())
    assert sent.height == 64
    assert set(sent["destination"]) == {8}


def test_cuts_a_problem_finer_by_the_rule_of_surface_and_volume(
    gigabit: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [*EXCHANGE, "--ranks", "16", "--dimension", "3", "--output", str(tmp_path / "run")]
    assert predict(gigabit, [*words, "--json", str(tmp_path / "results.json")]) == 0
    assert "computing of a rank x0.25" in capfd.readouterr().err
    sizes = read_run(tmp_path / "run").messages["size_bytes"].unique().to_list()
    assert sizes == [round(8192 * 0.25 ** (2 / 3))]
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["lines"][-1]["name"] == "cut finer, for 16 ranks"
    assert len(found["unexpected"]) == 16
    assert set(found["unexpected"][0]) == {"at_once", "bytes_at_once", "copied", "bytes_copied"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--ranks", "6"], "to a multiple of 4"),
        (["--tile", "4y"], "write 8, or 4x2"),
        (["--grid", "3x3", "--tile", "2"], "does not fit 4 ranks"),
        (["--grid", "round", "--tile", "2"], "4x2:periodic"),
    ],
)
def test_names_what_cannot_be_enlarged(
    gigabit: str, words: list[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert predict(gigabit, [*EXCHANGE, *words]) != 0
    assert why in capfd.readouterr().err
