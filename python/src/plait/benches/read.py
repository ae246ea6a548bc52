# SPDX-License-Identifier: Apache-2.0
"""`plait bench read`: how long a long run takes to load and to report, and how much memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from plait.benches.made_up import write_halo_run
from plait.benches.report import Report, Row, Wanted
from plait.notebook.recording import read
from plait.readers.plait import read_run
from plait.report.analysis import analyse
from plait.report.write import write_report

CLAIM = "10 million events of 8 ranks, calls and messages, load in under 10 s and under 4 GiB"
_RANKS = 8
_EVENTS = 10_000_000
_SECONDS_MAX, _GIB_MAX = 10.0, 4.0
#: Of a notebook: the run as the last line of a cell, with the tables of calls and messages.
_NOTEBOOK_EVENTS = _EVENTS // 10
_NOTEBOOK_SECONDS_MAX = 3.0
#: Of a whole report: the page, tables and figures.
_REPORT_EVENTS = _EVENTS // 4
_REPORT_SECONDS_MAX, _REPORT_GIB_MAX = 3.0, 0.6
_ONCE = "PLAIT_BENCH_READ"  # in the environment of the process that reads: the folder


def main(arguments: list[str]) -> None:
    report = Report("read", CLAIM, arguments)
    sizes = (_EVENTS // 10, _EVENTS, 3 * _EVENTS) if report.is_full else (_EVENTS,)
    for events in sizes:
        with tempfile.TemporaryDirectory(prefix="plait-bench-read-") as scratch:
            folder = Path(scratch) / "run"
            written = write_halo_run(folder, _RANKS, events)
            runs = [_in_process(folder, "run") for _ in range(5 if report.is_full else 3)]
        if any(run["events"] != written for run in runs):
            raise SystemExit(f"{written} events were written, {runs[0]['events']} were read")
        params = {"events": str(written), "ranks": str(_RANKS)}
        is_promised = events == _EVENTS
        for name, unit, most in (
            *(("seconds", "s", _SECONDS_MAX), ("cpu_seconds", "s", None), ("memory", "GiB", _GIB_MAX)),
        ):
            wanted = Wanted("at most", most) if is_promised and most is not None else None
            values = [run[name] for run in runs]
            report.add(Row(name, values, unit, params, wanted=wanted))
    _show_in_notebook(report)
    _make_report(report)
    report.finish()


def _show_in_notebook(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="plait-bench-read-") as scratch:
        folder = Path(scratch) / "run"
        written = write_halo_run(folder, _RANKS, _NOTEBOOK_EVENTS)
        shown = [_in_process(folder, "notebook")["seconds"] for _ in range(5 if report.is_full else 3)]
    params = {"events": str(written), "ranks": str(_RANKS)}
    wanted = Wanted("at most", _NOTEBOOK_SECONDS_MAX)
    report.add(Row("notebook_seconds", shown, "s", params, wanted=wanted))


def _make_report(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="plait-bench-read-") as scratch:
        folder = Path(scratch) / "run"
        written = write_halo_run(folder, _RANKS, _REPORT_EVENTS)
        made = [_in_process(folder, "report") for _ in range(5 if report.is_full else 3)]
    params = {"events": str(written), "ranks": str(_RANKS)}
    for name, unit, most in (
        ("seconds", "s", _REPORT_SECONDS_MAX),
        ("memory", "GiB", _REPORT_GIB_MAX),
        ("page", "MB", None),
    ):
        wanted = Wanted("at most", most) if most is not None else None
        values = [one[name] for one in made]
        report.add(Row(f"report_{name}", values, unit, params, wanted=wanted))


def _in_process(folder: Path, what: str) -> dict[str, float]:
    """In a process of its own, whose memory is that of this one reading."""
    done = subprocess.run(
        [sys.executable, "-m", "plait.benches.read", what],
        env={**os.environ, _ONCE: str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, float] = json.loads(done.stdout)
    return told


def _read_once(folder: Path) -> None:
    begin, cpu = time.perf_counter(), time.process_time()
    run = read_run(folder)
    told = {
        "events": run.event_count,
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(told))


def _show_once(folder: Path) -> None:
    begin = time.perf_counter()
    run = read(folder)
    rows = run.calls.height + run.messages.height
    shown = run._repr_html_()
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "rows": rows, "characters": len(shown)}))


def _report_once(folder: Path) -> None:
    begin = time.perf_counter()
    written = write_report(analyse(read_run(folder), folder, None), folder / "report")
    told = {
        "seconds": time.perf_counter() - begin,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "page": written.page.stat().st_size / 1e6,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    if _ONCE in os.environ:
        {"run": _read_once, "notebook": _show_once, "report": _report_once}[sys.argv[1]](
            Path(os.environ[_ONCE])
        )
    else:
        main(sys.argv[1:])
