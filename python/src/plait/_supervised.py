# SPDX-License-Identifier: Apache-2.0
"""Runs one of plait's measuring programs, with a bar for the lines in which it reports progress."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from plait._errors import PlaitError


@dataclass(frozen=True)
class Supervised:
    program: str  # its name; in front of its own messages
    subject: str  # what it measures: "two ranks"
    seconds_max: float = 600.0  # then it is killed


def supervise(command: list[str], environment: Mapping[str, str], what: Supervised) -> None:
    """Waits for the command. A bar on standard error, where that is a terminal, has its progress.

    The program prints lines of "progress DONE TOTAL WORDS"; the rest of its output is not shown. Raises
    PlaitError with its message when it cannot be started, fails, or takes longer than it may.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(
        *columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors, bar:
        task = bar.add_task("measuring", total=None)
        try:
            process = subprocess.Popen(
                command, env=dict(environment), stdout=subprocess.PIPE, stderr=errors, text=True
            )
        except OSError as error:
            raise PlaitError(f"{command[0]} cannot be started ({error.strerror})") from error
        watch = threading.Timer(what.seconds_max, process.kill)
        watch.start()
        with process:
            for line in process.stdout or ():
                match line.split():
                    case ["progress", done, total, *words]:
                        text = " ".join(words)
                        bar.update(task, completed=float(done), total=float(total), description=text)
            status = process.wait()
        watch.cancel()
        if status != 0:
            errors.seek(0)
            raise PlaitError(_why(errors.read(), status, what))


def _why(errors: str, status: int, what: Supervised) -> str:
    lines = [line for line in errors.splitlines() if line.strip(" -")]
    own = [line for line in lines if line.startswith(f"{what.program}: ")]
    why = (own or lines or ["no message"])[0].removeprefix(f"{what.program}: ")
    return f"{what.subject} could not be measured (status {status}): {why}"
