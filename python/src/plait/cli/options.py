# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have: one spelling, one meaning."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from plait._files import make_folder, write_text

_STANDARD_OUTPUT = Path("-")

LauncherLine = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        "--mpiexec",
        metavar="LINE",
        help="MPI launcher, with options: 'srun -p debug', 'flux run', 'my-run --tasks {ranks}'. "
        "[default: mpiexec]",
    ),
]
LauncherKind = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        metavar="KIND",
        help="What COMMAND begins with, if its name does not show it: srun, flux, 'Open MPI', ...",
    ),
]
Restart = Annotated[
    int,
    typer.Option(
        "--restart",
        min=0,
        max=1000,
        metavar="N",
        help="Start a run that fails again, N times at most.",
    ),
]
FewerRanks = Annotated[bool, typer.Option("--fewer-ranks", help="Each restart has one rank less.")]
CallPath = Annotated[
    int,
    typer.Option(
        "--call-path",
        min=1,
        max=32,
        metavar="N",
        help="Of each MPI call, record the N innermost functions that led to it.",
    ),
]
Counters = Annotated[
    str | None,
    typer.Option(
        "--counters",
        metavar="NAMES",
        help="Count these in regions, and in tasks of plait, as 'instructions,cycles,cache-misses'.",
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample",
        min=1,
        max=10000,
        metavar="HZ",
        help="Also sample what each thread computes, this often in a second of its processor time.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Window = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Of a profile (plait record --profile): the events of this window."
    ),
]
Profile = Annotated[
    bool,
    typer.Option(
        "--profile", help="Count what is done in bounded memory, in the place of recording each event."
    ),
]
ProfileWindow = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="LENGTH/PERIOD|region:NAME",
        help="With --profile: record each event in these windows, too.",
    ),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the results there; -: to standard output, and only them."
    ),
]


def output_option(metavar: str, text: str) -> Any:
    """Where a command's results go."""
    return typer.Option("--output", "-o", metavar=metavar, help=text)


def ranks_option(text: str, *, most: int | None = None, panel: str | None = None) -> Any:
    """The number of MPI ranks."""
    return typer.Option("--ranks", "-n", min=1, max=most, metavar="N", help=text, rich_help_panel=panel)


def require_profile(profile: bool, window: str | None) -> None:
    """Raises typer.BadParameter for windows of no profile."""
    if window is not None and not profile:
        raise typer.BadParameter("--window is for --profile: without it, each event is recorded anyway")


#: A run has no more (docs/reference/trace-format.md).
_RANKS_MAX = 1 << 22


def parse_ranks(text: str) -> list[int]:
    """Of "0-3,8": [0, 1, 2, 3, 8]. Raises typer.BadParameter."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise typer.BadParameter(f"--only-ranks {text} is no list of ranks such as 0-3,8")
        found.extend(range(int(first), min(int(last or first), _RANKS_MAX) + 1))
    if not found:
        raise typer.BadParameter(f"--only-ranks {text} names no rank: the first of a range is the lower")
    return found


@contextmanager
def hushed(quiet: bool = True) -> Iterator[None]:
    """Discards what this process and those that it starts write to standard output."""
    if not quiet:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            os.dup2(nothing.fileno(), 1)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def results_in(file: Path | None) -> Iterator[Path | None]:
    """The file that a command writes its results to. For `-` they are printed at the end, alone, also
    when the command fails after it has written them."""
    if file != _STANDARD_OUTPUT:
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="plait-results-") as folder:
        results = Path(folder) / "results.json"
        try:
            with hushed():
                yield results
        finally:
            if results.exists():
                with results.open("rb") as content:
                    sys.stdout.flush()
                    shutil.copyfileobj(content, sys.stdout.buffer)


@contextmanager
def printed_into(file: Path | None) -> Iterator[None]:
    """Writes what the command prints to the file, whole or not at all; `-` and None print it."""
    if file is None or file == _STANDARD_OUTPUT:
        yield
        return
    text = io.StringIO()
    with redirect_stdout(text):
        yield
    make_folder(file.parent)
    write_text(file, text.getvalue())
