# SPDX-License-Identifier: Apache-2.0
"""Exports of runs that lack files, or are newer, and to a full disk: the output is whole or absent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from both_ways import program

from plait.benches.made_up import write_halo_run

FORMATS = ("perfetto", "otf2", "parquet", "swift", "goal", "simgrid")
#: Starts the command with files of at most so many bytes, as a full disk ends them.
_LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from plait.__main__ import main
sys.argv = ["plait", *sys.argv[2:]]
main()
"""


def export(
    folder: Path, to: str, output: Path, limit: int = 1 << 40, *more: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LIMITED, str(limit), "export", str(folder), "--format", to]
    return subprocess.run(
        [*command, "--output", str(output), "--quiet", *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=dict(os.environ),
    )


def assert_sentence(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "plait: " in done.stderr


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("short") / "run"
    write_halo_run(folder, 2, 10_000)
    return folder


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long enough for the program."""
    folder = tmp_path_factory.mktemp("long") / "run"
    write_halo_run(folder, 2, 300_000)
    return folder


@pytest.mark.parametrize("to", FORMATS)
def test_a_full_disk_leaves_nothing(to: str, short: Path, tmp_path: Path) -> None:
    _try(short, to, tmp_path)


@pytest.mark.parametrize("to", ["perfetto", "otf2"])
def test_a_full_disk_leaves_nothing_of_a_long_run(to: str, long: Path, tmp_path: Path) -> None:
    program()
    _try(long, to, tmp_path)


def _try(folder: Path, to: str, place: Path) -> None:
    if (
        to in ("goal", "simgrid")
        and not (Path(os.environ.get("PLAIT_BUILD", "")) / "bin/plait-schedule").is_file()
    ):
        pytest.skip("plait-schedule is not built")
    if to == "otf2":
        pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
    done = export(folder, to, place / "out", 20_000)
    assert_sentence(done)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("to", ["perfetto", "parquet"])
def test_a_full_disk_keeps_what_was_there(to: str, short: Path, tmp_path: Path) -> None:
    assert export(short, to, tmp_path / "out").returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert_sentence(export(short, to, tmp_path / "out", 20_000, "--force"))
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("to", ["perfetto", "parquet"])
def test_a_missing_rank_is_noted(to: str, short: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(short, tmp_path / "run")
    (folder / "rank-0001.plt").unlink()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "plait",
            "export",
            str(folder),
            "--format",
            to,
            "--output",
            str(tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "The files of 1 of 2 ranks are missing" in done.stdout
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize("to", ["perfetto", "otf2", "parquet", "swift"])
def test_a_run_of_a_newer_version_is_refused(to: str, short: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(short, tmp_path / "run")
    for path in folder.glob("*.plt"):
        data = bytearray(path.read_bytes())
        data[8] = 9
        path.write_bytes(data)
    done = export(folder, to, tmp_path / "out")
    assert_sentence(done)
    assert "made by a newer plait (format 9): update plait" in done.stderr
    assert not (tmp_path / "out").exists()
