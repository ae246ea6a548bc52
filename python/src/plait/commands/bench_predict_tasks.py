# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict-tasks`: runs of tasks on other workers and ranks, against their predictions.

Each program runs in turns on one worker, on two workers, and on two ranks. The runs on one worker
and on two predict each other, and the run on two ranks the one on one. Tasks take longer when two
workers share the memory, and a program may create other tasks, which no schedule can know. So there
are two more predictions: one without the kinds of tasks that the program has only to exchange data
between ranks, and one with the times of kinds in a step from the run that is predicted, so that its
error is that of the schedule alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from contextlib import chdir
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from plait import _launcher as launcher
from plait._build import built_application, find_program
from plait._errors import PlaitError, Status
from plait._files import make_folder, write_text
from plait.benches.programs import output_of
from plait.commands.bench import Wishes

TARGET = 0.10
_TURNS = 5
_SECONDS_MAX = 300.0
_TABLE_WIDTH = 130


@dataclass(frozen=True)
class Layout:
    ranks: int
    workers: int

    @property
    def words(self) -> str:
        return f"{self.ranks} x {self.workers}"


#: From which run which other is predicted, by which options.
Case = tuple[Layout, Layout, tuple[str, ...]]
MORE_WORKERS: Case = (Layout(1, 1), Layout(1, 2), ("--workers", "2"))
FEWER_WORKERS: Case = (Layout(1, 2), Layout(1, 1), ("--workers", "1"))
FEWER_RANKS: Case = (Layout(2, 1), Layout(1, 1), ("--ranks", "1"))


@dataclass(frozen=True)
class Program:
    name: str
    arguments: tuple[str, ...]
    #: Arguments that create its input, first.
    set_up: tuple[str, ...] = ()
    #: Kinds of tasks that only exchange data between ranks: the program has none on one rank.
    of_exchange: tuple[str, ...] = ()


CASES = (MORE_WORKERS, FEWER_WORKERS, FEWER_RANKS)


#: Sizes at which a run takes about half a second, so that its start is a small part.
PROGRAMS = (
    Program("cholesky", ("--size", "4096", "--tile", "192", "--no-check")),
    Program(
        "ring",
        ("run", "ring.hdf5", "--steps", "60"),
        ("init", "--n-azimuthal", "600", "-o", "ring.hdf5"),
        of_exchange=(
            *("walk: received tree", "make LET", "receive LET", "gather summaries"),
            *("exchange boundaries", "find leavers", "exchange particles"),
            *("take in particles", "choose samples", "cut domains"),
        ),
    ),
    Program("dns", ("--problem", "isotropic", "--points", "64", "--steps", "20")),
    # On two ranks its solver calls MPI itself, which is not in the trace of its tasks.
    Program(
        "pic",
        (
            *("--problem", "plate", "--cells", "128", "64", "--steps", "150"),
            *("--way", "collection", "--patches", "8"),
        ),
    ),
    Program(
        "sph",
        (
            *("run", "--problem", "sedov", "--resolution", "24", "--steps", "40"),
            *("--force", "--output", "snapshots"),
        ),
        of_exchange=("take drift", "take density done", "take end steps"),
    ),
)


@dataclass(frozen=True)
class Compared:
    program: str
    recorded: str  # ranks x workers, as the next
    predicted_for: str
    recorded_s: float  # medians of the turns, as the next three
    actual_s: float
    predicted_s: float
    without_exchange_s: float | None  # None: the program has no such kinds, or more than one rank
    with_its_times_s: float
    #: Between the slowest and the fastest turn of the run that is predicted, as part of its median.
    noise: float

    @property
    def error(self) -> float:
        return self.predicted_s / self.actual_s - 1

    @property
    def error_without_exchange(self) -> float | None:
        return None if self.without_exchange_s is None else self.without_exchange_s / self.actual_s - 1

    @property
    def best_error(self) -> float:
        """Of what a user has who knows the program, and has only the recorded run."""
        known = self.error_without_exchange
        return self.error if known is None else known

    @property
    def schedule_error(self) -> float:
        return self.with_its_times_s / self.actual_s - 1


