# SPDX-License-Identifier: Apache-2.0
"""`plait bench python`: messages, transforms and gravity of Python programs, beside other packages.

Rounds of all subjects alternate, in one process where that is possible, else in runs that alternate.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from plait import _build
from plait import _launcher as launcher
from plait._errors import PlaitError, Status
from plait.benches.programs import lab_line, numbers, output_of, require_traffic
from plait.benches.report import Report, Row
from plait.commands.bench import MODULES, Wishes
from plait.lab.outside import why_not

_RUN_MAX_S = 900
_SYSTEM_PYTHON = "/usr/bin/python3"  # apt installs mpi4py-fft for it
#: NumPy's own threads would compete with those of either side.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Benchmark:
    def __init__(self, report: Report, root: Path) -> None:
        self._report = report
        self._programs = root / "bench"
        self._launcher = launcher.find_launcher_of(None)
        self._rounds = 21 if report.is_full else 9
        report.mpi = f"{self._launcher.family} {self._launcher.version}"

    def run(self) -> None:
        for size in (1 << 18, 1 << 22, 1 << 24) if self._report.is_full else (1 << 18, 1 << 22):
            self._overlap("this host", size, self._start)
        reason = why_not()
        if reason is None:
            self._overlap("lab", 1 << 18, self._start_in_lab)
        else:
            self._report.note(f"no lab here ({reason}): overlap between hosts was not measured")
        self._transforms(256 if self._report.is_full else 128)
        for count in (100_000, 1_000_000) if self._report.is_full else (100_000,):
            self._gravity(count)

    def _start(self, ranks: int, command: Sequence[str]) -> str:
        place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
        line, variables = launcher.launch_command(self._launcher, place, tuple(command))
        return output_of(line, {**_ENVIRONMENT, **variables}, _RUN_MAX_S)

    def _start_in_lab(self, ranks: int, command: Sequence[str]) -> str:
        """Raises if next to nothing crossed the links."""
        text = output_of(lab_line(ranks, command), _ENVIRONMENT, _RUN_MAX_S)
        require_traffic(text)
        return text

    def _overlap(self, where: str, size: int, start: Callable[[int, Sequence[str]], str]) -> None:
        program = str(self._programs / "python" / "overlap.py")
        found = numbers(start(2, (sys.executable, program, str(size), str(self._rounds))))
        computing = min(found["computing"])
        hidden = {
            who: [
                1 - max(0.0, both - computing) / statistics.median(found[f"alone_{who}"])
                for both in found[f"both_{who}"]
            ]
            for who in ("plait", "mpi4py")
        }
        params = {"KiB": str(size >> 10)}
        for name, unit, ours, theirs in (
            ("overlap of an all-to-all", "", hidden["plait"], hidden["mpi4py"]),
            ("  exchange alone", "ms", found["alone_plait"], found["alone_mpi4py"]),
            ("  exchange and as much work", "ms", found["both_plait"], found["both_mpi4py"]),
        ):
            scale = 1e3 if unit else 1.0
            self._report.add(
                Row(
                    f"{where}: {name}" if not name.startswith(" ") else name,
                    [scale * value for value in ours],
                    unit,
                    params,
                    peer="mpi4py",
                    peer_value=scale * statistics.median(theirs),
                )
            )

    def _transforms(self, length: int) -> None:
        """Runs of both alternate."""
        turns, variables = 3, 3
        arguments = (str(length), str(variables), str(self._rounds))
        python = _python_with_mpi4py_fft()
        if python is None:
            self._report.note(
                "mpi4py-fft is left out, as it is not here: apt-get install python3-mpi4py-fft"
            )
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(turns):
            program = str(self._programs / "fft" / "python_transforms.py")
            ours += numbers(self._start(2, (sys.executable, program, *arguments)))["round"]
            if python is not None:
                line = (python, str(self._programs / "fft" / "mpi4py_fft_peer.py"), *arguments)
                theirs += numbers(self._start(2, line))["round"]
        self._report.add(
            Row(
                "3 real cubes there and back",
                [1e3 * value for value in ours],
                "ms",
                {"length": str(length), "ranks": "2"},
                peer="mpi4py-fft" if theirs else "",
                peer_value=1e3 * statistics.median(theirs) if theirs else None,
            )
        )

    def _gravity(self, count: int) -> None:
        threads = launcher.available_cores()
        command = (
            sys.executable,
            str(self._programs / "sphere" / "python_gravity.py"),
            str(count),
            str(threads),
        )
        found = numbers(self._start(1, (*command, str(5 if count < 1_000_000 else 3))))
        if "pytreegrav" not in found:
            self._report.note(f"pytreegrav is left out: {sys.executable} -m pip install pytreegrav")
        for order in ("monopole", "quadrupole"):
            params = {"particles": str(count), "threads": str(threads)}
            for name, key, unit in (("gravity by", "", "s"), ("  rms error,", "error_", "")):
                peer = found.get(f"{key}pytreegrav")
                self._report.add(
                    Row(
                        f"{name} {order}s",
                        found[f"{key}plait_{order}"],
                        unit,
                        params,
                        peer="pytreegrav" if peer else "",
                        peer_value=statistics.median(peer) if peer else None,
                    )
                )


def _python_with_mpi4py_fft() -> str | None:
    """With the numbers of this environment, if it has that package; else the system's."""
    for python in (sys.executable, _SYSTEM_PYTHON):
        try:
            command = [python, "-c", "import mpi4py_fft"]
            done = subprocess.run(command, capture_output=True, check=False, env=_without_pythonpath())
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


def _without_pythonpath() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if wishes.ranks is not None or wishes.needs_lab or wishes.mpi is not None:
        raise PlaitError(
            "plait bench python chooses its ranks and hosts, and uses the MPI of mpi4py; leave these "
            "options out",
            status=Status.usage,
        )
    root = _build.source_folder()
    if root is None:
        raise PlaitError("plait bench python needs a checkout of plait, which is not here")
    _build.extension()
    claim = MODULES["python"][1]
    report = Report("python", claim, (*arguments, *(("--json", str(json_file)) if json_file else ())))
    Benchmark(report, root).run()
    report.finish()
    return 0
