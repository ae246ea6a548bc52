# SPDX-License-Identifier: Apache-2.0
"""`plait simulate`: starts a program whose ranks are fibers of one process, on a virtual clock."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from plait import _build, _mpi
from plait import _events as events
from plait._build import WantedMpi
from plait._errors import PlaitError, Status
from plait._files import write_text
from plait._preload import preloading
from plait.commands.predict import platform_file
from plait.commands.run import Place, find_program, make_run_folder, say, supervise, write_facts
from plait.readers.plait import read_run

#: Kinds of tasks that are named in the summary.
_NAMED_MAX = 8
_OUTSIDE = ("none", "measured")


@dataclass(frozen=True)
class Wishes:
    ranks: int
    platform: str = ""
    costs: Path | None = None
    skip_bodies: bool = False
    scale: float = 1.0
    overhead_us: float = 0.0
    outside: str = "none"
    other_kinds_us: float | None = None
    workers: int | None = None
    stack_kib: int = 512
    output: Path | None = None
    force: bool = False
    results: Path | None = None
    quiet: bool = False


def simulate(command: list[str], wishes: Wishes) -> int:
    """Returns the program's exit status; 0 only when every rank ended well."""
    with tempfile.TemporaryDirectory(prefix="plait-simulate-") as temporary:
        report = Path(temporary) / "report.json"
        folder = None
        if wishes.output is not None:
            folder = make_run_folder(Place(wishes.output, None, Path(command[0]).name, wishes.force))
        start = prepare(command, wishes, settings(wishes, report), folder)
        ending = supervise(start.command, start.environment)
        if folder is not None and any(folder.glob("rank-*.plt")):
            write_facts(folder, command, start.command, ending)
        if not ending.is_good:
            say(f"{Path(command[0]).name} {ending.in_words()} after {ending.took_s:.3g} s")
            return ending.exit_status
        results = read_report(report, command[0])
    if wishes.results is not None:
        write_text(wishes.results, json.dumps(results, indent=2) + "\n")
    if not wishes.quiet:
        say(summary(results))
    return 0


@dataclass(frozen=True)
class Start:
    command: list[str]
    environment: dict[str, str]


def prepare(command: list[str], wishes: Wishes, wanted: dict[str, Any], folder: Path | None) -> Start:
    """What to start for a simulation with these settings, which are written beside the report."""
    program = find_program(command[0])
    file = Path(wanted["report"]).with_name("settings.json")
    write_text(file, json.dumps(wanted))
    environment = {**os.environ, **preloading(_library(program)), "PLAIT_SIMULATION": str(file)}
    environment |= {"PLAIT_TRACE": str(folder) if folder is not None else ""}
    environment |= {"PLAIT_PROGRESS_BAR": "0"}  # of one rank, where the simulation shows its own
    # Open MPI's files of a process that is alone: several simulations start and end at the same time.
    environment.setdefault("OMPI_MCA_orte_tmpdir_base", str(file.parent))
    if wishes.workers is not None:
        environment["PLAIT_WORKERS"] = str(wishes.workers)
    return Start([program, *command[1:]], environment)


def read_report(report: Path, program: str) -> dict[str, Any]:
    """What the library has simulated."""
    if not report.is_file():
        raise PlaitError(f"{program} ended without a simulation: is it a program of plait?")
    results: dict[str, Any] = json.loads(report.read_text())
    return results


def settings(wishes: Wishes, report: Path) -> dict[str, Any]:
    """What the preloaded library reads (src/plait/simulate/settings.hpp)."""
    if wishes.skip_bodies and wishes.costs is None:
        raise PlaitError(
            "--skip-bodies charges costs in the place of running tasks, and there are none: give them "
            "with --costs",
            status=Status.usage,
        )
    if wishes.outside not in _OUTSIDE:
        raise PlaitError(
            f"--outside {wishes.outside}: it must be {' or '.join(_OUTSIDE)}", status=Status.usage
        )
    found: dict[str, Any] = {
        "ranks": wishes.ranks,
        "skip_bodies": wishes.skip_bodies,
        "scale": wishes.scale,
        "overhead_ns": round(wishes.overhead_us * 1e3),
        "outside": wishes.outside,
        "stack_bytes": wishes.stack_kib * 1024,
        "progress": not wishes.quiet,
        "report": str(report),
    }
    if wishes.other_kinds_us is not None:
        found["other_kinds_ns"] = round(wishes.other_kinds_us * 1e3)
    if wishes.platform:
        found["platform"] = str(platform_file(wishes.platform).resolve())
    if wishes.costs is not None:
        found["kinds"] = costs_of(wishes.costs)
    return found


def costs_of(path: Path) -> dict[str, int]:
    """Nanoseconds by kind: of a recorded run the means, of a JSON file what it has."""
    if path.is_dir():
        return _recorded_costs(path)
    try:
        kinds = json.loads(path.read_text())
    except OSError as error:
        raise PlaitError(f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise PlaitError(f"{path} is not JSON: {error}") from error
    if not isinstance(kinds, dict) or not all(_is_time(time_ns) for time_ns in kinds.values()):
        raise PlaitError(f'{path} has no costs: nanoseconds by kind of task, as in {{"gemm": 3100000}}')
    return {kind: round(time_ns) for kind, time_ns in kinds.items()}


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _recorded_costs(folder: Path) -> dict[str, int]:
    run = read_run(folder)
    means = (
        run.tasks.filter(pl.col("role") == events.ROLE_TASK)
        .group_by("kind")
        .agg((pl.col("end_ns") - pl.col("start_ns")).mean().alias("cost_ns"))
        .sort("kind")
    )
    if means.is_empty():
        raise PlaitError(f"{folder} has no tasks, whose costs are wanted: record a run with plait run")
    return {run.kinds[kind]: round(cost_ns) for kind, cost_ns in means.rows()}


def summary(results: dict[str, Any]) -> str:
    """One sentence on what was simulated, and one on what is not repeated exactly."""
    text = (
        f"{results['ranks']} ranks: {results['simulated_s']:.6g} s simulated in "
        f"{results['real_s']:.3g} s, {results['tasks']} tasks, {results['memory_bytes'] / 2**30:.3g} GiB"
    )
    measured = results["measured"]
    if measured:
        names = ", ".join(sorted(measured)[:_NAMED_MAX]) + (
            ", ..." if len(measured) > _NAMED_MAX else ""
        )
        text += (
            f"\ntasks without a cost were measured here, so that the next run differs a little: {names}"
        )
    return text


def _library(program: str) -> Path:
    """What is preloaded: of the build that the program is from, else of plait's own."""
    for folder in Path(program).resolve().parents:
        if (library := folder / "lib" / "libplait-simulate.so").is_file():
            return library
    linked = _mpi.library_of(program)
    if linked is None:
        raise PlaitError(f"{program} is linked with no MPI: plait simulate runs MPI programs of plait")
    return _build.library_for(_build.SIMULATION, WantedMpi(linked.interface, linked))
