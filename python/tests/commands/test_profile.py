# SPDX-License-Identifier: Apache-2.0
"""`plait record --profile` under a real MPI, and what other commands make of profiles and large runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trace_writer as w
from mpi_runs import halo, write_run

from plait import _build, read_run
from plait._errors import PlaitError
from plait.commands import _memory

_PROGRAM = """
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
void plait_region_begin(const char*) __attribute__((weak));
void plait_region_end(void) __attribute__((weak));
int main(int argc, char** argv) {
  int rank, steps = atoi(argv[1]), kill_at = atoi(argv[2]);
  static char given[4096], got[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < steps; ++step) {
    if (plait_region_begin && step % 10 == 0) plait_region_begin("tenth");
    MPI_Request both[2];
    MPI_Irecv(got, 4096, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, both);
    MPI_Isend(given, 1 + step % 4096, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, both + 1);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    if (plait_region_end && step % 10 == 0) plait_region_end();
    if (step == kill_at && rank == 1) raise(SIGKILL);
  }
  MPI_Finalize();
  return 0;
}
"""


def plait(*arguments: object, cwd: Path, **variables: str) -> Any:
    build = str(_build.build_folder().absolute())
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PLAIT_BUILD": build, "COLUMNS": "100", **variables},
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("mpicc.openmpi") is None or shutil.which("mpiexec.openmpi") is None:
        pytest.skip("no openmpi here: tools/setup installs it")
    folder = tmp_path_factory.mktemp("profile")
    (folder / "program.c").write_text(_PROGRAM)
    compiled = ["mpicc.openmpi", "-g", "-o", "program", "program.c"]
    subprocess.run(compiled, cwd=folder, check=True)
    return folder


def record(place: Path, name: str, *options: str, steps: int = 200, kill_at: int = -1) -> Path:
    run = place / "runs" / name
    done = plait(
        *("record", "--name", name, "--profile", *options, "--"),
        *("mpiexec.openmpi", "--oversubscribe", "-n", 2, "./program", steps, kill_at),
        cwd=place,
    )
    assert (done.returncode == 0) == (kill_at < 0), done.stderr
    return run


def counted(run: Path, of: int) -> int:
    sums = read_run(run).sums
    return int(sums.filter(sums["of"] == of)["count"].sum())


def test_every_call_and_message_is_counted(place: Path) -> None:
    run = record(place, "whole")
    found = read_run(run)
    assert counted(run, 0) == 2 * (1 + 3 * 200 + 1)
    assert counted(run, 1) == counted(run, 2) == 2 * 200
    assert int(found.sums.filter(found.sums["of"] == 1)["bytes_given"].sum()) == 200 * 201
    assert found.messages.height == 0
    assert (run / "rank-0000.plt").stat().st_size <= 2 << 20
    done = plait("report", run, "--json", "-", cwd=place)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["summary"]["messages"] == 400
    assert results["summary"]["late_ns"] is None
    assert [rank["sent_messages"] for rank in results["ranks"]] == [200, 200]


def test_a_killed_rank_leaves_what_it_had_counted(place: Path) -> None:
    run = record(place, "killed", kill_at=150)
    sums = read_run(run).sums
    own = sums.filter((sums["rank"] == 1) & (sums["of"] == 1))
    assert int(own["count"].sum()) == 151


def test_windows_of_a_region_have_all_events_and_can_be_replayed(place: Path) -> None:
    run = record(place, "regions", "--window", "region:tenth/5")
    whole = read_run(run)
    assert whole.windows["number"].unique().sort().to_list() == [0, 1, 2, 3]
    part = read_run(run, window=1)
    assert {part.functions[index] for index in part.calls["function"]} == {
        *("MPI_Irecv", "MPI_Isend", "MPI_Waitall")
    }
    assert (part.messages.height, part.messages["size_bytes"].unique().to_list()) == (4, [51])
    done = plait("report", run, "--window", 1, cwd=place)
    assert done.returncode == 0, done.stderr
    assert (run / "report-window-1" / "report.html").is_file()
    exported = plait("export", run, "--format", "parquet", "--window", 1, cwd=place)
    assert exported.returncode == 0, exported.stderr


@pytest.mark.parametrize(
    "command",
    [("export", "--format", "perfetto"), ("replay",), ("predict", "--platform", "gigabit")],
)
def test_a_profile_has_no_events_to_replay_or_export(place: Path, command: tuple[str, ...]) -> None:
    run = place / "runs" / "none"
    if not run.is_dir():
        record(place, "none", steps=5)
    done = plait(*command, run, cwd=place)
    assert done.returncode == 1
    assert "is a profile: it has sums, and not the events that this needs" in done.stderr
    assert "--profile --window LENGTH/PERIOD" in done.stderr


@pytest.mark.parametrize("window", ["10", "2s/1s", "region:", "1us/1s", "region:a/0", "1.2.3s/9s"])
def test_a_window_that_makes_no_sense_starts_nothing(tmp_path: Path, window: str) -> None:
    done = plait("record", "--profile", "--window", window, "--", "touch", "started", cwd=tmp_path)
    assert done.returncode != 0
    assert "is no window; give LENGTH/PERIOD" in done.stderr
    assert not (tmp_path / "started").exists()


def test_windows_are_of_profiles(tmp_path: Path) -> None:
    done = plait("record", "--window", "1s/10s", "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "--window is for --profile" in done.stderr


# --- runs that cannot be read whole --------------------------------------------------------------------


def test_a_report_of_an_unreadable_file_is_written_and_fails(tmp_path: Path) -> None:
    write_run(tmp_path / "run", *halo(3))
    (tmp_path / "run" / "rank-0001.plt").write_bytes(b"damaged")
    done = plait("report", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "rank-0001.plt cannot be read" in done.stderr
    assert (tmp_path / "run" / "report" / "report.html").is_file()


def test_some_ranks_are_read_on_request(tmp_path: Path) -> None:
    write_run(tmp_path / "run", *halo(3))
    done = plait("report", tmp_path / "run", "--only-ranks", "1", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert [rank["is_present"] for rank in results["ranks"]] == [False, True]
    assert any("1 of 2 ranks were read, as requested" in notice for notice in results["notices"])
    assert not any("no partner" in notice for notice in results["notices"])


@pytest.mark.parametrize(("ranks", "status"), [("7", 1), ("a-b", 2), ("3-1", 2)])
def test_ranks_that_are_not_there_are_refused(tmp_path: Path, ranks: str, status: int) -> None:
    write_run(tmp_path / "run", *halo(3))
    done = plait("report", tmp_path / "run", "--only-ranks", ranks, cwd=tmp_path)
    assert done.returncode == status
    assert "--only-ranks" in done.stderr


def test_a_run_beyond_the_memory_is_refused_with_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = w.write_rank(tmp_path, 0, 1, {})
    with path.open("r+b") as file:
        file.truncate(64_000_000_000)  # 1e9 events, sparse
    monkeypatch.setattr(_memory, "available_bytes", lambda: 16 << 30)
    with pytest.raises(PlaitError, match="1,000,000,000 events: to read them takes about 417 GiB"):
        _memory.require_memory(tmp_path)
    with pytest.raises(PlaitError, match=r"record with --profile, .* and --window for its parts"):
        _memory.require_memory(tmp_path)
    with pytest.raises(PlaitError, match="available; no rank of it fits alone, or record with"):
        _memory.require_memory(tmp_path)
    with path.open("r+b") as file:
        file.truncate(3_000_000_000)
    with pytest.raises(PlaitError, match="no rank of it fits alone: plait export needs less"):
        _memory.require_memory(tmp_path)
    for rank in (0, 1, 2):
        path = w.write_rank(tmp_path, rank, 3, {})
        with path.open("r+b") as file:
            file.truncate(2_000_000_000)
    with pytest.raises(PlaitError, match=r"some ranks fit: plait report --only-ranks 0, or record"):
        _memory.require_memory(tmp_path)
    with pytest.raises(PlaitError, match="--only-ranks 0-1, or record with shorter windows"):
        _memory.require_memory(tmp_path, is_part=True)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 1 << 40)
    _memory.require_memory(tmp_path)


def test_available_memory_is_read_from_the_system(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 4 kB\nSwapFree: 1 kB\n")
    assert _memory.available_bytes(tmp_path / "meminfo") == 5 * 1024
    assert _memory.available_bytes(tmp_path / "missing") is None
