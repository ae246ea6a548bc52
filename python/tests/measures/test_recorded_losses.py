# SPDX-License-Identifier: Apache-2.0
"""Losses of a real program whose loss is known: a sender that is 200 ms late."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plait import _build, read
from plait.measures import losses as names

_LATE_MS = 200
_PROGRAM = """
#include <mpi.h>
#include <time.h>
int main(int argc, char** argv) {
  int rank, value = 1;
  struct timespec late = {0, 200 * 1000000L};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    nanosleep(&late, 0);
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""


def test_a_late_sender_is_a_large_loss(tmp_path: Path) -> None:
    compiler, launcher = shutil.which("mpicc.openmpi"), shutil.which("mpiexec.openmpi")
    if compiler is None or launcher is None:
        pytest.skip("no Open MPI here: tools/setup installs it")
    (tmp_path / "late.c").write_text(_PROGRAM)
    subprocess.run([compiler, "-g", "-o", "late", "late.c"], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "plait", "record", "-o", "run", "--", launcher, "-n", "2", "./late"]
    built = {"PLAIT_BUILD": str(_build.build_folder().absolute())}
    subprocess.run(command, cwd=tmp_path, env=os.environ | built, check=True, timeout=600)
    run = read(tmp_path / "run")
    (loss,) = run.losses.filter(run.losses["name"] == names.LATE_SENDERS).to_dicts()
    assert loss["lost_ns"] > 0.75 * _LATE_MS * 1e6
    assert (loss["rank"], loss["function"], loss["is_large"]) == (0, "MPI_Recv", True)
    assert "late.c:14" in loss["site"]
    assert run.meta["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
