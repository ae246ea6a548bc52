# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict-programs`: replays and predictions of HPCC's parts and of plait's applications.

Of HPC Challenge: PTRANS, MPIFFT and HPL by name, as parts of one recorded run of all. In each turn
messages are calibrated, then the program runs with the ends of its barriers noted
(bench/exchanges/marks.c), is recorded, replayed and predicted. PTRANS and MPIFFT are timed between
barriers of the main function; HPL is timed from the last reduction before it to its last message.

Of plait-ring and plait-cholesky, whose messages are those of plait's engine: they are recorded,
replayed, and predicted as a schedule of tasks (`tasks`) and as an exchange of messages (`exchange`),
against the recording. `--size N` sets the order of HPL's matrix, `--turns N` the number of turns.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plait import _build
from plait._errors import PlaitError, Status
from plait._preload import preloading
from plait._sites import resolve_sites
from plait.benches.families import TURNS, Machine, calibrate
from plait.benches.programs import numbers, output_of
from plait.benches.report import Report, Row, Wanted
from plait.benches.sections import BARRIERS, end_of_exchange, ends_of, sections_of
from plait.commands.bench import MODULES, Wishes
from plait.commands.bench_predict_tasks import PROGRAMS, Layout, run_once
from plait.readers.plait import read_run

_INPUT = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
_MARKS = Path("bench") / "exchanges" / "libbench_exchanges_marks.so"
#: Between barriers of the main function.
_SECTIONS = ("PTRANS", "MPIFFT")
_LAST = "HPL"
_REDUCTIONS = ("MPI_Reduce", "reduce")
#: What follows the last message of HPL.
_AFTERWARDS = ("MPI_Comm_free", "MPI_Finalize")
_SIZE = 1000
_RUN_MAX_S = 300
_ERROR_WANTED = 0.1
#: A library of linear algebra must not start threads beside the ranks.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

#: Seconds of each part of a program.
Times = dict[str, float]


@dataclass
class Compared:
    """Of one part: its time, and those of what is held against it, in each turn."""

    program: list[float] = field(default_factory=list)
    others: dict[str, list[float]] = field(default_factory=dict)

    def add(self, program: float, others: Mapping[str, float]) -> None:
        self.program.append(program)
        for name, seconds in others.items():
            self.others.setdefault(name, []).append(seconds)

    def errors(self, name: str) -> list[float]:
        """Of each turn, in percent."""
        return [
            100 * (other / own - 1) for other, own in zip(self.others[name], self.program, strict=True)
        ]


def input_of(size: int, ranks: int) -> str:
    """HPCC's input with one line of `ranks` processes. Raises PlaitError if HPCC is not installed."""
    if shutil.which("hpcc") is None or not _INPUT.is_file():
        raise PlaitError(f"HPC Challenge and {_INPUT} are not here; install Debian's package hpcc")
    text = _INPUT.read_text(encoding="utf-8")
    for name, value in (("Ns", size), ("Ps", 1), ("Qs", ranks)):
        text, count = re.subn(rf"^\d+(?=\s+{name}$)", str(value), text, flags=re.MULTILINE)
        if count != 1:
            raise PlaitError(f"{_INPUT} has {count} lines of {name}, not one")
    return text


class Hpcc:
    def __init__(self, machine: Machine, size: int, scratch: Path) -> None:
        self._machine = machine
        self._input = input_of(size, machine.ranks)
        self._scratch = scratch
        self._marks = _build.build_folder() / _MARKS
        if not self._marks.is_file():
            raise PlaitError(
                f"{self._marks} is not built: cmake --preset release && cmake --build --preset release"
            )

    def turn(self, turn: int, platform: Path) -> dict[str, tuple[float, dict[str, float]]]:
        """Of each part: seconds of the program, and of what is held against it."""
        folder = self._scratch / f"hpcc-{turn}"
        folder.mkdir()
        (folder / "hpccinf.txt").write_text(self._input, encoding="utf-8")
        marks = folder / "marks.txt"
        self._run(folder, {**preloading(self._marks.resolve()), "BENCH_MARKS": str(marks)})
        (folder / "hpccoutf.txt").unlink()  # runs append to it
        log, replay, prediction = (folder / name for name in ("log", "replay", "prediction"))
        log.mkdir()
        recorder = _build.recorder_of(_build.mpi_of(_build.build_folder()))
        self._run(folder, {**preloading(recorder), "PLAIT_RECORD_FOLDER": str(log)})
        self._machine.run((str(_build.find_program("plait-replay")), str(log), "-o", str(replay)))
        predict(log, ("--platform", str(platform), "-o", str(prediction)))
        parts = self._parts(folder, log)
        program = parts.of_marks(marks)
        others = {
            "recorded": parts.of_run(log),
            "replayed": parts.of_run(replay),
            "predicted": parts.of_run(prediction),
        }
        return {
            name: (seconds, {what: times[name] for what, times in others.items()})
            for name, seconds in program.items()
        }

    def _run(self, folder: Path, variables: Mapping[str, str]) -> None:
        words = [f"{name}={value}" for name, value in {**_ONE_THREAD, **variables}.items()]
        self._machine.run(("env", f"--chdir={folder}", *words, "hpcc"))

    def _parts(self, folder: Path, log: Path) -> Parts:
        text = (folder / "hpccoutf.txt").read_text(encoding="utf-8")
        names = re.findall(r"^Begin of (\w+) section\.", text, re.MULTILINE)
        return Parts(log, names)


