# SPDX-License-Identifier: Apache-2.0
"""plait in job scripts and under srun: tools/slurm-here makes this machine two nodes of a SLURM."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plait import _build, _launchers

ROOT = Path(__file__).resolve().parents[2]
SLURM_HERE = ROOT / "tools/slurm-here"
SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, got, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\\n", sum);
  MPI_Finalize();
  return 0;
}
"""
#: Ends when the job script does, with its status, which comes through a named pipe.
SUBMIT = """
mkfifo ended
sbatch --quiet --nodes 2 --ntasks-per-node 2 --output job.log job.sh && read status <ended
cat job.log
exit $status
"""


def _reason() -> str:
    missing = [
        name
        for name in ("munged", "slurmctld", "slurmd", "srun", "mpicc.openmpi", "mpirun.openmpi")
        if shutil.which(name, path=SEARCHED) is None
    ]
    if missing:
        return (
            f"no {', '.join(missing)} here: tools/setup installs SLURM and Open MPI where apt has them"
        )
    words = [] if os.geteuid() == 0 else ["--user"]
    command = ["unshare", *words, "--uts", "--ipc", "--mount", "true"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return "this system lets its user make no namespaces, which the nodes of tools/slurm-here are"
    return ""


# An optional package of tools/setup, whose nodes need name spaces, which containers may refuse.
pytestmark = pytest.mark.skipif(_reason() != "", reason=_reason())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program of Open MPI and the plait command, for which the recorder is built."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "ring.c").write_text(PROGRAM)
    subprocess.run(["mpicc.openmpi", "-o", "ring", "ring.c"], cwd=folder, check=True)
    _build.recorder_of("openmpi")
    (folder / "plait").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m plait "$@"\n')
    (folder / "plait").chmod(0o755)
    return folder


def _start(folder: Path, *command: object) -> subprocess.Popen[str]:
    launched = {name for names in _launchers.RANKS for name in names}
    kept = {name: value for name, value in os.environ.items() if name not in launched}
    # Other tests need the cores, too.
    kept["OMPI_MCA_mpi_yield_when_idle"] = "1"
    package = os.pathsep.join([str(ROOT / "python/src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        list(map(str, [SLURM_HERE, "--mpi", "pmix", *command])),
        cwd=folder,
        env={**kept, "PYTHONPATH": package},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def on_cluster(folder: Path, *command: object, status: int = 0) -> str:
    """What a command prints that runs on a cluster of its own."""
    with _start(folder, *command) as process:
        try:
            output, _ = process.communicate(timeout=80)
        except subprocess.TimeoutExpired:
            process.terminate()
            output, _ = process.communicate()
            pytest.fail(f"{shlex.join(map(str, command))} did not end:\n{output}")
    assert process.returncode == status, output
    return output


def submit(folder: Path, *lines: str) -> str:
    """What a job script prints; all its lines must succeed."""
    script = ["#!/bin/bash", "exec 2>&1", "run() {", "set -e", *lines, "}", "(run)", "echo $? >ended"]
    (folder / "job.sh").write_text("\n".join(script) + "\n")
    (folder / "ended").unlink(missing_ok=True)
    return on_cluster(folder, "bash", "-c", SUBMIT)


def hosts_in(run: Path) -> list[str]:
    return list(json.loads((run / "meta.json").read_text())["hosts"])


TWO_NODES = ["node1", "node1", "node2", "node2"]


def test_a_job_script_records_with_mpirun_and_with_srun(place: Path) -> None:
    output = submit(
        place,
        "./plait record --output mpirun -- mpirun.openmpi --bind-to none ./ring",
        "./plait record --output srun -- srun ./ring",
        "SLURM_EXPORT_ENV=NONE ./plait record --output none -- srun ./ring",
    )
    assert output.count("sum 6") == 3, output
    for name in ("mpirun", "srun", "none"):
        assert len(list((place / name).glob("rank-*.plt"))) == 4
        assert hosts_in(place / name) == TWO_NODES


def test_srun_records_outside_of_a_job(place: Path) -> None:
    nodes = ("--nodes", 2, "--ntasks-per-node", 2)
    command = ("./plait", "record", "--output", "outside", "--", "srun", *nodes, "./ring")
    assert "sum 6" in on_cluster(place, *command)
    assert hosts_in(place / "outside") == TWO_NODES


def test_inside_of_srun_plait_is_refused(place: Path) -> None:
    words = ("./plait", "record", "--output", "inside", "--", "./ring")
    output = on_cluster(place, "srun", "--ntasks", 2, *words, status=2)
    assert "put it before" in output
    assert not (place / "inside").exists()


def test_plait_starts_ranks_with_srun(place: Path) -> None:
    run = "./plait run --ranks 4 --launcher 'srun --nodes 2'"
    output = submit(place, f"{run} --output ran -- ./ring")
    assert "sum 6" in output


def test_plait_replays_with_srun(place: Path) -> None:
    try:
        _build.find_program("plait-replay")
    except _build.PlaitError as error:
        pytest.skip(str(error))
    output = submit(
        place,
        "./plait record --output again -- srun ./ring",
        "./plait replay again --launcher srun",
    )
    assert (place / "again/replay/meta.json").is_file(), output


def test_a_job_script_accelerates(place: Path) -> None:
    if not (_build.build_folder() / "lib/libplait-accelerate.so").is_file():
        pytest.skip("libplait-accelerate.so is not built: cmake --build --preset release")
    output = submit(
        place, "./plait accelerate -- srun ./ring", "./plait accelerate -- mpirun.openmpi ./ring"
    )
    assert output.count("sum 6") == 2
    assert output.count("messages with") == 2, output


# --- the cluster itself ---------------------------------------------------------------------------


def processes_with(variable: str) -> list[str]:
    """The names of processes that have it in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if variable.encode() in path.read_bytes():
                found.append((path.parent / "comm").read_text().strip())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_daemon_is_left(place: Path, number: signal.Signals) -> None:
    command = 'dirname "$SLURM_CONF"; srun sh -c "echo started; exec tail -f /dev/null"'
    with _start(place, "sh", "-c", command) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        assert process.stdout.readline() == "started\n"
        assert len(processes_with(f"SLURM_CONF={folder}/")) >= 5
        process.send_signal(number)
        process.stdout.read()  # until the last process has ended
    assert not processes_with(f"SLURM_CONF={folder}/")
    assert not Path(folder).exists()


def test_a_daemon_that_ends_is_named_with_its_log(place: Path) -> None:
    end = 'kill $(cat "$(dirname "$SLURM_CONF")/slurmctld.pid"); exec tail -f /dev/null'
    output = on_cluster(place, "bash", "-c", end, status=1)
    assert "slurm-here: slurmctld ended:\n--- log of slurmctld:" in output


def test_the_status_is_that_of_the_command(place: Path) -> None:
    output = on_cluster(place, "srun", "--nodes", 2, "--label", "hostname")
    assert sorted(output.split("\n")) == ["", "0: node1", "1: node2"]
    on_cluster(place, "sh", "-c", "exit 7", status=7)
