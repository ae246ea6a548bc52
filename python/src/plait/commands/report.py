# SPDX-License-Identifier: Apache-2.0
"""`plait report`: reads a run, writes the page, the pictures and the Perfetto file."""

from __future__ import annotations

import webbrowser
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console
from rich.markup import escape

from plait._errors import PlaitError
from plait._files import write_json
from plait._units import format_count, format_time
from plait.commands._memory import require_memory
from plait.commands._part import is_profile
from plait.measures.critical_path import WHAT
from plait.measures.findings import describe_messages
from plait.measures.loss_sentences import heading, largest_losses
from plait.measures.path_sentence import path_parts, path_sentence
from plait.measures.ranks import rank_table
from plait.readers.plait import read_run
from plait.report.analysis import Analysis, analyse
from plait.report.graphviz import MISSING, has_dot
from plait.report.summary import find_all_call_losses, find_all_losses, loss_records, summarise

if TYPE_CHECKING:
    from plait.report.write import Written

_NOTICES_MAX = 6


def report(
    folder: Path,
    *,
    output: Path | None,
    perfetto: Path | None,
    step: int | None,
    open_page: bool,
    results: Path | None = None,
    window: int | None = None,
    ranks: Collection[int] | None = None,
) -> None:
    """`results`: also write what is printed there, as JSON. `ranks`: read these only. `window`: report
    on this window of a profile."""
    console = Console(highlight=False, soft_wrap=True)
    require_memory(folder, ranks=ranks, is_part=window is not None or is_profile(folder))
    with console.status(f"reading {folder}"):
        run = read_run(folder, window=window, ranks=ranks)
        analysis = analyse(run, folder, step)
    notices = analysis.run.notices
    for notice in notices[:_NOTICES_MAX]:
        console.print(f"[yellow]note:[/] {escape(notice)}")
    if len(notices) > _NOTICES_MAX:
        console.print(f"[yellow]note:[/] and {len(notices) - _NOTICES_MAX} more, on the page")
    # Loaded here: what draws takes as long to load as a run of a million events does to be read.
    drawing = import_module("plait.report.write")
    with console.status("drawing"):
        written: Written = drawing.write_report(analysis, output or folder / _page_folder(window))
    _print(console, analysis)
    console.print(f"wrote {escape(str(written.page))} and {len(written.pictures)} pictures beside it")
    if perfetto is not None:
        import_module("plait.export.perfetto").write_perfetto(analysis.run, analysis.matched, perfetto)
        console.print(f"wrote {escape(str(perfetto))}; open it in ui.perfetto.dev")
    if results is not None:
        write_json(results, _document(analysis, written, perfetto, window))
    if open_page:
        webbrowser.open(written.page.resolve().as_uri())
    require_whole(analysis)


def _print(console: Console, analysis: Analysis) -> None:
    """What the run is, and where its time went."""
    facts = [
        format_time(analysis.total_ns),
        format_count(len(analysis.run.ranks_present), "rank"),
        format_count(analysis.steps.height, "step"),
        describe_messages(analysis.run),
    ]
    console.print(", ".join(facts))
    named = largest_losses(analysis.run, analysis.losses)
    if named:
        console.print(f"[bold]{heading(analysis.losses)}[/]")
    for text in named:
        console.print(f"  {escape(text)}")
    for rank, share in analysis.ranks.select("rank", "idle_share").head(16).iter_rows():
        console.print(f"  rank {rank}: {100 * share:.1f} % idle")
    for sentence in find_all_call_losses(analysis):
        console.print(f"  {escape(sentence)}")
    for sentence in _task_sentences(analysis):
        console.print(escape(sentence))
    if not has_dot():
        console.print(f"[yellow]note:[/] {MISSING}")


def require_whole(*analyses: Analysis) -> None:
    """Raises PlaitError, so that scripts notice it, where files of ranks could not be read."""
    for analysis in analyses:
        if names := analysis.run.unusable:
            shown = ", ".join(names[:_NOTICES_MAX]) + (", ..." if len(names) > _NOTICES_MAX else "")
            raise PlaitError(
                f"{analysis.folder}: {shown} cannot be read (see the notes); what was written is of the "
                "other ranks"
            )


def _page_folder(window: int | None) -> str:
    return "report" if window is None else f"report-window-{window}"


def _task_sentences(analysis: Analysis) -> list[str]:
    """What limits the slowest step, and what would gain most."""
    sentences = []
    path = _slowest_path(analysis)
    if path.height:
        sentences.append(path_sentence(path, analysis.run.kinds) + " It was the slowest step.")
    if analysis.gains is not None and analysis.gains.sentence:
        sentences.append(analysis.gains.sentence)
    return sentences


def _slowest_path(analysis: Analysis) -> pl.DataFrame:
    """The critical path of the slowest step; empty where there is none."""
    step = analysis.slowest_step()
    return analysis.paths.clear() if step is None else analysis.paths.filter(pl.col("step") == step)


def _document(
    analysis: Analysis, written: Written, perfetto: Path | None, window: int | None
) -> dict[str, Any]:
    """docs/reference/command-line.md describes it."""
    run = analysis.run
    ranks = rank_table(run, analysis.traffic.balance, analysis.ranks, analysis.calls.by_rank)
    return {
        "run": str(analysis.folder),
        "step": analysis.only_step,
        "window": window,
        "program": run.meta.get("program"),
        "command": run.meta.get("command"),
        "notices": list(run.notices),
        "summary": {quantity.name: quantity.value for quantity in summarise(analysis)},
        "ranks": ranks.to_dicts(),
        "losses": loss_records(analysis),
        "findings": find_all_losses(analysis),
        "slowest_step": _slowest_step(analysis),
        "gains": [
            {"what": what, "gain": gain}
            for what, gain in (analysis.gains.gains if analysis.gains is not None else ())
        ],
        "page": str(written.page),
        "pictures": [str(picture) for picture in written.pictures],
        "perfetto": None if perfetto is None else str(perfetto),
    }


def _slowest_step(analysis: Analysis) -> dict[str, Any] | None:
    step, path = analysis.slowest_step(), _slowest_path(analysis)
    if step is None:
        return None
    length = analysis.steps.filter(pl.col("step") == step)["length_ns"].item()
    parts = [
        {
            "what": WHAT[what],
            "task": analysis.run.kinds[kind] if kind >= 0 else None,
            "rank": rank if rank >= 0 else None,
            "count": count,
            "time_ns": time,
        }
        for kind, rank, what, count, time in path_parts(path)
        .select("kind", "rank", "what", "count", "time_ns")
        .iter_rows()
    ]
    return {"step": step, "length_ns": length, "critical_path": parts}
