# SPDX-License-Identifier: Apache-2.0
"""`plait map`: pictures of the particles in snapshots."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.options import Quiet, hushed, output_option


class Quantity(StrEnum):
    density = "density"
    energy = "energy"
    ranks = "ranks"


class Axis(StrEnum):
    x = "x"
    y = "y"
    z = "z"


def add(app: typer.Typer) -> None:
    app.command("map")(map_snapshots)


def map_snapshots(
    snapshots: Annotated[
        list[Path],
        typer.Argument(
            metavar="SNAPSHOT...",
            help="HDF5 files in the layout of GADGET or SWIFT, which get one scale; or a profile.csv.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, output_option("FILE", "The picture.")] = Path("map.png"),
    quantity: Annotated[
        Quantity,
        typer.Option(
            help="Column density, specific internal energy, or the ranks that wrote the particles."
        ),
    ] = Quantity.density,
    axis: Annotated[Axis, typer.Option(help="The axis of the line of sight.")] = Axis.z,
    pixels: Annotated[int, typer.Option(min=16, max=4096, help="Along the longer side of a map.")] = 512,
    quiet: Quiet = False,
) -> None:
    """Draw the particles of snapshots as maps.

    Gas where there is any, else the first kind that is there. Each particle is as wide as it reaches.
    Of the profile.csv of plait-sph: what is at each place, beside the exact solution.

    Examples:

      plait map sph-output/sph-0001.hdf5

      plait map sph-000?.hdf5 --quantity energy -o energy.png

      plait map sph-0004.hdf5 --quantity ranks --axis x

      plait map sph-output/profile.csv -o sod.png
    """
    with hushed(quiet):
        import_module("plait.commands.map").draw_map(
            snapshots, output, quantity.value, "xyz".index(axis.value), pixels
        )