def run(arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if arguments or wishes.needs_lab or wishes.mpi is not None:
        raise PlaitError(
            "plait bench predict-tasks runs here, with the MPI of the build; it knows only --json",
            status=Status.usage,
        )
    console = Console(highlight=False, soft_wrap=True, width=_TABLE_WIDTH)
    begin = time.monotonic()
    lines: list[Compared] = []
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="plait-predict-tasks-") as scratch:
            runs = record(program, Path(scratch))
            lines += [compare(program, runs, case) for case in CASES]
    console.print(table_of(lines))
    within = sum(abs(line.best_error) <= TARGET for line in lines)
    alone = sum(abs(line.schedule_error) <= TARGET for line in lines)
    console.print(
        f"{within} of {len(lines)} within {100 * TARGET:.0f} %, {alone} with the times that "
        "kinds of tasks take in the run that is predicted"
    )
    if json_file is not None:
        make_folder(json_file.parent)
        write_text(json_file, json.dumps(to_json(lines, time.monotonic() - begin), indent=2) + "\n")
    return 0


def record(program: Program, scratch: Path) -> dict[Layout, list[Path]]:
    """Runs of each layout, in turns: what else runs here meets all of them."""
    path = built_application(f"plait-{program.name}")
    if path is None:
        raise PlaitError(f"plait-{program.name} is not built: cmake --build --preset release")
    if program.set_up:
        subprocess.run([str(path), *program.set_up], cwd=scratch, check=True, capture_output=True)
    layouts = dict.fromkeys(layout for case in CASES for layout in case[:2])
    runs: dict[Layout, list[Path]] = {layout: [] for layout in layouts}
    for turn in range(_TURNS):
        for layout in layouts:
            trace = scratch / f"run-{layout.ranks}-{layout.workers}-{turn}"
            run_once(path, program, layout, trace)
            runs[layout].append(trace)
    return runs


def run_once(path: Path, program: Program, layout: Layout, trace: Path) -> None:
    place = launcher.Placement(layout.ranks, layout.workers, launcher.available_cores(), "auto")
    line, environment = launcher.launch_command(
        launcher.find_launcher_of(None), place, (str(path), *program.arguments)
    )
    variables = {**environment, "PLAIT_TRACE": str(trace), "PLAIT_WORKERS": str(layout.workers)}
    with chdir(trace.parent):
        output_of(line, variables, _SECONDS_MAX)


def compare(program: Program, runs: dict[Layout, list[Path]], case: Case) -> Compared:
    recorded, wanted, options = case
    actual = [_lines(trace, ())[0] for trace in runs[wanted]]
    found = [
        _lines(trace, (*options, "--times-of", str(other)))
        for trace, other in zip(runs[recorded], runs[wanted], strict=True)
    ]
    without: float | None = None
    if program.of_exchange and recorded.ranks > wanted.ranks:
        words = tuple(word for kind in program.of_exchange for word in ("--without", kind))
        without = statistics.median(_lines(trace, (*options, *words))[-1] for trace in runs[recorded])
    middle = statistics.median(actual)
    return Compared(
        program=program.name,
        recorded=recorded.words,
        predicted_for=wanted.words,
        recorded_s=statistics.median(lines[0] for lines in found),
        actual_s=middle,
        predicted_s=statistics.median(lines[2] for lines in found),
        without_exchange_s=without,
        with_its_times_s=statistics.median(lines[-1] for lines in found),
        noise=(max(actual) - min(actual)) / middle,
    )


def _lines(trace: Path, options: tuple[str, ...]) -> list[float]:
    """The seconds of each line of the table: as recorded, as predicted, each change, all changes."""
    result = trace / "prediction.json"
    command = [str(find_program("plait-predict")), str(trace), *options]
    output_of([*command, "--no-advice", "--json", str(result)], {}, _SECONDS_MAX)
    found = json.loads(result.read_text(encoding="utf-8"))
    return [line["total_ns"] / 1e9 for line in found["lines"]]


def table_of(lines: list[Compared]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("program", no_wrap=True)
    headings = (
        "recorded",
        "for",
        "recorded",
        "predicted",
        "actual",
        "error",
        "without exchange",
        "with its times",
        "spread",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        known = line.error_without_exchange
        table.add_row(
            *(line.program, line.recorded, line.predicted_for),
            *(f"{1e3 * value:.1f} ms" for value in (line.recorded_s, line.predicted_s, line.actual_s)),
            f"{100 * line.error:+.1f} %",
            "" if known is None else f"{100 * known:+.1f} %",
            f"{100 * line.schedule_error:+.1f} %",
            f"{100 * line.noise:.0f} %",
        )
    return table


def to_json(lines: list[Compared], seconds: float) -> dict[str, Any]:
    return {
        "bench": "predict-tasks",
        "seconds": seconds,
        "results": [
            {
                **asdict(line),
                "error": line.error,
                "error_without_exchange": line.error_without_exchange,
                "schedule_error": line.schedule_error,
            }
            for line in lines
        ],
    }
