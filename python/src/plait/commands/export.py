# SPDX-License-Identifier: Apache-2.0
"""`plait export`: reads a run and writes it in the format of another tool."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from plait._build import find_program
from plait._errors import PlaitError
from plait._events import Run
from plait._files import make_folder
from plait.commands._part import events_of, require_events
from plait.export.parquet import write_parquet
from plait.export.perfetto import write_perfetto
from plait.export.swift import write_swift
from plait.measures.messages import match_messages
from plait.measures.steps import only_step
from plait.readers.plait import read_run

_NOTICES_MAX = 6


@dataclass(frozen=True)
class _Job:
    run: Run
    folder: Path  # the run's
    output: Path
    console: Console


@dataclass(frozen=True)
class _Format:
    write: Callable[[_Job], None] | None  # None: the program plait-schedule does
    #: The end of the file's name; "" for a folder.
    suffix: str
    #: Files whose presence in a folder shows that it is an older export of this format.
    signs: tuple[str, ...]
    next: str  # what to do with it


def export(
    folder: Path,
    to: str,
    output: Path | None,
    *,
    step: int | None,
    force: bool,
    window: int | None = None,
) -> None:
    """`window`: of a profile. Raises PlaitError for an unknown format, for what is in the way at
    `output`, and for a profile without a window."""
    console = Console(highlight=False, soft_wrap=True)
    if to in _PROGRAM:
        with events_of(folder, window) as part:
            output = output or folder / f"{to}{_PROGRAM[to].suffix}"
            _export_schedule(part, to, output, step=step, force=force)
        return
    if to not in _FORMATS:
        known = ", ".join((*_FORMATS, *_PROGRAM))
        raise PlaitError(f"--format {to} is not known; it is one of {known}")
    found = _FORMATS[to]
    output = output or folder / f"{to}{found.suffix}"
    with console.status(f"reading {folder}"):
        if window is None:
            require_events(folder)
        run = read_run(folder, window=window)
        if step is not None:
            run = only_step(run, step)
    if run.event_count == 0:
        raise PlaitError(f"{folder} holds no events: there is nothing to export")
    _make_room(output, found, force)
    for notice in run.notices[:_NOTICES_MAX]:
        console.print(f"[yellow]note:[/] {escape(notice)}")
    if found.write is not None:
        found.write(_Job(run, folder, output, console))
    size = _size(output)
    console.print(f"wrote {escape(str(output))}, {size / 1e6:,.1f} MB; {escape(found.next)}")


def _make_room(output: Path, found: _Format, force: bool) -> None:
    """Replaces an older export of the same format on request, and nothing else."""
    if not output.exists():
        return
    if found.suffix:
        if output.is_dir():
            raise PlaitError(
                f"{output} is a folder; this format is one file: give its name with --output"
            )
        if not force:
            raise PlaitError(f"{output} exists; choose another name with --output, or give --force")
        return
    if not output.is_dir():
        raise PlaitError(f"{output} is a file; this format is a folder: choose another with --output")
    old = [path for sign in found.signs for path in output.glob(sign)]
    if old and not force:
        raise PlaitError(f"{output} holds {old[0].name}; choose another with --output, or give --force")
    for path in old:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _size(output: Path) -> int:
    paths = [output] if output.is_file() else [path for path in output.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in paths)


@contextmanager
def _bar(job: _Job, text: str, total: int) -> Any:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=job.console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda count: progress.advance(task, count)


def _perfetto(job: _Job) -> None:
    matched = match_messages(job.run.messages)
    total = 2 * job.run.event_count + 2 * matched.height
    with _bar(job, "writing", total) as progress:
        write_perfetto(job.run, matched, job.output, progress)


def _otf2(job: _Job) -> None:
    try:
        module = import_module("plait.export.otf2")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(("otf2", "_otf2")):
            raise
        raise PlaitError(
            "OTF2 is written with the Python package otf2, which is not here: pip install otf2"
        ) from error
    with _bar(job, "writing", module.event_count(job.run)) as progress:
        module.write_otf2(job.run, job.output, progress)


def _parquet(job: _Job) -> None:
    with job.console.status(f"writing {job.output}"):
        written = write_parquet(job.run, job.output)
    job.console.print("tables: " + ", ".join(path.stem for path in written))


def _swift(job: _Job) -> None:
    with job.console.status(f"writing {job.output}"):
        write_swift(job.run, job.output)


_FORMATS = {
    "perfetto": _Format(_perfetto, ".pftrace", (), "open it in ui.perfetto.dev"),
    "otf2": _Format(
        _otf2, "", ("traces", "traces.def", "traces.otf2"), "open its traces.otf2 in ViTE or Vampir"
    ),
    "parquet": _Format(_parquet, "", ("*.parquet",), "read its tables with pandas, polars or DuckDB"),
    "swift": _Format(
        _swift,
        "",
        ("mpiuse_report-rank*-step*.dat", "thread_info_MPI-step*.dat", "swift-names.txt"),
        "a tick in it is a nanosecond",
    ),
}
#: Formats that the program plait-schedule writes.
_PROGRAM = {
    "goal": _Format(None, ".goal", (), "LogGOPSim and ATLAHS read it"),
    "simgrid": _Format(
        None,
        "",
        ("rank-*.ti", "trace.txt", "hosts.txt", "platform.xml"),
        "in it: smpirun -np RANKS -platform platform.xml -hostfile hosts.txt -replay trace.txt",
    ),
}


def _export_schedule(folder: Path, to: str, output: Path, *, step: int | None, force: bool) -> None:
    found = _PROGRAM[to]
    program = find_program("plait-schedule")
    _make_room(output, found, force)
    make_folder(output.parent)
    command = [str(program), str(folder), f"--{to}", str(output)]
    command += [] if step is None else ["--step", str(step)]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    console = Console(highlight=False, soft_wrap=True)
    if done.returncode != 0:
        raise PlaitError(done.stderr.strip().removeprefix("plait-schedule: ") or "plait-schedule failed")
    if done.stderr.strip():
        for line in done.stderr.strip().splitlines():
            console.print(f"[yellow]note:[/] {escape(line.removeprefix('plait-schedule: '))}")
    console.print(f"wrote {escape(str(output))}; {escape(found.next)}")
