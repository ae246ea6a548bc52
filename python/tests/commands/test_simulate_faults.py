# SPDX-License-Identifier: Apache-2.0
"""Faults from seeds: what the command accepts, how it judges, and the programs under faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from plait import _build
from plait._errors import PlaitError
from plait.commands import simulate_faults as command
from plait.commands.simulate import Start, Wishes
from plait.commands.simulate_faults import FaultWishes, Judged, Outcome, Verdict, judge

_WISHES = FaultWishes(kinds=("delays",), seeds=range(1, 2), same="checksum.*")
_RIGHT = Outcome(0, "checksum 17\ntime 3 s\n", "", 1.0)


def test_faults_are_those_of_the_library() -> None:
    header = (Path(__file__).parents[3] / "src/plait/simulate/faults.hpp").read_text()
    names = header.partition("fault_names{")[2].partition("}")[0]
    assert tuple(name.strip(' "\n') for name in names.split(",")) == command.FAULTS


def test_all_faults_have_a_full_disk_where_there_is_a_folder_for_it() -> None:
    assert "full-disk" not in command.kinds_of("all", ["plait-pic"])
    assert command.kinds_of("all", ["plait-pic", "--output={run}/out"]) == command.FAULTS
    assert command.kinds_of("delays,dead-rank", ["plait-pic"]) == ("delays", "dead-rank")


@pytest.mark.parametrize("text", ["fire", "delays,", "", "full-disk"])
def test_other_faults_are_an_error(text: str) -> None:
    with pytest.raises(PlaitError, match="--faults"):
        command.kinds_of(text, ["plait-pic"])


def test_seeds_have_a_first_and_a_last_one() -> None:
    assert command.seeds_of("3:5") == range(3, 6)
    for text in ("5", "5:3", "a:b", ":", "-1:3"):
        with pytest.raises(PlaitError, match="--seeds"):
            command.seeds_of(text)


def test_results_are_compared_by_the_pattern() -> None:
    assert judge(_RIGHT, replace(_RIGHT, output="checksum 17\ntime 4 s\n"), _WISHES)[0] is Verdict.right
    verdict, reason = judge(_RIGHT, replace(_RIGHT, output="checksum 18\n"), _WISHES)
    assert verdict is Verdict.failed
    assert "'checksum 18' in the place of 'checksum 17'" in reason
    verdict, reason = judge(_RIGHT, replace(_RIGHT, output=""), _WISHES)
    assert verdict is Verdict.failed
    assert "0 lines" in reason


def test_only_some_faults_end_a_run_and_with_a_sentence() -> None:
    delays = "plait simulate: seed 1, delays: each message is late by up to 1e-05 s\n"
    death = "plait simulate: seed 1, dead-rank: rank 3 dies at 0.1 s\n"
    sentence = "plait-pic: the connection to rank 3 is gone\n"
    assert judge(_RIGHT, Outcome(1, "", delays + sentence, 1.0), _WISHES)[0] is Verdict.failed
    assert judge(_RIGHT, Outcome(1, "", death + sentence, 1.0), _WISHES) == (
        Verdict.ended,
        sentence.strip(),
    )
    assert judge(_RIGHT, Outcome(1, "", death, 1.0), _WISHES)[0] is Verdict.failed
    assert judge(_RIGHT, Outcome(-11, "", death + sentence, 1.0), _WISHES)[0] is Verdict.failed
    assert judge(_RIGHT, Outcome(None, "", death + sentence, 1.0), _WISHES)[0] is Verdict.failed


def test_a_failed_seed_is_repeated_by_a_command() -> None:
    wishes = Wishes(ranks=8, platform="fat-tree", workers=2, other_kinds_us=50)
    faults = replace(_WISHES, kinds=("delays", "reorder"), restart_with="--restart")
    assert command.repeat_line(["plait-pic", "--output={run}/a b"], wishes, faults, 17) == (
        "plait simulate -n 8 --platform fat-tree --workers 2 --other-kinds 50 --faults delays,reorder "
        "--seed 17 --same 'checksum.*' --restart-with=--restart plait-pic '--output={run}/a b'"
    )


def test_the_summary_counts_and_names_seeds() -> None:
    found = [
        Judged(1, Verdict.right, "", _RIGHT, 1.0),
        Judged(2, Verdict.ended, "it died", _RIGHT, 1.0),
        Judged(3, Verdict.failed, "it hangs", _RIGHT, 1.0),
    ]
    text = command.summary("plait-pic", 8, found)
    assert "3 seeds: 1 right, 1 ended by their faults with a sentence, 1 failed" in text
    assert text.endswith("failed: 3")


def test_what_is_not_repeated_exactly_is_refused() -> None:
    for wishes in (Wishes(ranks=2, outside="measured"), Wishes(ranks=2, output=Path("run"))):
        with pytest.raises(PlaitError, match="--"):
            command.simulate_with_faults(["plait-pic"], wishes, _WISHES)
    with pytest.raises(PlaitError, match="--same"):
        command.simulate_with_faults(["plait-pic"], Wishes(ranks=2), replace(_WISHES, same="("))


def test_a_program_that_never_ends_is_killed() -> None:
    start = Start([sys.executable, "-c", "while True: pass"], dict(os.environ))
    assert command._run(start, 1.0)[0] is None
    start = Start([sys.executable, "-c", "import time; time.sleep(1000)"], dict(os.environ))
    assert command._run(start, 0.1)[0] is None


def _built(name: str) -> str:
    built = _build.built_application(name)
    if built is None or not (_build.build_folder() / "lib/libplait-simulate.so").is_file():
        pytest.skip(f"{name} or what plait simulate preloads is not built")
    return str(built)


def _simulate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plait", "simulate", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


#: Of each program: arguments, and the pattern of its results.
_PROGRAMS = {
    "plait-cholesky": (("--size", "400", "--tile", "50"), "residual.*"),
    "plait-ring": (
        ("run", "{folder}/ring.hdf5", "--steps", "3", "--diagnose-every", "1", "-o", "{run}/out"),
        "^step .*",
    ),
    "plait-pic": (
        (
            *("--problem", "two-stream", "--cells", "64", "8", "--steps", "4", "--way", "collection"),
            *("--patches", "2", "--output", "{run}/out"),
        ),
        "^(checksum|Gauss).*",
    ),
    "plait-dns": (
        (
            *("--problem", "taylor-green", "--points", "16", "--steps", "3", "--diagnose-every", "1"),
            *("--output", "{run}/out"),
        ),
        r"^ +\d+ +[\d.]+ +\S+ +\S+",
    ),
    "plait-sph": (
        ("run", "--problem", "sod", "--resolution", "10", "--steps", "2", "--output", "{run}/out"),
        ".*within",
    ),
}


@pytest.fixture(params=sorted(_PROGRAMS))
def program(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[str], str]:
    built = _built(request.param)
    words, pattern = _PROGRAMS[request.param]
    if request.param == "plait-ring":
        snapshot = str(tmp_path / "ring.hdf5")
        shape = ("--n-radial", "8", "--n-azimuthal", "64")
        subprocess.run([built, "init", *shape, "-o", snapshot], check=True, capture_output=True)
    return [built, *(word.replace("{folder}", str(tmp_path)) for word in words)], pattern


def test_programs_are_right_or_end_with_a_sentence(
    program: tuple[list[str], str], tmp_path: Path
) -> None:
    command_line, pattern = program
    results = tmp_path / "results.json"
    done = _simulate(
        *("-n", "8", "--faults", "all", "--seeds", "1:20", "--same", pattern),
        *("--json", str(results), *command_line),
    )
    assert done.returncode == 0, done.stderr
    verdicts = [seed["verdict"] for seed in json.loads(results.read_text())["seeds"]]
    assert len(verdicts) == 20
    assert set(verdicts) == {"right", "ended"}


#: Programs that write, with words that let them go on: results that were acknowledged are not lost.
_WRITING = {
    "plait-pic": (
        (
            *("--problem", "two-stream", "--cells", "64", "8", "--steps", "4", "--output", "{run}/out"),
            *("--output-every", "2", "--checkpoint-every", "1", "--checkpoint-folder", "{run}/check"),
        ),
        "^(checksum|Gauss).*",
        "--restart",
    ),
    "plait-dns": (
        (
            *("--problem", "taylor-green", "--points", "16", "--steps", "3", "--diagnose-every", "1"),
            *("--output", "{run}/out", "--output-every", "2"),
            *("--checkpoint-every", "1", "--checkpoint-folder", "{run}/check"),
        ),
        r"^ +\d+ +[\d.]+ +\S+ +\S+",
        "--restart",
    ),
    "plait-sph": (
        (
            *("run", "--problem", "sod", "--resolution", "10", "--steps", "2", "--snapshots", "3"),
            *("--output", "{run}/out"),
        ),
        ".*within",
        "--force",
    ),
}


@pytest.mark.parametrize("name", sorted(_WRITING))
def test_a_full_disk_or_a_dead_rank_loses_no_checkpoint(name: str) -> None:
    words, pattern, restart = _WRITING[name]
    done = _simulate(
        *("-n", "8", "--faults", "full-disk,dead-rank", "--seeds", "1:6", "--same", pattern),
        *(f"--restart-with={restart}", _built(name), *words),
    )
    assert done.returncode == 0, done.stderr
    assert "0 failed" in done.stderr


_PIC = (
    *("--problem", "two-stream", "--cells", "64", "8", "--steps", "5", "--way", "collection"),
    *("--patches", "2", "--output", "{run}/out"),
)
#: Seeds that once failed: program, ranks, faults, seed, arguments, pattern.
_ONCE_FAILED = {
    "data arrived before they left": (
        *("plait-cholesky", 8, "half-link", 3),
        *(("--size", "800", "--tile", "100"), "residual.*"),
    ),
    "refused sends were not tried again": (
        *("plait-pic", 12, "delays,full-queues,slow-rank", 42),
        *(_PIC, "^(checksum|Gauss).*"),
    ),
    "and in another phase": (
        *("plait-pic", 12, "delays,reorder,full-queues,slow-rank", 55),
        *(_PIC, "^(checksum|Gauss).*"),
    ),
    "they were tried again too often": (
        *("plait-dns", 12, "delays,reorder,full-queues,slow-rank,half-link", 540),
        ("--points", "16", "--steps", "3", "--diagnose-every", "1", "--output", "{run}/out"),
        r"^ +\d+ +[\d.]+ +\S+ +\S+",
    ),
    "HDF5 could not close a file": (
        *("plait-sph", 8, "full-disk", 15),
        (
            *("run", "--problem", "sod", "--resolution", "10", "--steps", "3", "--snapshots", "3"),
            *("--output", "{run}/out"),
        ),
        ".*within",
    ),
}


@pytest.mark.parametrize("name", _ONCE_FAILED)
def test_seeds_that_once_failed_do_not_fail(name: str) -> None:
    program, ranks, faults, seed, words, pattern = _ONCE_FAILED[name]
    done = _simulate(
        *("-n", str(ranks), "--faults", faults, "--seed", str(seed), "--same", pattern),
        *("--time-limit", "20", _built(program), *words),
    )
    assert done.returncode == 0, done.stderr


def test_a_seed_is_repeated_exactly() -> None:
    cholesky = _built("plait-cholesky")
    words = ("-n", "4", "--faults", "delays,reorder,full-queues", "--seed", "3", "--same", "residual.*")
    runs = [_simulate(*words, cholesky, "--size", "400", "--tile", "50") for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0]
    times = [
        [line for line in done.stdout.splitlines() if line.startswith(("time", "sent", "residual"))]
        for done in runs
    ]
    assert len(times[0]) == 3
    assert times[0] == times[1]


def test_a_program_that_fails_without_faults_is_not_compared() -> None:
    cholesky = _built("plait-cholesky")
    done = _simulate("-n", "2", "--faults", "delays", cholesky, "--size", "64", "--diagonal", "-100")
    assert done.returncode == 1
    assert "fails without faults" in done.stderr
    done = _simulate("-n", "2", "--faults", "delays", "--same", "nothing", cholesky, "--size", "64")
    assert done.returncode == 1
    assert "no line" in done.stderr
