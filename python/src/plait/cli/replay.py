# SPDX-License-Identifier: Apache-2.0
"""`plait replay`: the messages of a recorded run once more, without the program."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.completion import one_of
from plait.cli.options import (
    JsonFile,
    LauncherLine,
    Quiet,
    Window,
    hushed,
    output_option,
    ranks_option,
    results_in,
)

_CHANGE = "What is changed"
_HOW = "How it is played"


def add(app: typer.Typer) -> None:
    app.command()(replay)


def replay(
    log: Annotated[
        Path | None, typer.Argument(metavar="LOG", help="The recorded run's folder. [or --synthetic]")
    ] = None,
    synthetic: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="An exchange made up from a description; see below."),
    ] = None,
    window: Window = None,
    step: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only this step.", rich_help_panel=_CHANGE)
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(metavar="F", help="Sizes of messages times F.", rich_help_panel=_CHANGE),
    ] = None,
    ranks: Annotated[
        int | None,
        ranks_option("Folded or tiled onto N ranks.", panel=_CHANGE),
    ] = None,
    compute: Annotated[
        str,
        typer.Option(
            metavar="keep|drop", help="What lay between the messages.", rich_help_panel=_CHANGE
        ),
    ] = "keep",
    rate: Annotated[
        str,
        typer.Option(
            metavar="max|logged|F",
            help="As soon as can be; at logged times; F times as fast.",
            rich_help_panel=_CHANGE,
        ),
    ] = "max",
    delay: Annotated[
        float | None,
        typer.Option(metavar="US", help="Microseconds before each send.", rich_help_panel=_CHANGE),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="mpi, plait, rma or ofi.",
            rich_help_panel=_HOW,
            autocompletion=one_of("mpi", "plait", "rma", "ofi"),
        ),
    ] = "mpi",
    threads: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="one, streams, or roles: inject,sends,receives.",
            rich_help_panel=_HOW,
        ),
    ] = "one",
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often.", rich_help_panel=_HOW)
    ] = 1,
    check: Annotated[
        bool, typer.Option("--check", help="Compare what comes, byte by byte.", rich_help_panel=_HOW)
    ] = False,
    stall_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="End when nothing moves for so long.", rich_help_panel=_HOW),
    ] = 30.0,
    scaling: Annotated[
        bool,
        typer.Option("--scaling", help="Also with sizes halved six times: where latency takes over."),
    ] = False,
    replayed: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Play nothing: compare LOG with this replay of it."),
    ] = None,
    output: Annotated[
        Path | None,
        output_option("RUN", "Where to. [default: LOG/replay]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    mpiexec: LauncherLine = None,
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Send the messages of a recorded run again, on the real network, and compare.

    Same sizes, partners, order and waits, without the program. Is it the network, MPI, or what the
    program does between? Runs come from `plait record`, `plait run` and `plait import swift`.

    Prints how long each call took and holds the replay against the log; its own log and the
    pictures are in LOG/replay, and `plait report LOG/replay` shows them.

    Backends: **mpi** as the program did; **plait**, its own endpoint, past MPI where it can; **rma**,
    messages written into the receiver's memory by one-sided MPI, then a flag; **ofi**, so by libfabric.

    Made-up exchanges: pattern (halo, nearest, all-to-all, multicast, random, few-large), ranks, pairs,
    mean, distribution, sigma, steps, compute, overlap, seed.

    Examples:

      plait replay runs/first                                as it was, computing kept

      plait replay runs/first --compute drop --scaling       communication only; time against size

      plait replay runs/first --threads inject,sends,receives

      plait replay --synthetic pattern=random,ranks=4,pairs=58000,mean=6KiB --backend plait

      plait lab --hosts 4 -- plait-replay runs/first -o lab  then: plait replay runs/first --replayed lab
    """
    words = ["--backend", backend, "--threads", threads, "--compute", compute, "--rate", rate]
    words += ["--repeat", str(repeat), "--stall-seconds", str(stall_seconds)]
    words += ["--check"] if check else []
    for name, value in (("--step", step), ("--scale", scale), ("--ranks", ranks), ("--delay", delay)):
        words += [name, str(value)] if value is not None else []
    module = import_module("plait.commands.replay")
    with hushed(quiet and json_file != Path("-")), results_in(json_file) as results:
        module.replay(
            module.Request(
                log=log,
                synthetic=synthetic,
                ranks=ranks,
                step=step,
                words=tuple(words),
                output=output,
                scaling=scaling,
                replayed=replayed,
                force=force,
                mpiexec=mpiexec,
                results=results,
                window=window,
            )
        )
