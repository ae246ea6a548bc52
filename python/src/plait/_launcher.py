# SPDX-License-Identifier: Apache-2.0
"""The MPI launcher: which it is, and the command line that starts ranks under it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plait import _launchers
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
    family: str  # the name of its row in _launchers.KINDS, or "unknown"
    version: str
    words: tuple[str, ...] = ()  # what is typed behind the path: `run` of `flux run`, options

    @property
    def kind(self) -> _launchers.LauncherKind:
        return _launchers.kind_named(self.family) or _launchers.UNKNOWN

    def ending_together(self) -> Launcher:
        """The same, which ends all ranks when one has failed."""
        return replace(self, words=(*self.words, *self.kind.together))


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


def find_launcher(line: str | None) -> Launcher:
    """`line`: a path or a name, with options behind it, as --launcher takes it."""
    wanted = line or os.environ.get("PLAIT_MPIEXEC") or "mpiexec"
    first, *words = shlex.split(wanted) or [wanted]
    path = shutil.which(first)
    if path is None and line is None and wanted == "mpiexec":
        path = shutil.which("mpirun")
    if path is None:
        raise PlaitError(
            f"no MPI launcher {first} found; load the module of your MPI, install one (apt-get install "
            "openmpi-bin, or mpich), or name it with --launcher"
        )
    found = identify([path, *words])
    return Launcher(found.path, found.family, found.version, tuple(words) or found.kind.words)


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


def identify(command: str | Sequence[str]) -> Launcher:
    """The launcher that begins a command. Asks it for its version where its name leaves a choice."""
    words = [command] if isinstance(command, str) else list(command)
    path = words[0]
    rows = _launchers.kinds_of(words) or _rows_of_name(path)
    if rows and not rows[0].answer:
        return Launcher(path, rows[0].name, "")
    text = _answer(path)
    version = re.search(r"(\d+\.\d+(?:\.\d+)?\w*)", text)
    number = version.group(1) if version else ""
    for kind in rows or _launchers.KINDS:
        if kind.answer and re.search(kind.answer, text, re.IGNORECASE):
            return Launcher(path, kind.name, number)
    return Launcher(path, _launchers.UNKNOWN.name, number)


def _rows_of_name(path: str) -> list[_launchers.LauncherKind]:
    """`flux` alone, without its `run`."""
    named = _launchers.kind_named(Path(path).name)
    return [named] if named is not None else []


def _answer(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlaitError(
            f"the launcher {path} does not answer to --version ({error}); name another with --launcher"
        ) from error
    return done.stdout + done.stderr


def root_environment() -> dict[str, str]:
    """What lets root start jobs of Open MPI, as in containers."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launch_command(
    launcher: Launcher, place: Placement, program: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """The argument vector, and what the environment needs besides."""
    kind = launcher.kind
    command = [launcher.path, *launcher.words]
    environment: dict[str, str] = {}
    crowded = place.threads > place.cores
    if kind.name == "Open MPI":
        environment |= root_environment()
        if crowded:
            environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    if any("{ranks}" in word for word in launcher.words):  # a line of the user's own
        words = [word.replace("{ranks}", str(place.ranks)) for word in launcher.words]
        return [launcher.path, *words, *program], environment
    if crowded:
        command += kind.crowded
    command += kind.bound if place.binds_to_core else kind.free
    return [*command, kind.ranks, str(place.ranks), *program], environment


def name_signals(status: int) -> int | None:
    """The signal that an exit status reports: negative from the system, or 128 + signal."""
    if status < 0:
        return -status
    if 128 < status < 128 + 65:
        return status - 128
    return None
