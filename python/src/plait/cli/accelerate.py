# SPDX-License-Identifier: Apache-2.0
"""`plait accelerate`, as the shell sees it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.completion import one_of
from plait.cli.options import LauncherKind

_NOTES = """
What the program sees: LD_PRELOAD names a library before MPI. What does not initialise MPI is
as it was; what initialises another MPI than the library is for runs on that, after one sentence.

What it does: sends, receives, probes and waits use plait's engine. Collectives, one-sided communication,
files, and communicators with two groups stay the MPI library's.

Which MPI: the one that the program is linked with; of scripts, that of the launcher in COMMAND, else
that of mpicc or mpiexec on the path. The library for it is built at the first use into ~/.cache/plait,
which takes some minutes, or ahead by plait build accelerate. Programs linked with libmpi_abi have the
standard ABI of MPI 5: abi, which scripts that load it have to ask for.
"""


def add(app: typer.Typer) -> None:
    app.command(
        context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
        epilog=_NOTES,
    )(accelerate)


def accelerate(
    command: Annotated[
        list[str],
        typer.Argument(help="What starts the program, as you would type it.", metavar="COMMAND..."),
    ],
    mpi: Annotated[
        str | None,
        typer.Option(
            metavar="openmpi|mpich|abi",
            help="The program's MPI. [default: see below]",
            autocompletion=one_of("openmpi", "mpich", "abi"),
        ),
    ] = None,
    launcher: LauncherKind = None,
    progress: Annotated[
        str | None,
        typer.Option(
            metavar="none|timer|idle|dedicated",
            autocompletion=one_of("none", "timer", "idle", "dedicated"),
            help="Which threads move messages while the program computes. [default: timer]",
        ),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print errors only, without the line at the end on what was done."
        ),
    ] = False,
    compare: Annotated[
        int | None,
        typer.Option(
            "--compare",
            min=1,
            metavar="ROUNDS",
            help="Run without and with the engine in turn, ROUNDS times, and print the ratio.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            "--trace",
            metavar="RUN",
            help="Also record the run into this folder, for plait report.",
        ),
    ] = None,
) -> None:
    """Run any MPI program with its messages on plait's engine: C, C++, Fortran or Python, as it is.

    Nothing is compiled again. Messages are matched in constant time and move while the program computes.

    Examples:

      plait accelerate -- mpirun -n 4 ./my_program input.yml

      plait accelerate --compare 5 -- mpirun -n 2 lmp -in melt.in

      plait accelerate -o runs/helped -- mpirun -n 4 ./my_program     (and plait report)

      plait accelerate --mpi mpich -- mpiexec.mpich -n 2 python3 script.py
    """
    module = import_module("plait.commands.accelerate")
    wishes = module.Wishes(
        mpi=mpi, progress=progress, quiet=quiet, compare=compare, trace=trace, launcher=launcher
    )
    raise typer.Exit(module.accelerate(command, wishes))
