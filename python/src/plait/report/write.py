# SPDX-License-Identifier: Apache-2.0
"""Writes a report: the page, and each figure as a PNG file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from plait._files import make_folder, write_file, write_text
from plait.plots import bodies, messages, phases, style, timeline
from plait.plots import critical_path as path_plot
from plait.readers.snapshots import first_and_last
from plait.report.analysis import Analysis
from plait.report.lanes import make_lanes
from plait.report.page import build_page
from plait.report.payload import make_payload


@dataclass(frozen=True)
class Written:
    page: Path
    pictures: list[Path]


def write_report(analysis: Analysis, output: Path) -> Written:
    """Writes into `output` only, which is made when it is not there."""
    make_folder(output)
    bodies_png = _bodies(analysis)
    page = output / "report.html"
    write_text(page, build_page(analysis, make_payload(analysis), bodies_png))
    pictures = []
    for name, draw in _figures(analysis).items():
        with style.context():
            figure = draw()
        if figure is not None:
            pictures.append(_save(output / f"{name}.png", figure))
    if bodies_png is not None:
        picture = output / "bodies.png"
        write_file(picture, lambda file: file.write(bodies_png))
        pictures.append(picture)
    return Written(page, pictures)


def _figures(analysis: Analysis) -> dict[str, Callable[[], Figure | None]]:
    run = analysis.run
    lanes = make_lanes(run)
    drawn: dict[str, Callable[[], Figure | None]] = {
        f"tasks-rank-{rank:04d}": partial(timeline.plot_rank, run, lanes, analysis, rank)
        for rank in run.ranks_present[: timeline.RANKS_MAX]
    }
    drawn |= {
        "in-flight": partial(messages.plot_in_flight, analysis),
        "data-rate": partial(messages.plot_rate, analysis),
        "send-receive": partial(messages.plot_scatter, analysis),
        "phases": partial(phases.plot_phases, analysis),
        "critical-path": partial(path_plot.plot_path, analysis, lanes),
        "poll-gaps": partial(phases.plot_gaps, analysis),
        "counters": partial(phases.plot_counters, analysis),
    }
    return drawn


def _bodies(analysis: Analysis) -> bytes | None:
    snapshots = first_and_last(analysis.folder)
    if not snapshots:
        return None
    buffer = BytesIO()
    with style.context():
        style.save(bodies.plot_bodies(snapshots), buffer)
    return buffer.getvalue()


def _save(path: Path, figure: Figure) -> Path:
    write_file(path, lambda file: style.save(figure, file))
    return path
