# SPDX-License-Identifier: Apache-2.0
"""`plait fit`: a platform file for `plait predict` from measurements."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import Quiet, hushed, output_option


def add(app: typer.Typer) -> None:
    app.command()(fit)


def fit(
    output: Annotated[Path, output_option("FILE", "The platform file to write.")] = Path(
        "platform.json"
    ),
    between: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Of plait-calibrate on two ranks of different hosts."),
    ] = None,
    within: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Of plait-calibrate on two ranks of one host.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What to call the machine.")] = "fitted",
    ranks_per_host: Annotated[int, typer.Option(min=1, metavar="N", help="For the file.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Derive the parameters of `plait predict` from measured messages.

    `plait-calibrate` measures them, on two ranks, in about a quarter of a minute: what calls take, what
    the network takes of a processor that computes, the longest message that is sent eagerly, and what
    one more message costs, for sizes from 0 to 4 MiB. Without --between and --within it is started here,
    on two ranks of this host. How far its rounds lie apart is printed, and is the least
    error to expect of predictions.

    Examples:

      plait fit -o here.json

      srun -N 2 -n 2 plait-calibrate -o between.json

      plait fit --between between.json -o cluster.json

      plait predict runs/first --platform cluster.json
    """
    module = import_module("plait.commands.fit")
    with hushed(quiet):
        module.fit_platform(between, within, output=output, name=name, ranks_per_host=ranks_per_host)
