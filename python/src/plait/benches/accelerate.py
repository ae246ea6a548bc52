# SPDX-License-Identifier: Apache-2.0
"""`plait bench accelerate`: MPI programs with the engine before MPI, beside the same programs without.

Runs of all subjects alternate. Times are the programs' own; the lab counts what crossed its links.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plait import _build
from plait import _launcher as launcher
from plait._errors import PlaitError, Status
from plait._preload import preloading
from plait.benches.programs import lab_line, numbers, output_of, require_traffic
from plait.benches.report import Report, Row
from plait.commands.bench import MODULES, Wishes
from plait.lab.outside import why_not

_PROGRAM = Path("bench") / "accelerate" / "bench_accelerate_program"
_MELT = Path("tests") / "record" / "programs" / "melt.in"
_RUN_MAX_S = 600
#: What one run measured: all values of each name.
Measured = Mapping[str, list[float]]

_RECEIVES = 16384
_LARGE = 4 << 20
_PAIR = 256 << 10
#: By the rate of the lab's links: computing that takes as long as the transfer.
_BITS_PER_S = 1e9


@dataclass(frozen=True)
class Subject:
    name: str
    variables: Mapping[str, str]
    arguments: tuple[str, ...] = ()


#: The same exchange by TCP, with data in the kernel's buffers and no thread that polls: the bound of
#: overlap.
_KERNEL = Subject("TCP by itself", {}, ("kernel",))


class Runs:
    """Starts programs on this host, or on two hosts of a lab, and reads what they print."""

    def __init__(self, mpi: str | None) -> None:
        self._launcher = launcher.find_launcher_of(mpi)
        self._mpi = next(
            (name for name, family in launcher.FAMILIES.items() if family == self._launcher.family), ""
        )
        folder = _build.build_folder()
        if not (folder / _PROGRAM).is_file() or _build.mpi_of(folder) != self._mpi:
            folder = _build.bench_folder_of(self._mpi)
            _build.build_bench(self._mpi, "bench_accelerate_program")
        self.program = (str((folder / _PROGRAM).resolve()),)
        library = _build.accelerator_of(self._mpi)
        self.plain = Subject("plain MPI", {})
        self.accelerated = Subject("accelerated", preloading(library))

    @property
    def mpi(self) -> str:
        return f"{self._launcher.family} {self._launcher.version}"

    def here(self, subject: Subject, command: Sequence[str], ranks: int = 2) -> str:
        place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
        line, variables = launcher.launch_command(self._launcher, place, _with(subject, command))
        return _output(subject, line, variables)

    def lab(self, subject: Subject, command: Sequence[str], ranks: int = 2) -> str:
        """Raises if next to nothing crossed the links."""
        line = lab_line(ranks, _with(subject, command), "--mpi", self._mpi)
        text = _output(subject, line, {})
        require_traffic(text)
        return text


def _with(subject: Subject, command: Sequence[str]) -> tuple[str, ...]:
    variables = [f"{name}={value}" for name, value in subject.variables.items()]
    return ("env", *variables, *command, *subject.arguments)


def _output(subject: Subject, line: Sequence[str], variables: Mapping[str, str]) -> str:
    """Raises if the program fails, or runs without the engine where it should be there."""
    text = output_of(line, variables, _RUN_MAX_S)
    if "LD_PRELOAD" in subject.variables and "went through the engine" not in text:
        raise PlaitError(f"{text}\nthe engine was not there: {' '.join(line)}")
    return text


def overhead_ratios(measured: Measured, who: str) -> list[float]:
    """What an overlapped transfer takes beyond the longer of transfer and computing, over the shorter.

    As in bench/overlap.cpp: against the fastest transfer and the fastest computing, without the empty
    message of the procedure, at most 2.
    """
    transfer, computing = min(measured["one_way"]), min(measured["computing"])
    empty = 0 if who == "both" else statistics.median(measured["empty"])
    return [
        min(2.0, (seconds - empty - max(transfer, computing)) / min(transfer, computing))
        for seconds in measured[who]
    ]


def overlaps(measured: Measured) -> list[float]:
    """Part of an exchange that computing hid."""
    alone, computing = statistics.median(measured["alone"]), min(measured["computing"])
    return [1 - max(0.0, both - computing) / alone for both in measured["both"]]


class Benchmark:
    def __init__(self, report: Report, runs: Runs) -> None:
        self._report = report
        self._runs = runs
        self._turns = 7 if report.is_full else 3

    def run(self) -> None:
        self._matching()
        self._small()
        self._melt("LAMMPS' melt", self._runs.here, 400)
        reason = why_not()
        if reason is None:
            self._overlap()
            self._alltoall()
            self._melt("lab: LAMMPS' melt", self._runs.lab, 200)
        else:
            self._report.note(f"no lab here ({reason}): overlap was not measured")

    def _alternate(
        self,
        subjects: Sequence[Subject],
        run: Callable[[Subject], str],
        read: Callable[[str], dict[str, list[float]]] = numbers,
    ) -> list[dict[str, list[float]]]:
        """What each subject measured in all turns; the order turns round each time."""
        found: list[dict[str, list[float]]] = [{} for _ in subjects]
        for turn in range(self._turns):
            order = range(len(subjects))
            for i in order if turn % 2 == 0 else reversed(order):
                print(f"\r{turn + 1}/{self._turns} {subjects[i].name:<30}", end="", file=sys.stderr)
                for name, values in read(run(subjects[i])).items():
                    found[i].setdefault(name, []).extend(values)
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
        return found

    def _pair(
        self,
        run: Callable[[Subject, Sequence[str]], str],
        command: Sequence[str],
        read: Callable[[str], dict[str, list[float]]] = numbers,
    ) -> list[dict[str, list[float]]]:
        subjects = (self._runs.plain, self._runs.accelerated)
        return self._alternate(subjects, lambda subject: run(subject, command), read)

    def _add(
        self, name: str, values: list[float], plain: list[float], unit: str, scale: float = 1
    ) -> None:
        self._report.add(
            Row(
                name,
                [scale * value for value in values],
                unit,
                peer=self._runs.plain.name,
                peer_value=scale * statistics.median(plain),
            )
        )

    def _matching(self) -> None:
        command = (*self._runs.program, "matching", str(_RECEIVES), "3")
        plain, ours = self._pair(self._runs.here, command)
        for kind in ("expected", "unexpected"):
            self._add(f"a message of {_RECEIVES}, {kind}", ours[kind], plain[kind], "us", 1e6)

    def _small(self) -> None:
        for what, arguments, name, unit, scale in (
            ("half round trip, 8 B", ("roundtrip", "8", "9"), "half", "us", 1e6),
            ("burst, 24 x 64 B", ("burst", "24", "64", "9"), "burst", "us", 1e6),
            ("half round trip, 4 MiB", ("roundtrip", str(_LARGE), "9"), "half", "ms", 1e3),
        ):
            command = (*self._runs.program, *arguments)
            plain, ours = self._pair(self._runs.here, command)
            self._add(what, ours[name], plain[name], unit, scale)

    def _overlap(self) -> None:
        seconds = 8 * _LARGE / _BITS_PER_S
        command = (*self._runs.program, "overlap", str(_LARGE), f"{seconds:.6f}", "5")
        polled = Subject("plain MPI and a polling thread", {}, ("polled",))
        subjects = (self._runs.plain, polled, _KERNEL, self._runs.accelerated)
        found = self._alternate(subjects, lambda subject: self._runs.lab(subject, command))
        for who in ("sender", "receiver", "both"):
            plain, polling, alone, ours = (overhead_ratios(measured, who) for measured in found)
            self._add(f"lab: overhead ratio, 4 MiB, {who}", ours, plain, "")
            self._add(f"  a polling thread in its place, {who}", polling, plain, "")
            if who == "sender":  # a receive needs a thread that reads
                self._add(f"  what TCP takes by itself, {who}", alone, plain, "")

    def _alltoall(self) -> None:
        seconds = 8 * _PAIR / _BITS_PER_S
        command = (*self._runs.program, "alltoall", str(_PAIR), f"{seconds:.6f}", "21")
        subjects = (self._runs.plain, _KERNEL, self._runs.accelerated)
        found = self._alternate(subjects, lambda subject: self._runs.lab(subject, command))
        plain, alone, ours = (overlaps(measured) for measured in found)
        self._add("lab: overlap of MPI_Ialltoall, 256 KiB", ours, plain, "")
        self._add("  what TCP leaves by itself", alone, plain, "")

    def _melt(self, label: str, run: Callable[[Subject, Sequence[str]], str], steps: int) -> None:
        root = _build.source_folder()
        if not self._runs.mpi.startswith("Open MPI"):
            self._report.note("LAMMPS of this system is made with Open MPI: it was not measured")
        elif root is None or shutil.which("lmp") is None:
            self._report.note("no LAMMPS here (apt-get install lammps): it was not measured")
        else:
            melt = ("-in", str(root / _MELT), "-var", "n", "20", "-var", "steps", str(steps))
            plain, ours = self._pair(run, ("lmp", *melt, "-log", "none"), _loop_time)
            self._add(label, ours["loop"], plain["loop"], "s")


def _loop_time(text: str) -> dict[str, list[float]]:
    """Of LAMMPS: its steps, without input and finalisation."""
    found = re.findall(r"Loop time of ([\d.]+)", text)
    if not found:
        raise PlaitError(f"LAMMPS reported no time:\n{text}")
    return {"loop": [float(value) for value in found]}


def run(arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if wishes.ranks is not None or wishes.needs_lab:
        raise PlaitError(
            "plait bench accelerate chooses its ranks and hosts; leave these options out",
            status=Status.usage,
        )
    claim = MODULES["accelerate"][1]
    report = Report(
        "accelerate", claim, (*arguments, *(("--json", str(json_file)) if json_file else ()))
    )
    runs = Runs(wishes.mpi)
    report.mpi = runs.mpi
    Benchmark(report, runs).run()
    report.finish()
    return 0
