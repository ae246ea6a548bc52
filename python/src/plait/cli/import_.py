# SPDX-License-Identifier: Apache-2.0
"""`plait import`: other programs' logs as runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import Quiet, hushed, output_option


def add(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Make a run of another program's logs: report, replay, predict, export then work on it.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    # A group of its own even while it has one command: `plait import swift`.
    group.callback()(lambda: None)
    group.command()(swift)
    app.add_typer(group, name="import")


def swift(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="The logs, or folders that hold them.", show_default=False
        ),
    ],
    output: Annotated[Path, output_option("RUN", "The folder of the run to write.")],
    frequency: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Ticks a second. [default: as the task dumps report]"),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Names of task types: lines of `type NUMBER NAME`, `subtype NUMBER NAME`.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Import the logs that SWIFT writes of its MPI requests and tasks.

    Reads mpiuse_report-rankM-stepN.dat (SWIFT configured with --enable-mpiuse-reports) and
    thread_info_MPI-stepN.dat (--enable-task-debugging, run with -y 1), of any steps. Give those of all
    ranks: what a missing rank sent or got is named as unmatched.

    Requests become messages, whose communicator is the subtype; tasks stay tasks, steps stay steps. Each
    step begins at the same moment on all ranks, as SWIFT has a barrier there. Ticks become nanoseconds
    by the frequency in the task dumps; where there are none, give --frequency.

    Examples:

      plait import swift mpiuse_report-rank*.dat thread_info_MPI-step12.dat -o runs/eagle

      plait import swift logs/ --frequency 2.2e9 -o runs/eagle

      plait report runs/eagle --step 12
    """
    with hushed(quiet):
        import_module("plait.commands.import_").import_swift(
            files, output, frequency_hz=frequency, names=names, force=force
        )
