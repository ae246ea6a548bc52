# SPDX-License-Identifier: Apache-2.0
"""`plait record`, as the shell sees it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.completion import one_of
from plait.cli.options import (
    CallPath,
    Counters,
    LauncherKind,
    Profile,
    ProfileWindow,
    Quiet,
    Sample,
    output_option,
    require_profile,
)

_NOTES = """
What the program sees: LD_PRELOAD names the recorder, PLAIT_RECORD_FOLDER the folder of the run. They
reach whatever the command starts, on other hosts too; what does not initialise MPI writes nothing.

Which MPI: the one that the program is linked with; of scripts, that of the launcher in COMMAND, else
that of mpicc or mpiexec on the path. The recorder for it is built at the first use into ~/.cache/plait,
or ahead by plait build.

Counters: instructions, cycles, cache-references, cache-misses, branches, branch-misses, which virtual
machines often hide; task-clock, page-faults, context-switches.

Launchers: mpirun, mpiexec, orterun, prterun, mpiexec.hydra, srun, flux run, aprun, jsrun, ibrun.

Profiles: --profile keeps counts, sums and durations for each place, peer and size class in 2 MiB a
rank, however long the run is; a killed rank leaves all that it had counted. --window adds full
recordings of parts of the run: 10s/1000s (10 s of each 1000 s; ms, s, min, h), region:NAME (from the
begin of a region of plait.h to its end), region:FROM..TO, region:NAME/10 (each tenth).

A command that starts several MPI programs one after the other makes a run of each: RUN, RUN-2, RUN-3.
"""


def add(app: typer.Typer) -> None:
    app.command(
        context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
        epilog=_NOTES,
    )(record)


def record(
    command: Annotated[
        list[str],
        typer.Argument(help="What starts the program, as you would type it.", metavar="COMMAND..."),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="Record into runs/NAME. [default: the program's name and the time]"),
    ] = None,
    output: Annotated[Path | None, output_option("RUN", "Record into this folder instead.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the recording of an earlier run there.")
    ] = False,
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
        bool,
        typer.Option("--progress", help="Also let a thread make progress while the program computes."),
    ] = False,
    profile: Profile = False,
    window: ProfileWindow = None,
    call_path: CallPath = 1,
    counters: Counters = None,
    sample: Sample = None,
    quiet: Quiet = False,
) -> None:
    """Record what any MPI program does with MPI: C, C++, Fortran or Python, as it is.

    Nothing is compiled again. Each call is recorded with its times, where in the program it is, and what
    it moves; messages are matched when the run is read. It costs about 0.15 microseconds a call or
    message. The program's output and exit status stay what they are.

    Examples:

      plait record -- mpirun -n 4 ./my_program input.yml

      plait record --name melt -- mpirun -n 2 lmp -in melt.in

      plait record --mpi mpich -- mpiexec.mpich -n 2 python3 script.py

      plait record -- srun -N 2 -n 8 ./my_program

      plait record --progress --name helped -- mpirun -n 4 ./my_program     (and compare)

      plait record --profile --window 10s/1000s -- mpirun -n 512 ./long_run

      plait record --sample 100 -- mpirun -n 4 ./my_program     (and which functions compute)

      plait report runs/melt     (then)
    """
    require_profile(profile, window)
    module = import_module("plait.commands.record")
    wishes = module.Wishes(
        name=name,
        output=output,
        force=force,
        mpi=mpi,
        progress=progress,
        profile=profile,
        window=window,
        quiet=quiet,
        launcher=launcher,
        details=module.Details(call_path=call_path, counters=counters, sample=sample),
    )
    raise typer.Exit(module.record(command, wishes))
