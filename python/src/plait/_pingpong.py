# SPDX-License-Identifier: Apache-2.0
"""Measures latency and bandwidth between two ranks: plait's benchmark when built, else a C program."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait import _launcher as launcher
from plait._build import build_folder
from plait._errors import PlaitError

_TIMEOUT_S = 60
_SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static double exchange(int rank, char* data, int bytes, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < times; i++) {
    if (rank == 0) {
      MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) / times / 2;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* data = calloc(1, 1 << 20);
  if (size != 2 || !data) MPI_Abort(MPI_COMM_WORLD, 2);
  exchange(rank, data, 8, 100);
  double small = exchange(rank, data, 8, 2000);
  exchange(rank, data, 1 << 20, 5);
  double large = exchange(rank, data, 1 << 20, 100);
  if (rank == 0) printf("plait-pingpong %.9g %.9g\n", small * 1e9, (1 << 20) / large);
  MPI_Finalize();
  return 0;
}
"""


@dataclass(frozen=True)
class Pingpong:
    program: str
    latency_ns: float | None = None  # of 8 bytes, one way
    bytes_per_s: float | None = None  # with 1 MiB
    error: str = ""


def measure_pingpong() -> Pingpong:
    """Raises PlaitError with the reason when two ranks cannot be started or do not talk."""
    found = launcher.find_launcher(None)
    built = build_folder() / "bench" / "bench_pingpong"
    with tempfile.TemporaryDirectory(prefix="plait-doctor-") as scratch:
        if os.access(built, os.X_OK):
            measured = _with_bench(found, built, Path(scratch))
            if measured is not None:
                return measured
        return _with_compiler(found, Path(scratch))


def _start(found: launcher.Launcher, program: list[str], folder: Path) -> str:
    place = launcher.Placement(2, 1, launcher.available_cores(), "auto")
    command, environment = launcher.launch_command(found, place, program)
    clean = {k: v for k, v in os.environ.items() if k != "PLAIT_TRACE"}
    try:
        done = subprocess.run(
            command,
            env={**clean, **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PlaitError(
            f"two ranks did not finish exchanging messages within {_TIMEOUT_S} s; is the network of "
            "this machine (even the loopback) usable by MPI?"
        ) from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()
        why = next((line for line in last if line.strip(" -")), "no message")
        raise PlaitError(f"two ranks could not be started (status {done.returncode}): {why}")
    return done.stdout


def _with_bench(found: launcher.Launcher, built: Path, folder: Path) -> Pingpong | None:
    """None when the benchmark does not report these two numbers: then the C program does."""
    result = folder / "result.json"
    try:
        _start(found, [str(built), "--json", str(result)], folder)
        results = json.loads(result.read_text(encoding="utf-8"))["results"]
        small_ns, large_ns = _half_round_trip_ns(results, 8), _half_round_trip_ns(results, _LARGE)
    except (PlaitError, OSError, ValueError, KeyError, TypeError):
        return None
    if small_ns is None or large_ns is None:
        return None
    return Pingpong("plait, bench_pingpong", small_ns, _LARGE / (large_ns * 1e-9))


_LARGE = 1 << 20
_UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def _half_round_trip_ns(results: list[dict[str, Any]], size: int) -> float | None:
    """Of what a run on one host uses: shared memory, or MPI where there is none."""
    for way, entry in itertools.product(("shm", "mpi"), results):
        params = entry.get("params", {})
        same = str(params.get("bytes")) == str(size) and params.get("way") == way
        if same and entry.get("name") == "half round trip" and entry.get("unit") in _UNITS_NS:
            return float(entry["value"]) * _UNITS_NS[entry["unit"]]
    return None


def _with_compiler(found: launcher.Launcher, folder: Path) -> Pingpong:
    compiler = shutil.which("mpicc")
    if compiler is None:
        raise PlaitError(
            "two ranks were not tried: neither bench_pingpong is built nor mpicc installed "
            "(apt-get install libopenmpi-dev)"
        )
    source, program = folder / "pingpong.c", folder / "pingpong"
    source.write_text(_SOURCE, encoding="utf-8")
    built = subprocess.run(
        [compiler, "-O2", "-o", str(program), str(source)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if built.returncode != 0:
        why = (built.stderr.strip().splitlines() or ["no message"])[-1]
        raise PlaitError(f"mpicc could not build a test program: {why}")
    words = _start(found, [str(program)], folder).split()
    if "plait-pingpong" not in words:
        raise PlaitError("two ranks ran but did not report how fast they were")
    at = words.index("plait-pingpong")
    return Pingpong("plain MPI", float(words[at + 1]), float(words[at + 2]))
