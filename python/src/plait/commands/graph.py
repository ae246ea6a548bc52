# SPDX-License-Identifier: Apache-2.0
"""`plait graph`: draws a run's tasks and what ordered them, as a DOT or SVG file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.markup import escape

from plait._errors import PlaitError
from plait._files import write_text
from plait.measures.graph_choice import Choice
from plait.measures.path_sentence import path_sentence
from plait.readers.plait import read_run
from plait.report.analysis import Analysis, analyse
from plait.report.graphs import Drawing, draw_kinds, draw_tasks
from plait.report.graphviz import MISSING, has_dot, render_svg

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


@dataclass(frozen=True)
class Wishes:
    by: str
    step: int | None
    ranks: tuple[int, ...]
    between: str | None
    around: str | None
    distance: int | None
    most: int
    each: bool


def graph(folder: Path, output: Path, wishes: Wishes) -> None:
    if output.suffix not in (".dot", ".gv", ".svg"):
        raise PlaitError(f"{output}: choose a name that ends in .dot or .svg")
    if output.suffix == ".svg" and not has_dot():
        raise PlaitError(MISSING + f"; {output.with_suffix('.dot')} can be written without it")
    if wishes.by not in ("kind", "task"):
        raise PlaitError(f"--by {wishes.by}: choose kind or task")
    console = Console(highlight=False, soft_wrap=True)
    with console.status(f"reading {folder}"):
        analysis = analyse(read_run(folder), folder, None)
    if not analysis.run.tasks.height:
        raise PlaitError(f"{folder} has no tasks: there is no graph to draw")
    with console.status("drawing"):
        drawing = _draw(analysis, wishes)
        _write(output, drawing)
    console.print(f"{escape(drawing.title)}: wrote {escape(str(output))}")
    if drawing.step is not None:
        path = analysis.paths.filter(pl.col("step") == drawing.step)
        console.print(escape(path_sentence(path, analysis.run.kinds)))
    if not analysis.run.graph_tasks.height:
        console.print(
            "[yellow]note:[/] this trace is older than graphs in traces, or its tasks are in "
            "none: of each task's dependencies only the last is known"
        )


def _draw(analysis: Analysis, wishes: Wishes) -> Drawing:
    known = analysis.steps["step"].to_list()
    if wishes.step is not None and wishes.step not in known:
        raise PlaitError(
            f"there is no step {wishes.step} in this run; it has steps {known[0]} to {known[-1]}"
        )
    if wishes.by == "kind":
        return draw_kinds(analysis, wishes.step)
    step = wishes.step if wishes.step is not None else analysis.typical_step()
    assert step is not None  # there are tasks
    begin, end = _stretch(wishes.between)
    choice = Choice(
        ranks=wishes.ranks,
        from_ns=begin,
        until_ns=end,
        around=_task(wishes.around),
        distance=wishes.distance,
        most=wishes.most,
    )
    return draw_tasks(analysis, step, choice, folded=not wishes.each)


def _write(output: Path, drawing: Drawing) -> None:
    if output.suffix != ".svg":
        write_text(output, drawing.dot)
        return
    svg = render_svg(drawing.dot)
    if svg is None:
        raise PlaitError(
            "Graphviz takes more than a minute for this graph; choose fewer tasks with --most, or "
            "write a DOT file"
        )
    write_text(output, svg)


def _stretch(text: str | None) -> tuple[int | None, int | None]:
    """ "2ms-3.5ms": times since the step's start; either may be left out."""
    if text is None:
        return None, None
    found = re.fullmatch(r"\s*(\S*?)\s*-\s*(\S*?)\s*", text)
    if not found:
        raise PlaitError(f"--between {text}: give two times since the step's start, such as 1.5ms-4ms")
    return _time(found[1]), _time(found[2])


def _time(text: str) -> int | None:
    if not text:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s)", text)
    if not found:
        raise PlaitError(f"{text} is no time; give it with its unit, such as 250us, 1.5ms or 2s")
    return round(float(found[1]) * _UNITS[found[2]])


def _task(text: str | None) -> tuple[int, int] | None:
    """ "0:123": a rank and a task's number; None is the critical path."""
    if text is None or text == "path":
        return None
    found = re.fullmatch(r"(\d+):(\d+)", text)
    if not found:
        raise PlaitError(
            f"--around {text}: give path, or a rank and the number of a task there, such as 0:123"
        )
    return int(found[1]), int(found[2])
