# SPDX-License-Identifier: Apache-2.0
"""What starts MPI jobs: the table of launchers, with what plait has to know of each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LauncherKind:
    """One row of the table.

    Names may have a suffix: mpiexec.hydra, mpirun-4.1. Where several kinds share a name, what the
    launcher answers to --version decides. `words` belong to the name, as in `flux run`.
    """

    name: str  # for --launcher and for messages
    names: tuple[str, ...]  # of its file
    answer: str = ""  # to --version; empty where the name suffices
    words: tuple[str, ...] = ()
    ranks: str = "-n"
    export: tuple[str, ...] = ()  # what passes {name} with {value}; empty where all variables are passed
    export_list: str = ""  # an option that has the names of all variables passed, if it is given
    free: tuple[str, ...] = ()  # ranks are bound to nothing
    bound: tuple[str, ...] = ()  # each rank is bound to a core
    crowded: tuple[str, ...] = ()  # more ranks than cores
    together: tuple[str, ...] = ()  # all ranks end when one fails; empty where they do anyway


#: In this order: of kinds that share a name, the first whose answer fits.
KINDS = (
    LauncherKind(
        name="Open MPI",
        names=("mpirun", "mpiexec", "orterun", "prterun"),
        answer=r"open.?mpi|openrte|prrte|prterun",
        export=("-x", "{name}"),
        free=("--bind-to", "none"),
        bound=("--bind-to", "core"),
        crowded=("--oversubscribe",),
    ),
    LauncherKind(
        name="Intel MPI",
        names=("mpirun", "mpiexec", "mpiexec.hydra"),
        answer=r"intel",
        export=("-genv", "{name}", "{value}"),
        free=("-genv", "I_MPI_PIN", "0"),
        bound=("-genv", "I_MPI_PIN", "1"),
    ),
    LauncherKind(
        name="MPICH",
        names=("mpirun", "mpiexec", "mpiexec.hydra"),
        answer=r"hydra|mpich",
        free=("-bind-to", "none"),
        bound=("-bind-to", "core"),
    ),
    LauncherKind(
        name="SLURM",
        names=("srun",),
        export_list="--export",
        free=("--cpu-bind=none",),
        bound=("--cpu-bind=cores",),
        crowded=("--overcommit",),
        together=("--kill-on-bad-exit=1",),
    ),
    LauncherKind(
        name="Flux",
        names=("flux",),
        words=("run",),
        export=("--env={name}",),
        free=("-o", "cpu-affinity=off"),
        bound=("-o", "cpu-affinity=per-task"),
    ),
    LauncherKind(
        name="ALPS",
        names=("aprun",),
        export=("-e", "{name}={value}"),
        free=("-cc", "none"),
        bound=("-cc", "cpu"),
    ),
    LauncherKind(
        name="JSM",
        names=("jsrun",),
        ranks="--np",
        export=("-E", "{name}={value}"),
        free=("-b", "none"),
    ),
    LauncherKind(name="ibrun", names=("ibrun",)),
)
#: Of a launcher that is in no row.
UNKNOWN = LauncherKind(name="unknown", names=())

#: Variables of the processes that a launcher starts: rank, and number of ranks. A batch script of SLURM
#: has only the first.
RANKS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),  # Hydra's, also Intel's
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("ALPS_APP_PE", "ALPS_APP_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
)
_SUFFIX = r"([.-]\w+)*"


def kinds_of(command: Sequence[str]) -> list[LauncherKind]:
    """The rows that fit the first words of a command; none if it starts with no launcher."""
    name = Path(command[0]).name
    return [
        kind
        for kind in KINDS
        if re.fullmatch(f"({'|'.join(map(re.escape, kind.names))}){_SUFFIX}", name)
        and tuple(command[1 : 1 + len(kind.words)]) == kind.words
    ]


def kind_named(name: str) -> LauncherKind | None:
    """By its name, or by one of its files' that it shares with no other kind."""
    lower = name.lower().replace(" ", "")
    named = [kind for kind in KINDS if kind.name.lower().replace(" ", "") == lower]
    owners = named or [kind for kind in KINDS if lower in kind.names]
    return owners[0] if len(owners) == 1 else None


def is_wrapper(kind: LauncherKind, command: Sequence[str]) -> bool:
    """Whether the launcher is a script with arguments of its own, as in `mpiexec 2 ./program`.

    No launcher takes a bare number first.
    """
    return any(word.isdigit() for word in command[1 + len(kind.words) :][:1])


def exporting(kind: LauncherKind, command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The command with what takes these variables to all ranks on all hosts.

    A script with arguments of its own is left as it is: the variables reach the ranks of this host.
    """
    if is_wrapper(kind, command):
        return list(command)
    first = 1 + len(kind.words)
    before, after = list(command[:first]), list(command[first:])
    if kind.export_list:
        return [*before, *_in_list(kind.export_list, after, list(variables))]
    words = [
        word.format(name=name, value=value) for name, value in variables.items() for word in kind.export
    ]
    return [*before, *words, *after]


def _in_list(option: str, words: list[str], names: list[str]) -> list[str]:
    """SLURM passes all variables, unless an option or SLURM_EXPORT_ENV lists those to pass."""
    for i, word in enumerate(words):
        if word.startswith(f"{option}="):
            return [*words[:i], f"{option}={_joined(word.partition('=')[2], names)}", *words[i + 1 :]]
        if word == option and i + 1 < len(words):
            return [*words[: i + 1], _joined(words[i + 1], names), *words[i + 2 :]]
        if not word.startswith("-") and os.sep in word:
            break  # the program; its options are not the launcher's
    listed = os.environ.get("SLURM_EXPORT_ENV")
    if listed is not None and listed != "ALL":
        return [f"{option}={_joined(listed, names)}", *words]
    return words


def _joined(listed: str, names: list[str]) -> str:
    return ",".join([*([] if listed in ("NONE", "NIL", "") else [listed]), *names])


def rank_of_environment(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Rank and number of ranks as the launcher has set them; None outside of a job."""
    for rank, size in RANKS:
        if environment.get(rank, "").isdigit() and environment.get(size, "").isdigit():
            return int(environment[rank]), int(environment[size])
    return None
