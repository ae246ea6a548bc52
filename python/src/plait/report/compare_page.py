# SPDX-License-Identifier: Apache-2.0
"""The page that holds two runs side by side: one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from plait.report.analysis import Analysis
from plait.report.compare import Comparison, Row, Section
from plait.report.compare_curves import COLOURS, in_flight_curves, rate_curves
from plait.report.html import figure, legend
from plait.report.summary import Unit

_STYLE = """
svg.curves { display: block; width: 100%; height: auto; }
svg.curves line { stroke: var(--grid); } svg.curves text { fill: var(--soft); font-size: 13px; }
.good { color: #1a7f4b; } .bad { color: #c0392b; } .same { color: var(--soft); }
@media (prefers-color-scheme: dark) { .good { color: #5fd09a; } .bad { color: #ff8c7a; } }
td.change { white-space: nowrap; font-weight: 600; }
td.bars { width: 26%; min-width: 140px; }
.middle { position: relative; height: 13px; border-left: 1px solid var(--axis); margin-left: 50%; }
.middle div { position: absolute; top: 1px; height: 11px; border-radius: 2px; }
.names td { text-align: left; }
"""
_BETTER, _WORSE, _OTHER = "#2a9d63", "#d1543f", "#8a97a5"
_SHOWN_MAX = 30
_WARNINGS_MAX = 20


def build_comparison(comparison: Comparison) -> str:
    style = (resources.files("plait.report") / "assets" / "style.css").read_text(encoding="utf-8")
    runs = (comparison.a, comparison.b)
    parts = [
        "<h1>Two runs side by side</h1>",
        _names(runs),
        f'<div class="findings"><p class="sentence">{escape(comparison.sentence)}</p>'
        f"{_list(comparison.reasons)}</div>",
        _warnings(comparison.warnings),
        _section(comparison.whole, runs),
        *(_section(section, runs) for section in comparison.sections),
        *_curves(runs),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(_name(runs[0]))} and {escape(_name(runs[1]))} – plait report</title>\n"
        f'<link rel="icon" href="data:,">\n<style>\n{style}{_STYLE}</style>\n</head>\n<body>\n<main>\n'
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _name(analysis: Analysis) -> str:
    return analysis.folder.resolve().name


def _names(runs: Sequence[Analysis]) -> str:
    rows = []
    for letter, colour, analysis in zip("AB", COLOURS, runs, strict=True):
        meta = analysis.run.meta
        command = meta.get("command")
        words = " ".join(str(word) for word in command) if isinstance(command, list) else ""
        facts = " · ".join(
            str(fact) for fact in (meta.get("started"), meta.get("mpi"), meta.get("revision")) if fact
        )
        rows.append(
            f'<tr><td><i style="background:{colour}"></i><b>{letter}</b></td>'
            f"<td>{escape(str(analysis.folder))}</td><td><code>{escape(words)}</code></td>"
            f"<td>{escape(facts)}</td></tr>"
        )
    return f'<figure data-plain><table class="names">{"".join(rows)}</table></figure>'


def _list(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    more = len(warnings) - _WARNINGS_MAX
    shown = [*warnings[:_WARNINGS_MAX], *([f"and {more} more"] if more > 0 else [])]
    return f'<div class="notice"><b>Read this first</b>{_list(shown)}</div>'


def _section(section: Section, runs: Sequence[Analysis]) -> str:
    largest = max((abs(row.difference) for row in section.rows), default=0.0)
    is_alike = len({row.unit for row in section.rows}) == 1
    rows = [_row(row, largest if is_alike else 0.0) for row in section.rows]
    has_counts = any(row.counts for row in section.rows)
    counts = "<th>count, A</th><th>B</th>" if has_counts else ""
    bars = "<th></th>" if is_alike else ""
    head = f"<tr><th></th><th>A</th><th>B</th><th>change</th>{bars}{counts}</tr>"

    def table(some: Sequence[str]) -> str:
        return f'<div class="wide"><table><thead>{head}</thead>{"".join(some)}</table></div>'

    inside = table(rows[:_SHOWN_MAX])
    if len(rows) > _SHOWN_MAX:
        inside += f"<details><summary>{len(rows) - _SHOWN_MAX} more</summary>"
        inside += f"{table(rows[_SHOWN_MAX:])}</details>"
    return figure(section.name, escape(section.title), escape(section.text), inside, plain=True)


def _row(row: Row, largest: float) -> str:
    cells = [
        f"<td>{escape(row.name)}</td>",
        *(
            f"<td>{'–' if value is None else escape(row.unit.format(value))}</td>"
            for value in (row.a, row.b)
        ),
        f'<td class="change {_class(row)}">{escape(change_text(row))}</td>',
    ]
    if largest > 0:
        width = 100 * abs(row.difference) / largest
        side = "left:0" if row.difference > 0 else f"left:-{width:.1f}%"
        colour = _BETTER if row.is_better else _OTHER if row.is_better is None else _WORSE
        bar = f'<div style="{side};width:{width:.1f}%;background:{colour}"></div>'
        cells.append(f'<td class="bars"><div class="middle">{bar}</div></td>')
    if row.counts is not None:
        cells += [f"<td>{count:,}</td>" if count else "<td>–</td>" for count in row.counts]
    return f"<tr>{''.join(cells)}</tr>"


def _class(row: Row) -> str:
    return {True: "good", False: "bad", None: "same"}[row.is_better]


def change_text(row: Row) -> str:
    """With an arrow: ▼ −12 %; shares by their difference in points."""
    if not row.difference:
        return "="
    arrow = "▲" if row.difference > 0 else "▼"
    if row.a is None:
        return "only in B"
    if row.b is None:
        return "only in A"
    if row.unit is Unit.SHARE:
        return f"{arrow} {100 * row.difference:+.1f} points".replace("-", "−")
    if row.change is None:
        return arrow
    if row.change >= 1.0:
        return f"{arrow} {row.change + 1.0:.3g} times"
    percent = 100 * row.change
    return f"{arrow} {percent:+.1f} %".replace("-", "−") if abs(percent) >= 0.05 else "="


def _curves(runs: Sequence[Analysis]) -> list[str]:
    named = [
        (colour, f"{letter}: {_name(analysis)}")
        for letter, colour, analysis in zip("AB", COLOURS, runs, strict=True)
    ]
    sections = []
    for name, title, text, drawn in (
        (
            "in-flight",
            "Data in flight",
            "Bytes that some rank had posted for sending and whose receiver was not yet notified, of "
            "all ranks together; the most in each of 400 bins. Both runs begin at the left.",
            in_flight_curves(runs),
        ),
        (
            "rate",
            "Data rate",
            "Bytes a second that arrived at all ranks together; each message's are spread evenly over "
            "the time from when both sides had posted it until all of it had arrived.",
            rate_curves(runs),
        ),
    ):
        if drawn is not None:
            sections.append(figure(name, title, text, legend(named) + drawn, plain=True))
    return sections
