# SPDX-License-Identifier: Apache-2.0
"""`plait simulate`, as the shell sees it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import JsonFile, Quiet, output_option, ranks_option, results_in

_COSTS = "What tasks cost"
_FAULTS = "What goes wrong"


def add(app: typer.Typer) -> None:
    app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})(
        simulate
    )


def simulate(
    command: Annotated[
        list[str],
        typer.Argument(help="A program of plait and its arguments.", metavar="PROGRAM..."),
    ],
    ranks: Annotated[int, ranks_option("Simulate N ranks.", most=65536)],
    platform: Annotated[
        str,
        typer.Option(
            "--platform",
            metavar="FILE",
            help="The machine's network: a file, or a shipped name. [1 us, 10 GB/s, one switch]",
        ),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", "-w", min=1, max=1024, metavar="N", help="Workers of each rank. [PLAIT_WORKERS]"
        ),
    ] = None,
    output: Annotated[
        Path | None, output_option("RUN", "Record the simulated run into this folder.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace the run that is in the folder.")
    ] = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|FILE",
            help="Mean times by kind of task: a recorded run, or JSON with nanoseconds by kind. "
            "[each task is measured as it runs]",
            rich_help_panel=_COSTS,
        ),
    ] = None,
    skip_bodies: Annotated[
        bool,
        typer.Option(
            "--skip-bodies",
            help="Charge tasks that have a cost, and do not run them: data have no meaning.",
            rich_help_panel=_COSTS,
        ),
    ] = False,
    scale: Annotated[
        float,
        typer.Option(
            min=1e-6, metavar="F", help="Measured times count F times.", rich_help_panel=_COSTS
        ),
    ] = 1.0,
    outside: Annotated[
        str,
        typer.Option(
            metavar="none|measured",
            help="What a rank computes outside of tasks takes no time, or its processor time here.",
            rich_help_panel=_COSTS,
        ),
    ] = "none",
    overhead: Annotated[
        float,
        typer.Option(
            min=0, metavar="US", help="Microseconds that each task adds.", rich_help_panel=_COSTS
        ),
    ] = 0.0,
    other_kinds: Annotated[
        float | None,
        typer.Option(
            "--other-kinds",
            min=0,
            metavar="US",
            help="Microseconds of a task of a kind without a cost. [measured; with --faults 100]",
            rich_help_panel=_COSTS,
        ),
    ] = None,
    faults: Annotated[
        str,
        typer.Option(
            "--faults",
            metavar="LIST|all",
            help="Draw faults of the run from a seed: delays, reorder, full-queues, slow-rank, "
            "half-link, dead-rank, full-disk.",
            rich_help_panel=_FAULTS,
        ),
    ] = "",
    seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="What faults are drawn from.", rich_help_panel=_FAULTS),
    ] = 1,
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds",
            metavar="FIRST:LAST",
            help="Make a run for each of these seeds.",
            rich_help_panel=_FAULTS,
        ),
    ] = "",
    same: Annotated[
        str,
        typer.Option(
            "--same",
            metavar="PATTERN",
            help="What this regular expression matches in lines of the output must be as in the run "
            "without faults. [the exit status only]",
            rich_help_panel=_FAULTS,
        ),
    ] = "",
    restart_with: Annotated[
        str,
        typer.Option(
            "--restart-with",
            metavar="WORDS",
            help="When a fault has ended a run, start the program again with these words added and "
            "without faults: it must reach the same results.",
            rich_help_panel=_FAULTS,
        ),
    ] = "",
    time_limit: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="S",
            help="A run that takes more than S seconds of processor time here has failed.",
            rich_help_panel=_FAULTS,
        ),
    ] = 60.0,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", min=1, max=1024, metavar="N", help="Runs at a time.", rich_help_panel=_FAULTS
        ),
    ] = 1,
    stack: Annotated[
        int,
        typer.Option(
            min=64, max=65536, metavar="KIB", help="Stack of each rank and each further worker."
        ),
    ] = 512,
) -> None:
    """Run a program of plait on ranks that are simulated: a thousand on one core, on a virtual clock.

    The program is started once, as it is. Its main is called for each rank, on a stack of its own; where
    a rank waits, another one goes on, and the clock advances to the next event. Tasks take the time that
    --costs has for their kind, else what they take here. Messages take the time of the platform, and
    share its links one after the other. What a program computes outside of tasks takes no time, or
    what it takes here, with --outside measured.

    With costs for all kinds of tasks and --outside none, a run is repeated exactly: equal arguments,
    equal trace.

    With --faults, the program runs without faults first, and then once for each seed. A run must
    compute the same results, or end with a sentence and a status that is not 0 if a rank died or the
    disk was full. The status is 0 if all seeds did. The command that repeats a failed seed is printed.

    Examples:

      plait run -n 2 -o runs/real plait-cholesky --size 4096 --tile 512

      plait simulate -n 16 --costs runs/real plait-cholesky --size 8192 --tile 512

      plait simulate -n 1024 --platform fat-tree --costs runs/real --skip-bodies \\
        plait-cholesky --size 65536 --tile 512

      plait simulate -n 64 --outside measured plait-pic --cells 512 512 --steps 5

      plait simulate -n 8 --faults all --seeds 1:1000 --same 'checksum.*' \\
        plait-pic --cells 64 8 --steps 5
    """
    module = import_module("plait.commands.simulate")
    with results_in(json_file) as results:
        wishes = module.Wishes(
            ranks=ranks,
            platform=platform,
            costs=costs,
            skip_bodies=skip_bodies,
            scale=scale,
            overhead_us=overhead,
            outside=outside,
            other_kinds_us=other_kinds,
            workers=workers,
            stack_kib=stack,
            output=output,
            force=force,
            results=results,
            quiet=quiet,
        )
        if faults:
            module = import_module("plait.commands.simulate_faults")
            wanted = module.FaultWishes(
                kinds=module.kinds_of(faults, command),
                seeds=module.seeds_of(seeds) if seeds else range(seed, seed + 1),
                same=same,
                restart_with=restart_with,
                time_limit_s=time_limit,
                jobs=jobs,
            )
            status = module.simulate_with_faults(command, wishes, wanted)
        else:
            status = module.simulate(command, wishes)
    raise typer.Exit(status)
