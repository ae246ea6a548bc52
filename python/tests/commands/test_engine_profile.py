# SPDX-License-Identifier: Apache-2.0
"""`plait run --profile`: a program of plait, counted and recorded, whole runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from plait import _build, _launcher, read_run
from plait import _events as events
from plait.measures.engine_profile import message_sums, task_sums

_STEPS = 40
_BYTES_MAX = 2 << 20  # what a profile takes of the disk, for a rank of one worker


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program and its input."""
    program = _build.built_application("plait-ring")
    if program is None:
        pytest.skip("plait-ring is not built")
    start = tmp_path_factory.mktemp("ring") / "ring.hdf5"
    made = subprocess.run(
        [program, "init", "--n-azimuthal", "40", "-o", start],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return Path(program), start


def plait(*arguments: object) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PLAIT_")}
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={
            **inherited,
            **_launcher.root_environment(),
            "PLAIT_STRATEGY": "default",
            "PLAIT_BUILD": str(_build.build_folder().absolute()),
        },
        timeout=300,
        check=False,
    )


def run_ring(ring: tuple[Path, Path], run: Path, *options: object) -> Path:
    program, start = ring
    done = plait(
        *("run", "-n", 2, "-w", 1, "--output", run, *options),
        *(program, "run", start, "--steps", _STEPS, "--output", run.parent / f"{run.name}-out"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return run


def test_tasks_and_messages_are_counted_as_often_as_recorded(
    ring: tuple[Path, Path], tmp_path: Path
) -> None:
    whole = read_run(run_ring(ring, tmp_path / "whole"))
    counted = read_run(run_ring(ring, tmp_path / "counted", "--profile"))
    assert counted.is_profile
    assert counted.tasks.height == counted.messages.height == 0
    recorded = whole.tasks.filter(pl.col("role") == events.ROLE_TASK).group_by("kind").len()
    sums = task_sums(counted).filter(pl.col("role") == events.ROLE_TASK)
    assert {whole.kinds[kind]: count for kind, count in recorded.rows()} == {
        counted.kinds[kind]: count for kind, count in sums.select("kind", "count").rows()
    }
    sent = whole.messages.filter(~pl.col("received"))
    found = message_sums(counted)
    assert int(found["count"].sum()) == sent.height
    assert int(found["bytes"].sum()) == int(sent["size_bytes"].sum())
    for rank in (0, 1):
        assert (tmp_path / "counted" / f"rank-{rank:04d}.plt").stat().st_size <= _BYTES_MAX


def test_a_window_has_all_events_and_a_report(ring: tuple[Path, Path], tmp_path: Path) -> None:
    run = run_ring(ring, tmp_path / "run", "--profile", "--window", "1h/2h")
    inside = read_run(run, window=0)
    assert inside.tasks.height > 0
    assert inside.messages.height > 0
    assert not inside.is_profile
    for options in ((), ("--window", 0)):
        done = plait("report", run, *options)
        assert done.returncode == 0, done.stderr
    assert 'id="engine-tasks"' in (run / "report" / "report.html").read_text()


def test_what_makes_no_sense_is_refused(ring: tuple[Path, Path], tmp_path: Path) -> None:
    run = tmp_path / "none"
    for options, words in (
        (("--window", "1s/2s"), "--window is for --profile"),
        (("--profile", "--window", "2s/1s"), "is no window"),
        (("--profile", "--no-trace"), "give one"),
    ):
        done = plait("run", "--output", run, *options, ring[0])
        assert done.returncode != 0
        assert words in " ".join(done.stderr.split())
    assert not run.exists()
