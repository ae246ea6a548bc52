# SPDX-License-Identifier: Apache-2.0
"""`plait balance`: what balancers make of recorded loads."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import JsonFile, Quiet, hushed, output_option, ranks_option, results_in

_COSTS = "What counts beside load"


def add(app: typer.Typer) -> None:
    app.command()(balance)


def balance(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Load statistics, one file a rank, or their folder."),
    ] = None,
    balancer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Or NAME:OPTION=VALUE,...; several times. [all]"),
    ] = None,
    all_balancers: Annotated[bool, typer.Option("--all", help="Every balancer, each as it is.")] = False,
    list_balancers: Annotated[bool, typer.Option("--list", help="Show the balancers and end.")] = False,
    ranks: Annotated[int | None, ranks_option("Place on N ranks.", most=1_000_000)] = None,
    phase: Annotated[
        int | None, typer.Option(min=0, metavar="P", help="Which phase. [the last of all ranks]")
    ] = None,
    output: Annotated[
        Path | None,
        output_option("PREFIX", "Write the best placement as PREFIX.RANK.json."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the loads of the ranks.")
    ] = None,
    json_file: JsonFile = None,
    quiet: Quiet = False,
    between_ranks: Annotated[
        float,
        typer.Option(min=0, metavar="S", help="Seconds a byte within a node.", rich_help_panel=_COSTS),
    ] = 0.0,
    between_nodes: Annotated[
        float,
        typer.Option(min=0, metavar="S", help="Seconds a byte between nodes.", rich_help_panel=_COSTS),
    ] = 0.0,
    moved: Annotated[
        float,
        typer.Option(min=0, metavar="S", help="Seconds a byte that moves.", rich_help_panel=_COSTS),
    ] = 0.0,
    memory: Annotated[
        float | None,
        typer.Option(min=1, metavar="BYTES", help="Most on a rank.", rich_help_panel=_COSTS),
    ] = None,
    ranks_per_node: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Not those recorded.", rich_help_panel=_COSTS),
    ] = None,
) -> None:
    """Try balancers on the recorded loads of a run, without running anything.

    Reads the load statistics that plait writes (RebalanceOptions::statistics) and that vt writes
    (--vt_lb_data), in vt's JSON format, one file a rank. The first line of the table is the placement
    as it was; then a line for each balancer. The imbalance is the load of the fullest rank over the
    mean, less 1: how much longer a phase takes than necessary. Above the table is the imbalance below
    which no placement gets. Rounds and messages are what deciding takes, moved is what carrying it
    out takes, and the bytes between ranks are what elements then send each other across ranks in
    each phase.

    Without weights only load counts. A byte's time on your network (the gap per byte of `plait fit`) as
    --between-ranks and --between-nodes makes balancers weigh messages against load.

    Examples:

      plait balance runs/first/stats.*.json

      plait balance stats.*.json --balancer refine --balancer hypercube:sweeps=3

      plait balance stats.*.json -n 64 --phase 12 --picture loads.png

      plait balance vt/data.*.json --between-nodes 1e-9 --ranks-per-node 48 -o better/data
    """
    words: list[str] = []
    for name, value in (
        *(("--ranks", ranks), ("--phase", phase), ("--output", output)),
        *(("--memory", memory), ("--ranks-per-node", ranks_per_node)),
        *(("--between-ranks", between_ranks or None), ("--between-nodes", between_nodes or None)),
        ("--moved", moved or None),
    ):
        words += [] if value is None else [name, str(value)]
    names = [] if all_balancers else balancer or []
    module = import_module("plait.commands.balance")
    if list_balancers:
        raise typer.Exit(module.show_balancers())
    words += [word for name in names for word in ("--balancer", name)]
    with hushed(quiet and json_file != Path("-")), results_in(json_file) as results:
        words += ["--json", str(results)] if results is not None else []
        status = module.balance(files or [], words, picture)
    raise typer.Exit(status)
