# SPDX-License-Identifier: Apache-2.0
"""`plait export`: reads a run and writes it in the format of another tool."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import polars as pl
from rich import progress as progress_bar
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from plait._build import find_program
from plait._errors import PlaitError
from plait._events import Run
from plait._files import whole_file, whole_folder
from plait.commands._part import events_of, require_events
from plait.export._program import (
    ProgramMissingError,
    Progress,
    otf2_by_program,
    perfetto_by_program,
    program_for,
)
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
    output: Path  # a file, or a folder that is empty
    console: Console


@dataclass(frozen=True)
class _Format:
    write: Callable[[_Job], None] | None  # None: a program does
    #: The end of the file's name; "" for a folder.
    suffix: str
    #: Files whose presence in a folder shows that it is an older export of this format.
    signs: tuple[str, ...]
    next: str  # what to do with it
    #: Writes a long run without reading it into tables.
    by_program: Callable[[Path, Path, Path, Progress], list[str]] | None = None


def export(
    folder: Path,
    to: str,
    output: Path | None,
    *,
    step: int | None,
    force: bool,
    window: int | None = None,
) -> None:
    """What is at `output` in the end is complete, or as it was before. `window`: of a profile. Raises
    PlaitError for an unknown format, for what is in the way at `output`, for a profile without a window,
    and for a disk that is full.
    """
    console = Console(highlight=False, soft_wrap=True)
    if to not in _FORMATS and to not in _SCHEDULES:
        known = ", ".join((*_FORMATS, *_SCHEDULES))
        raise PlaitError(f"--format {to} is not known; it is one of {known}")
    found = _FORMATS.get(to) or _SCHEDULES[to]
    output = output or folder / f"{to}{found.suffix}"
    if window is None:
        require_events(folder)
    old = _in_the_way(output, found, force)
    with _place(output, found, old) as place:
        if to in _SCHEDULES:
            with events_of(folder, window) as part:
                notices = _export_schedule(part, to, place, step)
        else:
            program = None if window is not None else _program_for(found, folder, step, console)
            if program is not None and found.by_program is not None:
                with _rank_bar(console) as progress:
                    notices = found.by_program(program, folder, place, progress)
            else:
                run = _read(folder, step, window, console)
                notices = _export_tables(found, _Job(run, place, console))
    for notice in notices[:_NOTICES_MAX]:
        console.print(f"[yellow]note:[/] {escape(notice)}")
    size = _size(output)
    console.print(f"wrote {escape(str(output))}, {size / 1e6:,.1f} MB; {escape(found.next)}")


def _read(folder: Path, step: int | None, window: int | None, console: Console) -> Run:
    with console.status(f"reading {folder}"):
        run = read_run(folder, window=window)
        if step is not None:
            run = only_step(run, step)
    if run.event_count == 0:
        raise PlaitError(f"{folder} holds no events: there is nothing to export")
    return run


def _program_for(found: _Format, folder: Path, step: int | None, console: Console) -> Path | None:
    """None: the run is short, or its program cannot be built."""
    if found.by_program is None or step is not None:
        return None
    try:
        return program_for(folder)
    except ProgramMissingError as error:
        console.print(f"[yellow]note:[/] {escape(str(error))}; written in Python, which takes minutes")
        return None


def _export_tables(found: _Format, job: _Job) -> list[str]:
    assert found.write is not None
    try:
        found.write(job)
    except pl.exceptions.PolarsError as error:
        raise PlaitError(f"{job.output} cannot be written ({error}); is the disk full?") from error
    return list(job.run.notices)


def _in_the_way(output: Path, found: _Format, force: bool) -> list[Path]:
    """An older export of the same format, which is replaced on request; nothing else is."""
    if not output.exists():
        return []
    if found.suffix:
        if output.is_dir():
            raise PlaitError(
                f"{output} is a folder; this format is one file: give its name with --output"
            )
        if not force:
            raise PlaitError(f"{output} exists; choose another name with --output, or give --force")
        return []
    if not output.is_dir():
        raise PlaitError(f"{output} is a file; this format is a folder: choose another with --output")
    old = [path for sign in found.signs for path in output.glob(sign)]
    if old and not force:
        raise PlaitError(f"{output} holds {old[0].name}; choose another with --output, or give --force")
    return old


@contextmanager
def _place(output: Path, found: _Format, old: list[Path]) -> Iterator[Path]:
    """Where to write: beside `output`, and moved there at the end."""
    with whole_file(output) if found.suffix else whole_folder(output, old) as place:
        yield place


def _size(output: Path) -> int:
    paths = [output] if output.is_file() else [path for path in output.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in paths)


@contextmanager
def _bar(console: Console, total: int) -> Iterator[Callable[[int], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with progress_bar.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("writing", total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def _rank_bar(console: Console) -> Iterator[Progress]:
    """One step for each rank."""
    columns = (TextColumn("writing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with progress_bar.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("ranks", total=None)
        yield lambda rank, ranks: progress.update(task, completed=rank + 1, total=ranks)


def _perfetto(job: _Job) -> None:
    matched = match_messages(job.run.messages)
    total = 2 * job.run.event_count + 2 * matched.height
    with _bar(job.console, total) as progress:
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
    with _bar(job.console, module.event_count(job.run)) as progress:
        module.write_otf2(job.run, job.output, progress)


def _parquet(job: _Job) -> None:
    with job.console.status("writing tables"):
        written = write_parquet(job.run, job.output)
    job.console.print("tables: " + ", ".join(path.stem for path in written))


def _swift(job: _Job) -> None:
    with job.console.status("writing logs"):
        write_swift(job.run, job.output)


_FORMATS = {
    "perfetto": _Format(
        _perfetto, ".pftrace", (), "open it in ui.perfetto.dev", by_program=perfetto_by_program
    ),
    "otf2": _Format(
        _otf2,
        "",
        ("traces", "traces.def", "traces.otf2"),
        "open its traces.otf2 in ViTE or Vampir",
        by_program=otf2_by_program,
    ),
    "parquet": _Format(_parquet, "", ("*.parquet",), "read its tables with pandas, polars or DuckDB"),
    "swift": _Format(
        _swift,
        "",
        ("mpiuse_report-rank*-step*.dat", "thread_info_MPI-step*.dat", "swift-names.txt"),
        "a tick in it is a nanosecond",
    ),
}
#: Formats that the program plait-schedule writes, which reads the run itself.
_SCHEDULES = {
    "goal": _Format(None, ".goal", (), "LogGOPSim and ATLAHS read it"),
    "simgrid": _Format(
        None,
        "",
        ("rank-*.ti", "trace.txt", "hosts.txt", "platform.xml"),
        "in it: smpirun -np RANKS -platform platform.xml -hostfile hosts.txt -replay trace.txt",
    ),
}


def _export_schedule(folder: Path, to: str, output: Path, step: int | None) -> list[str]:
    command = [str(find_program("plait-schedule")), str(folder), f"--{to}", str(output)]
    command += [] if step is None else ["--step", str(step)]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    told = [line.removeprefix("plait-schedule: ") for line in done.stderr.strip().splitlines()]
    if done.returncode != 0:
        raise PlaitError("\n".join(told) or "plait-schedule failed")
    return told
