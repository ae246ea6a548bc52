# SPDX-License-Identifier: Apache-2.0
"""Writes a report: the page, and each figure as a PNG file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from plait._files import make_folder, write_file, write_text
from plait.measures.graph_choice import Choice
from plait.plots.saving import PictureSaver
from plait.report.analysis import Analysis
from plait.report.figures import draw_figures
from plait.report.graphs import draw_kinds, draw_tasks
from plait.report.graphviz import render_svg
from plait.report.lanes import make_lanes
from plait.report.outputs import draw_outputs
from plait.report.page import build_page
from plait.report.page_graphs import KINDS_TEXT, TASKS_TEXT, graph_section
from plait.report.payload import make_payload
from plait.report.tables import write_tables


@dataclass(frozen=True)
class Written:
    page: Path
    pictures: list[Path]


def write_report(analysis: Analysis, output: Path) -> Written:
    """Writes into `output` only, which is made when it is not there."""
    make_folder(output)
    outputs = list(draw_outputs(analysis.folder, analysis.run, analysis.matched))
    page = output / "report.html"
    with PictureSaver(analysis.run.event_count) as saver, ThreadPoolExecutor(1) as beside:
        lanes = make_lanes(analysis.run)
        payload = beside.submit(make_payload, analysis, lanes)  # numpy and zlib let both threads run
        figures = [
            _save(saver, output / f"{name}.png", figure)
            for name, figure in draw_figures(analysis, lanes)
        ]
        graphs, pictures = _write_graphs(analysis, output)
        write_text(page, build_page(analysis, payload.result(), outputs, graphs))
        write_tables(analysis, output)
    pictures += figures
    for picture in outputs:
        path = output / f"{picture.name}.png"
        write_file(path, picture.write_to)
        pictures.append(path)
    return Written(page, pictures)


def _write_graphs(analysis: Analysis, output: Path) -> tuple[list[str], list[Path]]:
    """Their sections of the page; the files of the pictures."""
    step = analysis.typical_step()
    if step is None or not analysis.run.tasks.height:
        return [], []
    kinds = draw_kinds(analysis)
    tasks = draw_tasks(analysis, step, Choice())
    sections, pictures = [], []
    for name, drawing, text in (("graph-kinds", kinds, KINDS_TEXT), ("graph-tasks", tasks, TASKS_TEXT)):
        write_text(output / f"{name}.dot", drawing.dot)
        svg = render_svg(drawing.dot)
        if svg is not None:
            write_text(output / f"{name}.svg", svg)
            pictures.append(output / f"{name}.svg")
        sections.append(graph_section(name, drawing.title, text, svg))
    return sections, pictures


def _save(saver: PictureSaver, path: Path, figure: Figure) -> Path:
    saver.save(path, figure)
    return path
