# SPDX-License-Identifier: Apache-2.0
"""What plait simulate gives the library, and programs on simulated ranks, where they are built."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plait import _build
from plait._errors import PlaitError
from plait.commands import simulate as command
from plait.commands.simulate import Wishes
from plait.readers.plait import read_run

_COSTS = {"potrf": 1_000_000, "trsm": 2_000_000, "syrk": 2_000_000, "gemm": 4_000_000}


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(_COSTS))
    return file


@pytest.fixture
def cholesky() -> str:
    program = _build.built_application("plait-cholesky")
    if program is None or not (_build.build_folder() / "lib/libplait-simulate.so").is_file():
        pytest.skip("plait-cholesky or what plait simulate preloads is not built")
    return str(program)


def _simulate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plait", "simulate", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_settings_have_what_is_wanted(costs: Path) -> None:
    wishes = Wishes(ranks=1024, platform="fat-tree", costs=costs, skip_bodies=True, overhead_us=0.7)
    found = command.settings(wishes, Path("report.json"))
    assert found["ranks"] == 1024
    assert found["kinds"] == _COSTS
    assert found["skip_bodies"] is True
    assert found["overhead_ns"] == 700
    assert Path(found["platform"]).name == "fat-tree.json"


def test_bodies_are_skipped_only_with_costs() -> None:
    with pytest.raises(PlaitError, match="give them with --costs"):
        command.settings(Wishes(ranks=2, skip_bodies=True), Path("report.json"))


@pytest.mark.parametrize("text", ["{", "[1]", '{"gemm": "fast"}', '{"gemm": -1}', '{"gemm": true}'])
def test_a_bad_file_of_costs_is_an_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "costs.json"
    file.write_text(text)
    with pytest.raises(PlaitError, match=r"costs\.json"):
        command.costs_of(file)


def test_the_summary_names_kinds_that_were_measured() -> None:
    results = {"ranks": 4, "simulated_s": 0.5, "real_s": 2.0, "tasks": 9, "memory_bytes": 2**30}
    assert "differs" not in command.summary({**results, "measured": {}})
    assert command.summary({**results, "measured": {"gemm": 9}}).endswith("gemm")


def test_equal_arguments_give_equal_runs(cholesky: str, costs: Path, tmp_path: Path) -> None:
    printed = []
    for name in ("first", "second"):
        done = _simulate(
            *("-n", "16", "--platform", "dragonfly", "--costs", str(costs), "--skip-bodies", "-w", "2"),
            *("-o", str(tmp_path / name), cholesky, "--size", "2048", "--tile", "128"),
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    files = sorted((tmp_path / "first").glob("rank-*.plt"))
    assert len(files) == 16
    for file in (*files, tmp_path / "first" / "meta.json"):
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name
    run = read_run(tmp_path / "first")
    assert run.tasks.height >= 16 * 17 * 18 // 6  # and messages
    assert command.costs_of(tmp_path / "first") == _COSTS


def test_results_are_those_of_a_real_run(cholesky: str, costs: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    done = _simulate(
        *("-n", "6", "--costs", str(costs), "--json", str(results)),
        *(cholesky, "--size", "600", "--tile", "100"),
    )
    assert done.returncode == 0, done.stderr
    assert "right" in done.stdout
    found = json.loads(results.read_text())
    assert found["measured"] == {}
    # Six steps, each of which factors, solves and updates one after the other.
    assert 6 * 1e-3 + 5 * 4e-3 <= found["simulated_s"] <= 0.5


def test_errors_of_ranks_end_the_command(cholesky: str, costs: Path) -> None:
    done = _simulate("-n", "4", "--costs", str(costs), cholesky, "--size", "64", "--diagonal", "-100")
    assert done.returncode != 0
    assert "not positive definite" in done.stderr
    done = _simulate("-n", "4", cholesky, "--no-such-option")
    assert done.returncode != 0
    done = _simulate("-n", "100000", "--platform", "fat-tree", cholesky)
    assert done.returncode == 2
    done = _simulate("-n", "2", sys.executable, "-c", "pass")
    assert done.returncode != 0
    assert "no MPI" in done.stderr or "without a simulation" in done.stderr


#: Arguments of each program, and what the lines of its results begin with.
_PROGRAMS = {
    "plait-ring": (("run", "{folder}/ring.hdf5", "--steps", "3"), ("step ",)),
    "plait-pic": (
        ("--problem", "two-stream", "--cells", "64", "8", "--steps", "5"),
        ("checksum", "Gauss"),
    ),
    "plait-sph": (("run", "--problem", "sod", "--resolution", "10", "--steps", "3"), ("  ",)),
    "plait-dns": (("--problem", "taylor-green", "--points", "16", "--steps", "3"), ("       ",)),
}


@pytest.fixture(params=sorted(_PROGRAMS))
def program(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[str], tuple[str, ...]]:
    name = request.param
    built = _build.built_application(name)
    if built is None or not (_build.build_folder() / "lib/libplait-simulate.so").is_file():
        pytest.skip(f"{name} or what plait simulate preloads is not built")
    words, starts = _PROGRAMS[name]
    if name == "plait-ring":
        snapshot = str(tmp_path / "ring.hdf5")
        subprocess.run(
            [str(built), "init", "--n-radial", "8", "--n-azimuthal", "64", "-o", snapshot], check=True
        )
    return [str(built), *(word.format(folder=tmp_path) for word in words)], starts


def _results(text: str, starts: tuple[str, ...]) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(starts)]


def test_programs_compute_what_they_compute_on_real_ranks(
    program: tuple[list[str], tuple[str, ...]], tmp_path: Path
) -> None:
    command_line, starts = program
    words = ("-n", "4", "-w", "1", "--quiet", "-o", str(tmp_path / "real"))
    real = subprocess.run(
        [sys.executable, "-m", "plait", "run", *words, *command_line],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert real.returncode == 0, real.stderr
    for outside in ("none", "measured"):
        words = ("-n", "4", "-w", "1", "--outside", outside, "-o", str(tmp_path / outside))
        done = _simulate(*words, *command_line)
        assert done.returncode == 0, done.stderr
        assert _results(done.stdout, starts)
        assert _results(done.stdout, starts) == _results(real.stdout, starts)


def test_programs_are_repeated_exactly(
    program: tuple[list[str], tuple[str, ...]], tmp_path: Path
) -> None:
    command_line, _ = program
    results, table = tmp_path / "results.json", tmp_path / "table.json"
    first = _simulate("-n", "4", "--json", str(results), "-o", str(tmp_path / "measured"), *command_line)
    assert first.returncode == 0, first.stderr
    table.write_text(json.dumps(dict.fromkeys(json.loads(results.read_text())["measured"], 1000)))
    simulated = []
    for name in ("one", "two"):
        done = _simulate(
            *("-n", "4", "--costs", str(table), "--json", str(results)),
            *("-o", str(tmp_path / name), *command_line),
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(results.read_text())["measured"] == {}
        simulated.append(json.loads(results.read_text())["simulated_s"])
    assert simulated[0] == simulated[1]
    for file in sorted((tmp_path / "one").glob("rank-*.plt")):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name


def test_functions_that_are_not_simulated_are_named() -> None:
    built = _build.built_application("plait-dns")
    if built is None:
        pytest.skip("plait-dns is not built")
    done = _simulate("-n", "4", str(built), "--points", "16", "--steps", "1", "--variant", "CoM")
    assert done.returncode != 0
    assert "calls MPI_Win_" in done.stderr
    assert "do not have this function" in done.stderr


def test_other_words_for_what_is_outside_are_an_error() -> None:
    with pytest.raises(PlaitError, match="none or measured"):
        command.settings(Wishes(ranks=2, outside="always"), Path("report.json"))
