# SPDX-License-Identifier: Apache-2.0
"""`plait report`: reads a run, writes the page, the pictures and the Perfetto file."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.markup import escape

from plait._units import format_count, format_time
from plait.export.perfetto import write_perfetto
from plait.measures.call_findings import find_call_losses
from plait.measures.findings import describe_messages
from plait.measures.path_sentence import path_sentence
from plait.readers.plait import read_run
from plait.report.analysis import analyse
from plait.report.graphviz import MISSING, has_dot
from plait.report.write import write_report

_NOTICES_MAX = 6


def report(
    folder: Path, *, output: Path | None, perfetto: Path | None, step: int | None, open_page: bool
) -> None:
    console = Console(highlight=False, soft_wrap=True)
    with console.status(f"reading {folder}"):
        run = read_run(folder)
        analysis = analyse(run, folder, step)
    notices = analysis.run.notices
    for notice in notices[:_NOTICES_MAX]:
        console.print(f"[yellow]note:[/] {escape(notice)}")
    if len(notices) > _NOTICES_MAX:
        console.print(f"[yellow]note:[/] and {len(notices) - _NOTICES_MAX} more, on the page")
    with console.status("drawing"):
        written = write_report(analysis, output or folder / "report")
    facts = [
        format_time(analysis.total_ns),
        format_count(len(run.ranks_present), "rank"),
        format_count(analysis.steps.height, "step"),
        describe_messages(analysis.run),
    ]
    console.print(", ".join(facts))
    for rank, share in analysis.ranks.select("rank", "idle_share").head(16).iter_rows():
        console.print(f"  rank {rank}: {100 * share:.1f} % idle")
    for sentence in find_call_losses(analysis.run, analysis.calls, analysis.traffic.balance):
        console.print(f"  {escape(sentence)}")
    slowest = analysis.slowest_step()
    if slowest is not None and analysis.paths.height:
        path = analysis.paths.filter(pl.col("step") == slowest)
        console.print(escape(path_sentence(path, analysis.run.kinds)) + " It was the slowest step.")
    if not has_dot():
        console.print(f"[yellow]note:[/] {MISSING}")
    console.print(f"wrote {escape(str(written.page))} and {len(written.pictures)} pictures beside it")
    if perfetto is not None:
        write_perfetto(analysis.run, analysis.matched, perfetto)
        console.print(f"wrote {escape(str(perfetto))}; open it in ui.perfetto.dev")
    if open_page:
        webbrowser.open(written.page.resolve().as_uri())
