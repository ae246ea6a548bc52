# SPDX-License-Identifier: Apache-2.0
"""Commands that start programs of an MPI, with a library of plait preloaded into them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plait import _launcher as launcher
from plait._errors import PlaitError, Status

#: The value of `--mpi` for programs of the standard ABI of MPI 5, which MPIs have beside their own.
STANDARD_ABI = "abi"
#: Values of `--mpi` for what is preloaded.
KINDS = (*launcher.FAMILIES, STANDARD_ABI)
_LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun)([.-]\w+)*")


def is_launcher(program: str) -> bool:
    return _LAUNCHERS.fullmatch(Path(program).name) is not None


@dataclass(frozen=True)
class Target:
    """A command as the user types it, and its MPI."""

    command: tuple[str, ...]
    starter: launcher.Launcher | None
    mpi: str

    @classmethod
    def of(cls, command: Sequence[str], mpi: str | None) -> Target:
        """`mpi`: what the user names; else it is found out."""
        found = shutil.which(command[0])
        if found is None:
            raise PlaitError(
                f"there is no command {command[0]}; give what you would type without plait",
                status=Status.usage,
            )
        starter = launcher.identify(found) if is_launcher(found) else None
        mpi = mpi or _mpi_of(starter, program_in(command) or found)
        if mpi not in KINDS:
            raise PlaitError(
                f"--mpi {mpi} is unknown; use {', '.join(KINDS[:-1])} or {KINDS[-1]}",
                status=Status.usage,
            )
        return cls(tuple(command), starter, mpi)

    def with_exports(self, names: Mapping[str, str]) -> list[str]:
        """The command that takes these variables to all hosts: Open MPI does so on request only."""
        if self.starter is None or self.starter.family != "Open MPI":
            return list(self.command)
        exports = [word for name in names for word in ("-x", name)]
        return [self.command[0], *exports, *self.command[1:]]


def program_in(command: Sequence[str]) -> str | None:
    """The path of the first word behind the launcher that is a program."""
    for word in command[1:] if is_launcher(command[0]) else command:
        if not word.startswith("-") and (found := shutil.which(word)) is not None:
            return found
    return None


def preloading(*libraries: Path) -> dict[str, str]:
    """The variable that has the loader load libraries first, before others that it loads already."""
    before = os.environ.get("LD_PRELOAD")
    return {"LD_PRELOAD": ":".join([*map(str, libraries), *([before] if before else [])])}


def _mpi_of(starter: launcher.Launcher | None, program: str) -> str:
    """By the launcher; else by the libraries of the program; else by the machine's launcher.

    A launcher does not distinguish the standard ABI from the library's own.
    """
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    if "libmpi_abi" in listed:
        return STANDARD_ABI
    if starter is None:
        if "libmpich" in listed:
            return "mpich"
        if "libmpi." in listed:
            return "openmpi"
        starter = launcher.find_launcher(None)
    for name, family in launcher.FAMILIES.items():
        if family == starter.family:
            return name
    raise PlaitError(
        f"{starter.path} is a launcher of neither Open MPI nor MPICH; name the MPI with --mpi",
        status=Status.usage,
    )
