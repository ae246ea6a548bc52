# SPDX-License-Identifier: Apache-2.0
"""The MPI launcher: which it is, and the command line that starts ranks under it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from plait._errors import PlaitError, Status

BINDINGS = ("auto", "none", "core")
#: Values of `--mpi`, and where that MPI's launcher is when another one is the machine's `mpiexec`.
FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
_NAMES = {
    "Open MPI": ("mpiexec.openmpi", "mpiexec", "mpirun"),
    "MPICH": ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
}
_PACKAGES = {"Open MPI": "openmpi-bin", "MPICH": "mpich libmpich-dev"}


@dataclass(frozen=True)
class Launcher:
    path: str
    family: str  # "Open MPI", "MPICH", or "unknown"
    version: str


@dataclass(frozen=True)
class Placement:
    ranks: int
    workers: int
    cores: int
    bind: str  # one of BINDINGS

    @property
    def threads(self) -> int:
        return self.ranks * self.workers

    @property
    def binds_to_core(self) -> bool:
        """`auto` binds where every rank is one thread with a core of its own."""
        if self.bind == "auto":
            return self.workers == 1 and 1 < self.ranks <= self.cores
        return self.bind == "core"


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def find_launcher(told: str | None) -> Launcher:
    wanted = told or os.environ.get("PLAIT_MPIEXEC") or "mpiexec"
    path = shutil.which(wanted)
    if path is None and told is None and wanted == "mpiexec":
        path = shutil.which("mpirun")
    if path is None:
        raise PlaitError(
            f"no MPI launcher {wanted} found; install one (apt-get install openmpi-bin, or mpich), or "
            "name it with --mpiexec"
        )
    return identify(path)


def find_launcher_of(mpi: str | None) -> Launcher:
    """The launcher of the MPI of this name, one of FAMILIES; of the default MPI when None is given."""
    if mpi is None:
        return find_launcher(None)
    if mpi not in FAMILIES:
        raise PlaitError(f"--mpi {mpi} is unknown; use {' or '.join(FAMILIES)}", status=Status.usage)
    family = FAMILIES[mpi]
    for path in filter(None, map(shutil.which, _NAMES[family])):
        found = identify(path)
        if found.family == family:
            return found
    raise PlaitError(f"no launcher of {family} found; apt-get install {_PACKAGES[family]}")


def identify(path: str) -> Launcher:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlaitError(
            f"the launcher {path} does not answer to --version ({error}); name another with --mpiexec"
        ) from error
    text = done.stdout + done.stderr
    version = re.search(r"(\d+\.\d+(?:\.\d+)?\w*)", text)
    number = version.group(1) if version else ""
    if re.search(r"open.?mpi|openrte|prte|prrte", text, re.IGNORECASE):
        return Launcher(path, "Open MPI", number)
    if re.search(r"hydra|mpich|intel", text, re.IGNORECASE):
        return Launcher(path, "MPICH", number)
    return Launcher(path, "unknown", number)


def root_environment() -> dict[str, str]:
    """What lets root start jobs of Open MPI, as in containers."""
    if os.geteuid() != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launch_command(
    launcher: Launcher, place: Placement, program: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """The argument vector, and what the environment needs besides."""
    command = [launcher.path]
    environment: dict[str, str] = {}
    crowded = place.threads > place.cores
    if launcher.family == "Open MPI":
        environment |= root_environment()
        if crowded:
            command += ["--oversubscribe"]
            environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
        command += ["--bind-to", "core" if place.binds_to_core else "none"]
    elif launcher.family == "MPICH":
        command += ["-bind-to", "core" if place.binds_to_core else "none"]
    return [*command, "-n", str(place.ranks), *program], environment


def name_signals(status: int) -> int | None:
    """The signal that an exit status reports: negative from the system, or 128 + signal."""
    if status < 0:
        return -status
    if 128 < status < 128 + 65:
        return status - 128
    return None
