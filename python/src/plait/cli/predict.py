# SPDX-License-Identifier: Apache-2.0
"""`plait predict`: how long a recorded run takes on a machine that is not here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import (
    JsonFile,
    Quiet,
    Window,
    hushed,
    output_option,
    ranks_option,
    results_in,
)

_WHAT_IF = "What if"
_TASKS = "What if, of runs with tasks"
_Several = list[str] | None


def add(app: typer.Typer) -> None:
    app.command()(predict)


def predict(
    log: Annotated[
        Path | None, typer.Argument(metavar="LOG", help="The recorded run's folder. [or --synthetic]")
    ] = None,
    platform: Annotated[
        str,
        typer.Option(
            "--platform",
            metavar="FILE",
            help="The machine: a file, or a shipped name. [of runs with tasks: the network as recorded]",
        ),
    ] = "",
    recorded_on: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The machine of the log, whose messages lengthened its computing. [--platform]",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="points|flows", help="Messages alone, or sharing the links.")
    ] = "points",
    synthetic: Annotated[
        str | None, typer.Option(metavar="TEXT", help="An exchange made up from a description.")
    ] = None,
    step: Annotated[int | None, typer.Option(min=0, metavar="N", help="Only this step.")] = None,
    window: Window = None,
    output: Annotated[Path | None, output_option("RUN", "Write the prediction as a run folder.")] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Print the error against this run or replay.")
    ] = None,
    json_file: JsonFile = None,
    quiet: Quiet = False,
    tolerance: Annotated[
        float, typer.Option(min=0, max=1, help="Of the flow model; 0 is exact.")
    ] = 0.05,
    advice: Annotated[bool, typer.Option(help="Try what helps most, and report it.")] = True,
    latency: Annotated[
        _Several, typer.Option(metavar="xF", help="Latencies times F.", rich_help_panel=_WHAT_IF)
    ] = None,
    bandwidth: Annotated[
        _Several, typer.Option(metavar="xF", help="Bandwidths times F.", rich_help_panel=_WHAT_IF)
    ] = None,
    overhead: Annotated[
        _Several,
        typer.Option(metavar="xF", help="Processors' cost times F.", rich_help_panel=_WHAT_IF),
    ] = None,
    eager: Annotated[
        _Several,
        typer.Option(metavar="BYTES", help="Shorter ones do not ask first.", rich_help_panel=_WHAT_IF),
    ] = None,
    progress: Annotated[
        _Several,
        typer.Option(metavar="HOW", help="ideal, calls, or background:10us.", rich_help_panel=_WHAT_IF),
    ] = None,
    aggregate: Annotated[
        bool,
        typer.Option("--aggregate", help="Messages packed by peer.", rich_help_panel=_WHAT_IF),
    ] = False,
    compute: Annotated[
        _Several,
        typer.Option(metavar="xF", help="Computing takes F times as long.", rich_help_panel=_WHAT_IF),
    ] = None,
    cores: Annotated[
        _Several,
        typer.Option(metavar="N", help="A host's tasks on N cores.", rich_help_panel=_WHAT_IF),
    ] = None,
    tile: Annotated[
        _Several,
        typer.Option(
            metavar="N|AxB", help="Copies of the ranks, joined at their edges.", rich_help_panel=_WHAT_IF
        ),
    ] = None,
    scale: Annotated[
        _Several,
        typer.Option(metavar="xF", help="A problem F times as large.", rich_help_panel=_WHAT_IF),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="AxB|all",
            help="How ranks are arranged; also AxB:periodic, AxB:open. [found in the messages]",
            rich_help_panel=_WHAT_IF,
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=9,
            metavar="D",
            help="Of the problem, for its surface. [as the grid]",
            rich_help_panel=_WHAT_IF,
        ),
    ] = None,
    placement: Annotated[
        _Several, typer.Option(metavar="N", help="N ranks on each host.", rich_help_panel=_WHAT_IF)
    ] = None,
    workers: Annotated[
        list[int] | None,
        typer.Option(
            "--workers", "-w", min=1, metavar="N", help="Workers of each rank.", rich_help_panel=_TASKS
        ),
    ] = None,
    ranks: Annotated[
        list[int] | None,
        ranks_option(
            "Tasks: those of neighbouring ranks on one. Exchanges: the same problem on more.",
            panel=_WHAT_IF,
        ),
    ] = None,
    faster: Annotated[
        _Several,
        typer.Option(
            metavar="KIND=F", help="Tasks of this kind F times as fast.", rich_help_panel=_TASKS
        ),
    ] = None,
    without: Annotated[
        _Several,
        typer.Option(
            metavar="KIND",
            help="Tasks of this kind take no time: of kinds that only exist to exchange.",
            rich_help_panel=_TASKS,
        ),
    ] = None,
    times_of: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Kinds take as long in a step as there.", rich_help_panel=_TASKS
        ),
    ] = None,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if",
            help="What each kind of task, the network and the program gain if twice as fast.",
            rich_help_panel=_TASKS,
        ),
    ] = False,
    exchange: Annotated[
        bool,
        typer.Option("--exchange", help="Only the messages, at logged times.", rich_help_panel=_TASKS),
    ] = False,
) -> None:
    """Predict how long a recorded run takes on a modelled machine, and what would change that.

    A run with tasks (of `plait run`) is scheduled anew by what its tasks depended on. Any other run is
    played as an exchange of messages.

    The table has the time as logged, as predicted, and one line for each "what if", each alone, then all
    together. An option may be given several times. --output writes the last line as a run, which `plait
    report` draws. `plait fit` makes platform files from measurements; shipped with plait are round
    numbers: fat-tree, dragonfly, torus, gigabit.

    Examples:

      plait predict runs/ring --workers 4

      plait predict runs/ring --faster walk=2 --latency x0.5 --what-if

      plait predict runs/melt --platform gigabit

      plait predict runs/melt --platform my.json --latency x0.5 --bandwidth x2 --progress ideal

      plait predict runs/melt --platform cluster.json --recorded-on here.json

      plait predict runs/melt --platform torus --model flows --tile 8 --output runs/larger

      plait predict runs/melt --platform my.json --ranks 64 --dimension 3

      plait predict runs/melt --platform my.json --against runs/melt-replayed

      plait predict --synthetic pattern=halo,ranks=1024 --platform dragonfly --model flows
    """
    what_ifs = {
        "--latency": latency,
        "--bandwidth": bandwidth,
        "--overhead": overhead,
        "--eager": eager,
        "--progress": progress,
        "--compute": compute,
        "--cores": cores,
        "--tile": tile,
        "--scale": scale,
        "--placement": placement,
        "--workers": workers,
        "--ranks": ranks,
        "--faster": faster,
        "--without": without,
    }
    words: list[str] = ["--model", model, "--tolerance", str(tolerance)]
    for name, value in (
        ("--synthetic", synthetic),
        ("--output", output),
        ("--against", against),
        ("--times-of", times_of),
        ("--grid", grid),
        ("--dimension", dimension),
    ):
        words += [] if value is None else [name, str(value)]
    words += [] if step is None else ["--step", str(step)]
    words += [] if advice else ["--no-advice"]
    for flag, is_given in (("--aggregate", aggregate), ("--what-if", what_if), ("--exchange", exchange)):
        words += [flag] if is_given else []
    words += [
        word
        for name, values in what_ifs.items()
        for value in values or ()
        for word in (name, str(value))
    ]
    module = import_module("plait.commands.predict")
    with hushed(quiet and json_file != Path("-")), results_in(json_file) as results:
        words += ["--json", str(results)] if results is not None else []
        words += [] if recorded_on is None else ["--recorded-on", str(module.platform_file(recorded_on))]
        status = module.predict(platform, words, log, window)
    raise typer.Exit(status)
