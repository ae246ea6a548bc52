# SPDX-License-Identifier: Apache-2.0
"""`plait replay`, from a made-up exchange to the pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plait._build import find_program
from plait._errors import PlaitError
from plait.readers.plait import read_run

EXCHANGE = "pattern=random,ranks=2,pairs=40,mean=4KiB,steps=2,compute=100us"


def run_plait(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        find_program("plait-replay")
    except PlaitError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("replay") / "log"
    done = run_plait("replay", "--synthetic", EXCHANGE, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert "MPI_Isend" in done.stdout
    return folder


def test_a_replay_has_the_messages_of_its_log_and_is_held_against_it(log: Path) -> None:
    done = run_plait("replay", log, "--check")
    assert done.returncode == 0, done.stderr
    assert "held against the log" in done.stdout
    first, second = read_run(log), read_run(log / "replay")
    key = ["rank", "received", "source", "destination", "communicator", "tag", "size_bytes"]
    assert first.messages.height == 160
    assert first.messages.select(key).sort(key).equals(second.messages.select(key).sort(key))
    assert json.loads((log / "replay" / "meta.json").read_text())["recorder"] == "replay"
    assert (log / "replay" / "comparison.png").stat().st_size > 10_000


def test_a_finished_replay_can_be_compared_again(log: Path) -> None:
    done = run_plait("replay", log, "--replayed", log)
    assert done.returncode == 0, done.stderr
    assert "100.0 %" in done.stdout


def test_json_has_what_is_printed(log: Path) -> None:
    done = run_plait("replay", log, "--replayed", log, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["replay"] == str(log)
    assert found["messages"] == 80 and found["length_s"] > 0 and len(found["lengths_s"]) == 1
    assert {"function", "count", "median_ns"} <= set(found["calls"][0])
    logged, replayed = found["comparison"]["logged"], found["comparison"]["replayed"]
    assert logged == replayed and logged["latency_p50_ns"] > 0
    assert found["scaling"] is None


def test_what_the_program_says_is_passed_on(log: Path) -> None:
    done = run_plait("replay", log, "--threads", "poll")
    assert done.returncode != 0
    assert "there is no role 'poll'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_holds_something_is_kept(log: Path) -> None:
    done = run_plait("replay", "--synthetic", EXCHANGE, "-o", log)
    assert done.returncode != 0
    assert "--force" in done.stderr


def test_something_to_replay_must_be_given() -> None:
    done = run_plait("replay")
    assert done.returncode == 2
    assert "--synthetic" in done.stderr
