# SPDX-License-Identifier: Apache-2.0
"""`plait checkpoint`: what is in checkpoints, and whether they are whole."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import JsonFile, Quiet, hushed, results_in


def add(app: typer.Typer) -> None:
    app.command()(checkpoint)


def checkpoint(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Checkpoints, or folders of them.", show_default=False),
    ],
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Show what checkpoints hold, and check that they are whole.

    Reads every element and compares it with its checksum. Ends with status 1 when one of the files
    cannot be used; a run would refuse it, and take an older one.

    Examples:

      plait checkpoint checkpoints/

      plait checkpoint checkpoints/checkpoint-0000000120.h5

      plait checkpoint checkpoints/ --json checkpoints.json
    """
    with hushed(quiet and json_file != Path("-")), results_in(json_file) as results:
        import_module("plait.commands.checkpoint").show_checkpoints(files, results)
