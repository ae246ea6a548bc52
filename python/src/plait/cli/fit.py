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
    pingpong: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Within a host: of plait bench pingpong --full."),
    ] = None,
    rate: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Within a host: of plait bench rate.")
    ] = None,
    between_pingpong: Annotated[
        Path | None, typer.Option(metavar="JSON", help="As --pingpong, between hosts.")
    ] = None,
    between_rate: Annotated[
        Path | None, typer.Option(metavar="JSON", help="As --rate, between hosts.")
    ] = None,
    way: Annotated[
        str, typer.Option(metavar="NAME", help="Whose messages: raw MPI, or a driver of plait's.")
    ] = "raw MPI",
    name: Annotated[str, typer.Option(metavar="TEXT", help="What to call the machine.")] = "fitted",
    ranks_per_host: Annotated[int, typer.Option(min=1, metavar="N", help="For the file.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Derive the parameters of `plait predict` from measured messages.

    Without --pingpong and --between-pingpong it measures here, two ranks on this host, which takes
    some minutes. The parameters are those of LogGPS (docs/how-to/predict.md): a line is put through the
    times of short messages and one through those of long ones, and the size where one gives way
    to the other is the eager threshold; `plait bench rate` reports what a message costs the
    processors, without which the time of a message is divided by rule of thumb. It reports how far
    the parameters are from what was measured, and from sizes that were held out.

    Examples:

      plait fit -o here.json

      plait bench pingpong --full --hosts 2 --rate 1gbit --json far.json

      plait fit --between-pingpong far.json -o gigabit.json

      plait predict runs/first --platform gigabit.json
    """
    module = import_module("plait.commands.fit")
    with hushed(quiet):
        module.fit_platform(
            module.Sources(between_pingpong, between_rate),
            module.Sources(pingpong, rate),
            output=output,
            name=name,
            way=way,
            ranks_per_host=ranks_per_host,
        )
