# SPDX-License-Identifier: Apache-2.0
"""`plait import`: reads logs of other programs and writes them as a run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from plait._errors import PlaitError
from plait._units import format_count
from plait.readers._swift_files import Names, read_names
from plait.readers.swift import read_swift
from plait.readers.swift_run import run_of_swift
from plait.writers.plait import write_run

_NOTICES_MAX = 10


def import_swift(
    files: list[Path], output: Path, *, frequency_hz: float | None, names: Path | None, force: bool
) -> None:
    missing = [path for path in files if not path.exists()]
    if missing:
        raise PlaitError(f"{missing[0]} does not exist")
    make_room(output, force)
    console = Console(highlight=False, soft_wrap=True)
    with console.status("reading"):
        known = read_names(names) if names is not None else Names()
        log = read_swift(files, frequency_hz=frequency_hz, names=known)
        newest = max(path.stat().st_mtime for path in files)
        run = run_of_swift(log, datetime.fromtimestamp(newest, UTC))
    with console.status(f"writing {output}"):
        write_run(run, output)
    for notice in log.notices[:_NOTICES_MAX]:
        console.print(f"[yellow]note:[/] {escape(notice)}")
    if len(log.notices) > _NOTICES_MAX:
        console.print(f"[yellow]note:[/] and {len(log.notices) - _NOTICES_MAX} more")
    facts = (
        format_count(log.ranks, "rank"),
        format_count(log.steps["step"].n_unique(), "step"),
        format_count(log.requests.height, "request"),
        format_count(log.tasks.height, "task"),
    )
    console.print(f"{', '.join(facts)}, {log.frequency_hz:,.0f} ticks a second")
    console.print(f"wrote {escape(str(output))}; next: plait report {escape(str(output))}")


def make_room(output: Path, force: bool) -> None:
    """Refuses to mix a run with an older one; removes that one's own files on request."""
    old = [path for path in (*output.glob("rank-*.plt"), output / "meta.json") if path.is_file()]
    if not old:
        return
    if not force:
        raise PlaitError(f"{output} holds a run already; choose another folder, or give --force")
    for path in old:
        path.unlink()
