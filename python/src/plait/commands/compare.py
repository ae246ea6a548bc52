# SPDX-License-Identifier: Apache-2.0
"""`plait report --compare A B`: two runs side by side, printed and as a page."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plait._files import make_folder, write_json, write_text
from plait.commands._memory import require_memory
from plait.commands._part import is_profile
from plait.commands.report import require_whole
from plait.readers.plait import read_run
from plait.report.analysis import Analysis, analyse
from plait.report.compare import Comparison, Row, Section, compare
from plait.report.compare_page import build_comparison, change_text

_WARNINGS_MAX = 8
_PRINTED_MAX = 12


def compare_runs(
    a: Path,
    b: Path,
    *,
    output: Path | None,
    step: int | None,
    open_page: bool,
    results: Path | None = None,
    window: int | None = None,
) -> None:
    """`results`: also write the numbers there, as JSON. `window`: compare this window of "
    "two profiles."""
    console = Console(highlight=False, soft_wrap=True)
    analyses: list[Analysis] = []
    for folder in (a, b):
        require_memory(folder, is_part=window is not None or is_profile(folder))
        with console.status(f"reading {folder}"):
            analyses.append(analyse(read_run(folder, window=window), folder, step))
    comparison = compare(*analyses)
    for warning in comparison.warnings[:_WARNINGS_MAX]:
        console.print(f"[yellow]note:[/] {escape(warning)}")
    if len(comparison.warnings) > _WARNINGS_MAX:
        console.print(
            f"[yellow]note:[/] and {len(comparison.warnings) - _WARNINGS_MAX} more, on the page"
        )
    console.print(f"[bold]{escape(comparison.sentence)}[/]")
    for reason in comparison.reasons:
        console.print(f"  {escape(reason)}")
    _print(console, comparison.whole, len(comparison.whole.rows))
    for section in comparison.sections[:2]:
        _print(console, section, _PRINTED_MAX)
    page = (output or b / "compare") / "compare.html"
    make_folder(page.parent)
    write_text(page, build_comparison(comparison))
    console.print(f"wrote {escape(str(page))}")
    if results is not None:
        write_json(results, _document(comparison, step, window, page))
    if open_page:
        webbrowser.open(page.resolve().as_uri())
    require_whole(*analyses)


def _print(console: Console, section: Section, most: int) -> None:
    table = Table(title=section.title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in ("A", "B", "change"):
        table.add_column(name, justify="right")
    for row in section.rows[:most]:
        table.add_row(escape(row.name), _text(row, row.a), _text(row, row.b), _change(row))
    if len(section.rows) > most:
        table.add_row(f"and {len(section.rows) - most} more, on the page", "", "", "")
    console.print()
    console.print(table)


def _text(row: Row, value: float | None) -> str:
    return "–" if value is None else row.unit.format(value)


def _change(row: Row) -> str:
    colour = {True: "green", False: "red", None: "default"}[row.is_better]
    return f"[{colour}]{escape(change_text(row))}[/]"


def _document(
    comparison: Comparison, step: int | None, window: int | None, page: Path
) -> dict[str, Any]:
    """docs/reference/command-line.md describes it."""
    return {
        "a": str(comparison.a.folder),
        "b": str(comparison.b.folder),
        "step": step,
        "window": window,
        "sentence": comparison.sentence,
        "reasons": comparison.reasons,
        "warnings": comparison.warnings,
        "sections": [
            {"name": one.name, "title": one.title, "rows": [_row(row) for row in one.rows]}
            for one in (comparison.whole, *comparison.sections)
        ],
        "page": str(page),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        **{"name": row.name, "a": row.a, "b": row.b, "unit": row.unit.value},
        **{"change": row.change, "is_better": row.is_better},
    }
