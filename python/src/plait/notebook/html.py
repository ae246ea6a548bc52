# SPDX-License-Identifier: Apache-2.0
"""A run as the last line of a cell shows it."""

from __future__ import annotations

from html import escape
from pathlib import Path

from plait._events import Run
from plait._units import format_count
from plait.report.analysis import Analysis
from plait.report.summary import summarise

_NOTICES_MAX = 3
_CELL = "text-align: left; padding: 1px 1.4em 1px 0; border: none; background: none"
_SOFT = "opacity: 0.7; font-size: 90%"


class Sentences(list[str]):
    """Texts that notebooks show as a list."""

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in self)}</ul>"


def describe(folder: Path, run: Run, step: int | None, analysis: Analysis | None) -> str:
    """`analysis`: None where nothing was recorded. In the colours of the notebook, light or dark."""
    name = str(run.meta.get("program") or folder.name)
    which = f", step {step}" if step is not None else ""
    command = run.meta.get("command")
    words = " ".join(map(str, command)) if isinstance(command, list) else str(folder)
    notices = analysis.run.notices if analysis is not None else run.notices
    return (
        f'<div style="line-height: 1.5"><b style="font-size: 115%">{escape(name)}</b>{which}'
        f'<div style="{_SOFT}; font-family: monospace">{escape(words)}</div>'
        f"{_numbers(analysis) if analysis is not None else ''}{_tables(run)}{_list(notices)}</div>"
    )


def _numbers(analysis: Analysis) -> str:
    found = [q for q in summarise(analysis) if q.value is not None]
    half = -(-len(found) // 2)
    rows = []
    for left, right in zip(found[:half], [*found[half:], None], strict=False):
        cells = "".join(
            f'<td style="{_CELL}">{escape(q.text)}</td><td style="{_CELL}"><b>{escape(str(q))}</b></td>'
            for q in (left, right)
            if q is not None
        )
        rows.append(f'<tr style="background: none">{cells}</tr>')
    return f'<table style="margin: 0.4em 0; border: none">{"".join(rows)}</table>'


def _tables(run: Run) -> str:
    counts = (
        (run.tasks.height, "task"),
        (run.calls.height, "call"),
        (run.messages.height, "side of messages"),
        (run.spans.height, "span"),
        (run.gaps.height, "poll gap"),
        (run.counters.height, "counter value"),
    )
    shown = [_count(count, noun) for count, noun in counts if count]
    return f'<div style="{_SOFT}">recorded: {", ".join(shown) or "nothing"}</div>'


def _count(count: int, noun: str) -> str:
    if noun == "side of messages":
        return f"{count:,} {'side' if count == 1 else 'sides'} of messages"
    return format_count(count, noun)


def _list(notices: tuple[str, ...]) -> str:
    if not notices:
        return ""
    more = len(notices) - _NOTICES_MAX
    shown = [*notices[:_NOTICES_MAX], *([f"and {more} more: .notices"] if more > 0 else [])]
    return "".join(f'<div style="{_SOFT}">⚠ {escape(notice)}</div>' for notice in shown)
