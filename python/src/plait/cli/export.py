# SPDX-License-Identifier: Apache-2.0
"""`plait export`: a run in the formats of other tools."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.completion import one_of
from plait.cli.options import Quiet, Window, hushed, output_option


def add(app: typer.Typer) -> None:
    app.command()(export)


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The run's folder, as `plait run` names it.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            autocompletion=one_of("perfetto", "otf2", "parquet", "swift", "goal", "simgrid"),
            help="perfetto, otf2, parquet, swift, goal or simgrid; see below.",
        ),
    ],
    output: Annotated[
        Path | None,
        output_option("OUT", "File or folder. [default: RUN/FORMAT, see below]"),
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only what belongs to this step.")
    ] = None,
    window: Window = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a run in a format that other tools read.

    - **perfetto**: one file for ui.perfetto.dev: tasks and calls on their threads, messages as arrows,
      bytes being sent, counters

    - **otf2**: a folder with traces.otf2 for Vampir, ViTE, Scalasca, otf2-print: threads, functions and
      tasks, messages, collectives, communicators

    - **parquet**: a folder with a file for each table, for pandas, polars, DuckDB, R: all that was
      recorded, and both sides of each message joined

    - **swift**: a folder with the logs that SWIFT would have written of this run, for SWIFT's own tools

    - **goal**: one file for LogGOPSim and ATLAHS: what depends on what, without times of the network

    - **simgrid**: a folder with a time-independent trace, for SimGrid's smpirun -replay

    docs/reference/formats.md describes what each holds, and how to open it.

    Examples:

      plait export runs/first --format perfetto

      plait export runs/first --format otf2 -o first-otf2     then: vite first-otf2/traces.otf2

      plait export runs/first --format parquet --step 12 -o step-12
    """
    with hushed(quiet):
        module = import_module("plait.commands.export")
        module.export(folder, to, output, step=step, force=force, window=window)