class Parts:
    """Where the parts of HPCC are in a run."""

    def __init__(self, log: Path, names: Sequence[str]) -> None:
        found = sections_of(read_run(log), names, resolve_sites(log))
        missing = [name for name in _SECTIONS if name not in found]
        if missing:
            raise PlaitError(f"{log}: HPCC's main function has no barriers around {', '.join(missing)}")
        self._sections = {name: found[name] for name in _SECTIONS}

    def of_run(self, folder: Path) -> Times:
        run = read_run(folder)
        last = end_of_exchange(run, _AFTERWARDS) - ends_of(run, _REDUCTIONS)[-1]
        return {**self._between(ends_of(run, BARRIERS)), _LAST: last}

    def of_marks(self, file: Path) -> Times:
        """Of what bench/exchanges/marks.c wrote."""
        marks = numbers(file.read_text(encoding="utf-8"))
        if "incomplete" in marks or not marks.get("reduce"):
            raise PlaitError(f"{file} has not all times of the program; choose a smaller --size")
        begin = marks["reduce"][-1]
        end = min(at for at in marks["free"] if at > begin)
        return {**self._between(marks["barrier"]), _LAST: end - begin}

    def _between(self, barriers: Sequence[float]) -> Times:
        return {name: section.of(barriers) for name, section in self._sections.items()}


def predict(log: Path, options: Sequence[str]) -> list[float]:
    """Seconds as recorded and as predicted."""
    results = log / "prediction.json"
    command = [str(_build.find_program("plait-predict")), str(log), "--no-advice"]
    output_of([*command, "--json", str(results), *options], {}, _RUN_MAX_S)
    found = json.loads(results.read_text(encoding="utf-8"))
    return [line["total_ns"] / 1e9 for line in found["lines"]]


class Application:
    """One of plait's applications, recorded by plait's own engine."""

    def __init__(self, name: str, machine: Machine, scratch: Path) -> None:
        self._program = next(program for program in PROGRAMS if program.name == name)
        self._machine = machine
        self._scratch = scratch
        path = _build.built_application(f"plait-{name}")
        if path is None:
            raise PlaitError(f"plait-{name} is not built: cmake --build --preset release")
        self._path = path.resolve()
        if self._program.set_up:
            output_of(
                ["env", f"--chdir={scratch}", str(self._path), *self._program.set_up], {}, _RUN_MAX_S
            )

    def turn(self, turn: int, platform: Path) -> dict[str, tuple[float, dict[str, float]]]:
        name = self._program.name
        log = self._scratch / f"{name}-{turn}"
        run_once(self._path, self._program, Layout(self._machine.ranks, 1), log)
        replay = self._scratch / f"{name}-{turn}-replay"
        self._machine.run((str(_build.find_program("plait-replay")), str(log), "-o", str(replay)))
        document = json.loads((replay / "replay.json").read_text(encoding="utf-8"))
        recorded, tasks = predict(log, ())[:2]
        exchange = predict(log, ("--exchange", "--platform", str(platform)))
        others = {
            "replayed": document["repetitions"][-1]["length_s"] / recorded,
            "predicted, tasks": tasks / recorded,
            "predicted, exchange": exchange[1] / exchange[0],
        }
        return {name: (recorded, {what: part * recorded for what, part in others.items()})}


def _options_in(arguments: Sequence[str]) -> tuple[int | None, int, list[str]]:
    """The values of `--turns` and `--size`, and the other arguments. An error ends the program."""
    parser = argparse.ArgumentParser(
        prog="plait bench predict-programs", add_help=False, allow_abbrev=False
    )
    parser.add_argument("--turns", type=int, choices=range(1, 1001), metavar="N")
    parser.add_argument("--size", type=int, choices=range(300, 20001), metavar="N", default=_SIZE)
    found, rest = parser.parse_known_args(arguments)
    return found.turns, found.size, rest


def run(arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if wishes.mpi is not None or wishes.needs_lab:
        raise PlaitError(
            "plait bench predict-programs runs on this host with the MPI of the build; leave --mpi, "
            "--hosts and --rate out",
            status=Status.usage,
        )
    extra = ("--json", str(json_file)) if json_file is not None else ()
    turns, size, rest = _options_in(arguments)
    report = Report("predict-programs", MODULES["predict-programs"][1], (*rest, *extra))
    machine = Machine(wishes.ranks or 2, is_lab=False)
    report.note(f"{machine.name}; HPCC with N = {size}; errors are against the program in the same turn")
    with tempfile.TemporaryDirectory(prefix="plait-programs-") as folder:
        scratch = Path(folder)
        programs: list[Hpcc | Application] = [
            Hpcc(machine, size, scratch),
            *(Application(name, machine, scratch) for name in ("ring", "cholesky")),
        ]
        found: dict[str, Compared] = {}
        for turn in range(turns or (2 * TURNS if report.is_full else TURNS)):
            print(f"\rturn {turn + 1}", end="", file=sys.stderr, flush=True)
            platform = scratch / f"platform-{turn}.json"
            calibrate(machine, platform)
            for program in programs:
                for name, (seconds, others) in program.turn(turn, platform).items():
                    found.setdefault(name, Compared()).add(seconds, others)
    print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)
    for name, compared in found.items():
        _add(report, name, compared)
    report.finish()
    return 0


def _add(report: Report, name: str, compared: Compared) -> None:
    wanted = Wanted("at most", 100 * _ERROR_WANTED, "10 % of the program's time")
    params = {"program": name}
    report.add(Row("program", compared.program, "s", params))
    for what in compared.others:
        errors = compared.errors(what)
        report.add(Row(f"{what}: error", errors, "%", params))
        if what != "recorded":
            sizes = [abs(error) for error in errors]
            report.add(Row(f"{what}: size of the error", sizes, "%", params, wanted=wanted))
