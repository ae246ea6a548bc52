# SPDX-License-Identifier: Apache-2.0
"""`plait bench families`: replays and predictions of MPI programs, beside the programs themselves.

Five families of exchanges with computing. In each turn messages are calibrated, then every family runs,
is recorded, replayed and predicted, so that all figures of a turn are of the same minutes. Times are
from barrier to barrier. `--turns N` sets the number of turns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from plait import _build
from plait import _launcher as launcher
from plait._calibration import platform_of, read_calibration
from plait._errors import PlaitError, Status
from plait._preload import preloading
from plait.benches.programs import lab_line, numbers, output_of, require_traffic
from plait.benches.report import Report, Row, Wanted
from plait.commands.bench import MODULES, Wishes
from plait.readers.plait import read_run

FAMILIES = ("pipeline", "halo", "tree", "transpose", "workers")
_PROGRAM = Path("bench") / "exchanges" / "bench_exchanges_program"
TURNS = 5
REPETITIONS = 10
CALIBRATION = ("--rounds", "3")
_RUN_MAX_S = 300
#: Of a run; messages of master and workers are few and short.
_SENT_LEAST = 100_000
_ERROR_WANTED = 0.1


@dataclass(frozen=True)
class Machine:
    """Where programs run: on this host, or on two hosts of a lab."""

    ranks: int
    is_lab: bool
    options: tuple[str, ...] = ()

    @property
    def ranks_per_host(self) -> int:
        return -(-self.ranks // 2) if self.is_lab else self.ranks

    @property
    def name(self) -> str:
        return f"{self.ranks} ranks on {'two hosts of the lab' if self.is_lab else 'this host'}"

    def run(self, command: Sequence[str]) -> str:
        if self.is_lab:
            text = output_of(lab_line(self.ranks, command, *self.options), {}, _RUN_MAX_S)
            require_traffic(text, _SENT_LEAST)
            return text
        found = launcher.find_launcher(None)
        place = launcher.Placement(self.ranks, 1, launcher.available_cores(), "auto")
        line, variables = launcher.launch_command(found, place, tuple(command))
        return output_of(line, variables, _RUN_MAX_S)


def program() -> str:
    """Raises where it is not built."""
    path = _build.build_folder() / _PROGRAM
    if not path.is_file():
        raise PlaitError(
            f"{path} is not built: cmake --preset release && cmake --build --preset release"
        )
    return str(path.resolve())


@dataclass
class Turn:
    """Seconds of one family in one turn: medians of its repetitions."""

    program: float
    recorded: float
    replayed: float
    predicted: float


@dataclass
class Subject:
    name: str
    turns: list[Turn] = field(default_factory=list)

    def errors(self, what: str) -> list[float]:
        """Of each turn, against the program of the same turn, in percent."""
        return [100 * (getattr(turn, what) / turn.program - 1) for turn in self.turns]


def between_barriers(folder: Path) -> list[float]:
    """Seconds from each barrier's end on rank 0 to the next one's, in a run or a prediction."""
    run = read_run(folder)
    barrier = [i for i, name in enumerate(run.functions) if name in ("MPI_Barrier", "barrier")]
    ends = (
        run.calls.filter((pl.col("rank") == 0) & pl.col("function").is_in(barrier))
        .sort("end_ns")["end_ns"]
        .to_list()
    )
    return [(later - earlier) / 1e9 for earlier, later in itertools.pairwise(ends)]


def calibrate(machine: Machine, platform: Path) -> None:
    """Writes a platform file, from messages between the hosts, and within one where ranks share it."""
    places = {False: machine} if machine.is_lab else {}
    if not machine.is_lab:
        places[True] = machine
    elif machine.ranks > 2:
        places[True] = Machine(2, is_lab=False)
    found = {}
    for is_within, place in places.items():
        file = platform.with_suffix(f".{'within' if is_within else 'between'}")
        place.run((str(_build.find_program("plait-calibrate")), *CALIBRATION, "-o", str(file)))
        found[is_within] = read_calibration(file)
    contents = platform_of(
        "calibrated",
        found.get(False) or found[True],
        found.get(True),
        ranks_per_host=machine.ranks_per_host,
    )
    platform.write_text(json.dumps(contents), encoding="utf-8")


class Benchmark:
    def __init__(self, report: Report, machine: Machine, scratch: Path) -> None:
        self._report = report
        self._machine = machine
        self._scratch = scratch
        self._program = program()
        self._count = 0

    def run(self, turns: int) -> None:
        subjects = [Subject(name) for name in FAMILIES]
        for turn in range(turns):
            platform = self._calibrated()
            for subject in subjects:
                print(f"\r{turn + 1}/{turns} {subject.name:<12}", end="", file=sys.stderr, flush=True)
                subject.turns.append(self._turn(subject.name, platform))
        print("\r" + " " * 30 + "\r", end="", file=sys.stderr, flush=True)
        for subject in subjects:
            self._add(subject)

    def _new(self, name: str) -> Path:
        self._count += 1
        return self._scratch / f"{self._count}-{name}"

    def _calibrated(self) -> Path:
        platform = self._new("platform.json")
        calibrate(self._machine, platform)
        return platform

    def _turn(self, family: str, platform: Path) -> Turn:
        command = (self._program, family, str(REPETITIONS))
        seconds = numbers(self._machine.run(command))[family]
        log, replay, prediction = (self._new(name) for name in ("log", "replay", "prediction"))
        recorder = _build.recorder_of(_build.mpi_of(_build.build_folder()))
        log.mkdir()
        variables = {**preloading(recorder), "PLAIT_RECORD_FOLDER": str(log)}
        self._machine.run(("env", *(f"{name}={value}" for name, value in variables.items()), *command))
        self._machine.run((str(_build.find_program("plait-replay")), str(log), "-o", str(replay)))
        predict = str(_build.find_program("plait-predict"))
        output_of(
            [predict, str(log), "--platform", str(platform), "--no-advice", "-o", str(prediction)],
            {},
            _RUN_MAX_S,
        )
        return Turn(
            statistics.median(seconds),
            *(statistics.median(between_barriers(folder)) for folder in (log, replay, prediction)),
        )

    def _add(self, subject: Subject) -> None:
        wanted = Wanted("at most", 100 * _ERROR_WANTED, "10 % of the program's time")
        params = {"family": subject.name}
        self._report.add(Row("program", [turn.program for turn in subject.turns], "s", params))
        for what in ("recorded", "replayed", "predicted"):
            self._report.add(Row(f"{what}: error", subject.errors(what), "%", params))
            if what != "recorded":
                size = [abs(error) for error in subject.errors(what)]
                self._report.add(Row(f"{what}: size of the error", size, "%", params, wanted=wanted))


def _turns_in(arguments: Sequence[str]) -> tuple[int | None, list[str]]:
    """The value of `--turns`, and the other arguments. An error ends the program."""
    parser = argparse.ArgumentParser(prog="plait bench families", add_help=False, allow_abbrev=False)
    parser.add_argument("--turns", type=int, choices=range(1, 1001), metavar="N")
    found, rest = parser.parse_known_args(arguments)
    return found.turns, rest


def run(arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if wishes.mpi is not None:
        raise PlaitError(
            "plait bench families runs with the MPI that plait was built with; leave --mpi out",
            status=Status.usage,
        )
    extra = ("--json", str(json_file)) if json_file is not None else ()
    turns, rest = _turns_in(arguments)
    report = Report("families", MODULES["families"][1], (*rest, *extra))
    options = ("--rate", wishes.rate) if wishes.rate is not None else ()
    machine = Machine(wishes.ranks or 2, wishes.needs_lab, options)
    report.note(f"{machine.name}; errors are against the program in the same turn")
    with tempfile.TemporaryDirectory(prefix="plait-families-") as scratch:
        Benchmark(report, machine, Path(scratch)).run(turns or (2 * TURNS if report.is_full else TURNS))
    report.finish()
    return 0
