# SPDX-License-Identifier: Apache-2.0
"""`plait build`, as the shell sees it."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from plait.cli.options import Quiet, hushed

_NOTES = """
Where: $XDG_CACHE_HOME/plait/VERSION, else ~/.cache/plait/VERSION, in a folder for each MPI library and
compiler. A folder that is deleted is built again when it is needed.

What it needs: a C++20 compiler (GCC 12 or later; CXX names it), CMake and Ninja or Make, and an MPI with
its mpicc. `pip install 'plait-hpc[build]'` brings CMake and Ninja, and nanobind for `python`: the
extension of `import plait` for this Python and the MPI of its mpi4py. That has plait.fft where FFTW 3
is found, and plait.particles where Highway is.
"""


def add(app: typer.Typer) -> None:
    app.command(epilog=_NOTES)(build)


def build(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="record, accelerate, simulate, python, replay, measure, predict, schedule, balance, "
            "export. [default: record]",
        ),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            metavar="openmpi|mpich|abi",
            help="For programs of this MPI. [default: that of mpicc; for python, of mpi4py]",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Build now what commands would build at their first use, such as before a job on compute nodes.

    A Python program that uses plait.Runtime builds nothing itself: `plait build python`.

    Reading, reporting and exporting runs need nothing of it.

    Examples:

      plait build

      plait build record accelerate --mpi mpich
    """
    with hushed(quiet):
        import_module("plait.commands.build").build(what or ["record"], mpi)
