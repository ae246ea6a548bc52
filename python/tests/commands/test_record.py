# SPDX-License-Identifier: Apache-2.0
"""`plait record`: programs under a real MPI, and the message where something is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from plait import _build, read_run
from plait._launcher import root_environment
from plait._sites import resolve_sites
from plait.measures.calls import calls_within, parallel_window
from plait.measures.samples import measure_samples
from plait.measures.wait_states import WAITS

_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank;
  if (argc > 1) { puts("no MPI"); return 7; }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("hello");
  MPI_Finalize();
  return 0;
}
"""


def record(*arguments: object, cwd: Path) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "plait", "record", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={
            **os.environ,
            "PLAIT_BUILD": str(_build.build_folder().absolute()),
            "COLUMNS": "100",
        },
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    mpi = request.param
    wrapper = shutil.which(f"mpicc.{mpi}")
    if wrapper is None or shutil.which(f"mpiexec.{mpi}") is None:
        pytest.skip(f"no {mpi} here: tools/setup installs it")
    folder = tmp_path_factory.mktemp(mpi)
    (folder / "hello.c").write_text(_PROGRAM)
    subprocess.run([wrapper, "-g", "-o", "hello", "hello.c"], cwd=folder, check=True)
    return mpi, folder


def test_a_program_is_recorded_and_says_what_it_always_says(program: tuple[str, Path]) -> None:
    mpi, folder = program
    done = record("--name", "one", "--", f"mpiexec.{mpi}", "-n", 2, "./hello", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert "plait report runs/one" in done.stderr
    run = folder / "runs" / "one"
    assert json.loads((run / "meta.json").read_text())["recorder"] == "mpi"
    assert (run / "rank-0001.plt").is_file()
    sites = json.loads((run / "sites.json").read_text())
    lines = {site["line"] for site in sites.values() if site["function"] == "main"}
    assert lines == {7, 9, 11}
    again = record("--name", "one", "--", f"mpiexec.{mpi}", "-n", 2, "./hello", cwd=folder)
    assert again.returncode == 1
    assert "already holds a run" in again.stderr


def test_a_program_without_mpi_leaves_a_sentence_and_its_status(program: tuple[str, Path]) -> None:
    _, folder = program
    done = record("--name", "none", "--", "./hello", "x", cwd=folder)
    assert (done.returncode, done.stdout) == (7, "no MPI\n")
    assert "nothing was recorded" in done.stderr


def test_each_program_of_a_script_has_its_folder(program: tuple[str, Path]) -> None:
    mpi, folder = program
    one = f"mpiexec.{mpi} -n 1 ./hello"
    done = record("--name", "two", "--mpi", mpi, "--", "sh", "-c", f"{one} && {one}", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2 MPI programs" in done.stderr
    assert (folder / "runs" / "two-2" / "sites.json").is_file()


def test_an_unknown_command_is_told_in_one_sentence(tmp_path: Path) -> None:
    done = record("--", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no command nowhere" in done.stderr


def test_sites_of_modules_that_are_gone_keep_the_symbol_that_the_loader_knew(tmp_path: Path) -> None:
    (tmp_path / "sites-0000.tsv").write_text(
        "0\t/nowhere/libx.so\t0x10\t_ZN1a1bEv\n1\t/nowhere/libx.so\t0x20\t\nhalf a line"
    )
    sites = resolve_sites(tmp_path)
    assert sites["libx.so+0x10"]["function"] in ("a::b()", "_ZN1a1bEv")
    assert sites["libx.so+0x20"] == {"function": None, "file": None, "line": None}


_COMPUTES = """
#include <mpi.h>
#include <stdlib.h>
volatile double sum;
__attribute__((noinline)) static void kernel(int n) { for (int i = 1; i < n; ++i) sum += 1.0 / i; }
__attribute__((noinline)) static void solve(double seconds) {
  double start = MPI_Wtime();
  while (MPI_Wtime() - start < seconds) kernel(100000);
  MPI_Barrier(MPI_COMM_WORLD);
  sum += 1;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  solve(0.5);
  solve(0.2);
  MPI_Finalize();
  return 0;
}
"""


def test_samples_name_what_computes_and_paths_what_calls(program: tuple[str, Path]) -> None:
    mpi, folder = program
    (folder / "computes.c").write_text(_COMPUTES)
    subprocess.run([f"mpicc.{mpi}", "-O2", "-g", "-o", "computes", "computes.c"], cwd=folder, check=True)
    options = ("--name", "sampled", "--sample", 500, "--call-path", 3)
    done = record(*options, "--", f"mpiexec.{mpi}", "-n", 1, "./computes", cwd=folder)
    assert done.returncode == 0, done.stderr
    run = read_run(folder / "runs" / "sampled")
    if not run.samples.height:
        assert "no samples" in done.stderr
        pytest.skip(done.stderr)
    measures = measure_samples(run, calls_within(run, parallel_window(run)), pl.DataFrame(schema=WAITS))
    functions = dict(measures.by_function.select("function", "self_share").iter_rows())
    assert functions["kernel"] > 0.5
    assert measures.by_function["function"][0] == "kernel"
    paths = {tuple(one.function_name for one in run.sites[site].path) for site in run.samples["site"]}
    assert ("kernel", "solve", "main") in paths
    barriers = {run.sites[site] for site in run.calls["site"] if run.sites[site].function == "solve"}
    assert {site.callers[0].line for site in barriers} == {14, 15}


_LINES = """import threading
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD


def swap(values):
    other = 1 - world.rank
    requests = [world.Isend(values, other), world.Irecv(np.empty(4), other)]  # line 10
    MPI.Request.Waitall(requests)  # line 11


def reduce(count):
    for _ in range(count):
        world.Allreduce(MPI.IN_PLACE, np.ones(1))  # line 16


stop = threading.Event()
busy = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(stop.is_set, True)])
busy.start()  # holds the interpreter's lock most of the time
swap(np.ones(4))
reduce(20)
reduce(30)
stop.set()
busy.join()
"""


def test_calls_from_python_have_their_lines(program: tuple[str, Path]) -> None:
    mpi, folder = program
    (folder / "lines.py").write_text(_LINES)
    start = (f"mpiexec.{mpi}", "-n", 2, sys.executable, "lines.py")
    vendor = {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi]
    question = (
        f"from mpi4py import MPI; import numpy; raise SystemExit(MPI.get_vendor()[0] != '{vendor}')"
    )
    environment = {**os.environ, **root_environment()}
    trial = (f"mpiexec.{mpi}", "-n", "1", sys.executable, "-c", question)
    if (
        subprocess.run(trial, cwd=folder, capture_output=True, check=False, env=environment).returncode
        != 0
    ):
        pytest.skip(f"no mpi4py here that fits {mpi}: .venv/bin/pip install mpi4py")
    done = record("--name", "lines", "--call-path", 2, "--mpi", mpi, "--", *start, cwd=folder)
    assert done.returncode == 0, done.stderr
    run = read_run(folder / "runs" / "lines")

    def places(function: str) -> dict[tuple[str | None, int | None, int | None], int]:
        """Function and line of each place, and the line of its caller: the number of calls on rank 0."""
        found = run.calls.filter(
            (pl.col("rank") == 0) & (pl.col("function") == run.functions.index(function))
        )
        counts = found.group_by("site").len().iter_rows()
        sites = [(run.sites[site], count) for site, count in counts]
        assert all(Path(str(site.file)).name == "lines.py" for site, _ in sites)
        return {(site.function, site.line, site.callers[0].line): count for site, count in sites}

    assert places("MPI_Isend") == places("MPI_Irecv") == {("swap", 10, 22): 1}
    assert places("MPI_Waitall") == {("swap", 11, 22): 1}
    calls = places("MPI_Allreduce")
    assert calls == {("reduce", 16, 23): 20, ("reduce", 16, 24): 30}


def test_an_unknown_counter_is_refused(tmp_path: Path) -> None:
    done = record("--counters", "flops", "--", "true", cwd=tmp_path)
    assert done.returncode != 0
    assert "there is no counter 'flops'; give some of instructions, cycles" in done.stderr
    done = record("--sample", 0, "--", "true", cwd=tmp_path)
    assert done.returncode == 2
