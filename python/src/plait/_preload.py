# SPDX-License-Identifier: Apache-2.0
"""Commands that start programs of an MPI, with a library of plait preloaded into them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plait import _build, _launchers, _mpi
from plait import _launcher as launcher
from plait._errors import PlaitError, Status

#: The value of `--mpi` for programs of the standard ABI of MPI 5, which MPIs have beside their own.
STANDARD_ABI = _mpi.STANDARD_ABI
#: Values of `--mpi` for what is preloaded.
KINDS = (*launcher.FAMILIES, STANDARD_ABI)


@dataclass(frozen=True)
class Target:
    """A command as the user types it, and its MPI."""

    command: tuple[str, ...]
    starter: launcher.Launcher | None
    mpi: str
    library: _mpi.MpiLibrary | None = None

    @classmethod
    def of(cls, command: Sequence[str], mpi: str | None, kind: str | None = None) -> Target:
        """`mpi`: what the user names, else the program's. `kind`: of a launcher with another name."""
        _refuse_inside()
        found = shutil.which(command[0])
        if found is None:
            raise PlaitError(
                f"there is no command {command[0]}; give what you would type without plait",
                status=Status.usage,
            )
        if mpi is not None and mpi not in KINDS:
            raise PlaitError(
                f"--mpi {mpi} is unknown; use {', '.join(KINDS[:-1])} or {KINDS[-1]}",
                status=Status.usage,
            )
        starter = _starter(command, found, kind)
        skipped = 1 if starter is not None else 0
        library = next(filter(None, map(_mpi.library_of, _programs_in(command[skipped:]))), None)
        if mpi is not None and library is not None and library.interface != mpi:
            library = None
        mpi = mpi or (library.interface if library else _of_launcher(starter))
        return cls(tuple(command), starter, mpi, library)

    def wanted(self) -> _build.WantedMpi:
        return _build.WantedMpi(self.mpi, self.library, self.starter)

    def with_exports(self, variables: Mapping[str, str]) -> list[str]:
        """The command that takes these variables to all hosts."""
        if self.starter is None:
            return list(self.command)
        return _launchers.exporting(self.starter.kind, self.command, variables)

    def notice(self) -> str:
        """What a user should know of the launcher, as a sentence; empty if there is nothing."""
        kind = self.starter.kind if self.starter is not None else _launchers.UNKNOWN
        if not kind.export or not _launchers.is_wrapper(kind, self.command):
            return ""
        return (
            f"{self.command[0]} takes arguments of its own, and gets no options: what plait sets "
            "reaches the ranks of this host only"
        )


def _refuse_inside() -> None:
    place = _launchers.rank_of_environment(os.environ)
    if place is not None and place[1] > 1:
        raise PlaitError(
            f"plait runs inside of the launcher here, as rank {place[0]} of {place[1]}; put it before: "
            "plait record -- srun -n 4 ./program",
            status=Status.usage,
        )


def _starter(command: Sequence[str], found: str, kind: str | None) -> launcher.Launcher | None:
    if kind is None:
        return launcher.identify([found, *command[1:]]) if is_launcher(command) else None
    row = _launchers.kind_named(kind)
    if row is None:
        names = ", ".join(one.name for one in _launchers.KINDS)
        raise PlaitError(f"--launcher {kind} is unknown; use one of {names}", status=Status.usage)
    return launcher.Launcher(found, row.name, "")


def is_launcher(command: Sequence[str] | str) -> bool:
    return bool(_launchers.kinds_of([command] if isinstance(command, str) else command))


def program_in(command: Sequence[str]) -> str | None:
    """The path of the first word behind the launcher that is a program."""
    kinds = _launchers.kinds_of(command)
    first = 1 + len(kinds[0].words) if kinds else 0
    return next(iter(_programs_in(command[first:])), None)


def _programs_in(words: Sequence[str]) -> list[str]:
    """Paths of the words that are programs: env and numactl may be before the one that counts."""
    found = (shutil.which(word) for word in words if not word.startswith("-"))
    return [path for path in found if path is not None]


def preloading(*libraries: Path) -> dict[str, str]:
    """The variable that has the loader load libraries first, before others that it loads already."""
    before = os.environ.get("LD_PRELOAD")
    return {"LD_PRELOAD": ":".join([*map(str, libraries), *([before] if before else [])])}


def _of_launcher(starter: launcher.Launcher | None) -> str:
    """The MPI of programs that are linked with none, as scripts: the launcher's or the machine's."""
    if starter is not None:
        for name, family in launcher.FAMILIES.items():
            if family == starter.family:
                return name
        if starter.family == "Intel MPI":
            return _mpi.MPICH
    try:
        return _build.default_mpi()
    except PlaitError as error:
        raise PlaitError(
            f"no MPI is linked into the program, and none is found here ({error}); name it with --mpi",
            status=Status.usage,
        ) from error
