# SPDX-License-Identifier: Apache-2.0
"""Sections of the page about computing: functions by samples, and what counters counted in regions."""

from __future__ import annotations

from html import escape

import polars as pl

from plait._function_names import brief
from plait._units import format_count, format_share, format_time
from plait.measures.counted import counted
from plait.measures.samples import Box, SampleMeasures, call_tree, deepest
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.bars import bar
from plait.report.html import figure, legend, table

_ROWS_MAX = 20
_PLACES_MAX = 12
_IN_PLACE_MAX = 3
_MODULES_MAX = 8
_ROW_PIXELS = 20
#: Narrower boxes, as a share of all, cannot be seen.
_NARROWEST = 0.001


def computing_section(analysis: Analysis) -> str:
    measures = analysis.samples
    computing = measures.computing
    if not computing.height:
        return ""
    lost = f" {format_count(measures.lost, 'sample')} were lost." if measures.lost else ""
    inside = _tree(analysis, computing) + "<br>" + _functions(measures) + _places(analysis)
    has_waits = analysis.run.calls.height > 0
    waited = (
        " <b>Waited for</b>: meanwhile, another rank waited in a call for this one. To make that faster "
        "helps the run."
    )
    return figure(
        "computing",
        f"What was computed between calls: {_headline(measures)}",
        f"{format_count(computing.height, 'sample')} outside of calls of MPI, one for each "
        f"{format_time(measures.interval_ns)} of a thread's processor time.{lost} A box is a "
        "function, as wide as the time in it and in what it calls; below it is what it calls, above it "
        f"who calls it. Point at a box for numbers, click to widen it.{waited if has_waits else ''}",
        f'<div class="plot">{inside}</div>',
        plain=True,
    )


def _headline(measures: SampleMeasures) -> str:
    name, share = measures.by_function.select("function", "self_share").row(0)
    return f"{format_share(share, 1)} in {escape(brief(name))}"


def _cell(function: str) -> str:
    return f'<span title="{escape(function, quote=True)}">{escape(brief(function))}</span>'


def _tree(analysis: Analysis, computing: pl.DataFrame) -> str:
    boxes = call_tree(analysis.run, computing, _NARROWEST)
    colours = palette.module_colours(box.module for box in boxes)
    whole, interval = computing.height, analysis.samples.interval_ns
    shapes = "".join(_shape(box, colours[box.module], whole, interval) for box in boxes)
    height = (deepest(boxes) + 1) * _ROW_PIXELS
    shown = [(colour, module) for module, colour in list(colours.items())[:_MODULES_MAX]]
    return legend(shown) + f'<div class="icicle" style="height:{height}px">{shapes}</div>'


def _shape(box: Box, colour: str, whole: int, interval_ns: float) -> str:
    tip = "\n".join(
        [
            f"{box.function}  ({box.module})",
            f"with what it calls: {format_time(box.width * interval_ns)}, "
            f"{format_share(box.width, whole)}",
            f"itself: {format_time(box.own * interval_ns)}, {format_share(box.own, whole)}",
            f"waited for: {format_share(box.waited, box.width)} of that",
        ]
    )
    tip = escape(tip, quote=True).replace("\n", "&#10;")
    left, width = 100 * box.left / whole, 100 * box.width / whole
    return (
        f'<div data-tip="{tip}" data-left="{left:.4f}" data-width="{width:.4f}" style="'
        f'top:{box.depth * _ROW_PIXELS}px;left:{left:.4f}%;width:{width:.4f}%;background:{colour}">'
        f"{escape(box.function)}</div>"
    )


def _functions(measures: SampleMeasures) -> str:
    found = measures.by_function
    most = max(1e-9, float(found["total_ns"].to_numpy().max()))
    colours = [palette.SAMPLED, palette.SAMPLED_CALLEES]
    rows = [
        [
            _cell(row["function"]),
            bar([row["self_ns"] / most, (row["total_ns"] - row["self_ns"]) / most], colours),
            format_time(row["self_ns"]),
            f"{100 * row['self_share']:.1f} %",
            format_time(row["total_ns"]),
            format_share(row["waited_ns"], row["self_ns"]) if row["self_ns"] else "–",
        ]
        for row in found.head(_ROWS_MAX).iter_rows(named=True)
    ]
    more = f" (the first {_ROWS_MAX} of {found.height})" if found.height > _ROWS_MAX else ""
    heads = ("function", "", "itself", "share", "with what it calls", "waited for")
    return table(f"Functions{more}", heads, rows)


def _places(analysis: Analysis) -> str:
    measures = analysis.samples
    return _by_place("In each kind of task", "task", measures.by_task) + _by_place(
        "In each region", "region", measures.by_region
    )


def _by_place(title: str, place: str, found: pl.DataFrame) -> str:
    rows = []
    for (name,), own in list(found.group_by(place, maintain_order=True))[:_PLACES_MAX]:
        time = float(own["self_ns"].sum())
        top = own.head(_IN_PLACE_MAX).select("function", "share").iter_rows()
        functions = ", ".join(f"{_cell(function)} {100 * share:.0f} %" for function, share in top)
        rows.append([escape(str(name)), format_time(time), f'<span class="left">{functions}</span>'])
    return "<br>" + table(title, (place, "computing", "functions"), rows) if rows else ""


_HEADS = {
    "instructions_a_cycle": "instructions a cycle",
    "misses_a_thousand": "misses of 1000 instructions",
    "task-clock": "task-clock (processor time)",
}


def counters_section(analysis: Analysis) -> str:
    found = counted(analysis.run)
    if not found.height:
        return ""
    shown = "".join(
        _counted_table(title, place, found.filter(pl.col("of") == place))
        for title, place in (("By kind of task", "task"), ("By region", "region"))
    )
    return figure(
        "counted",
        "What was counted in tasks and regions",
        "Sums over all ranks and threads. A region counts what the regions and tasks inside it do on "
        "its thread, too. Few instructions a cycle with many misses: it waits for memory.",
        f'<div class="plot">{shown}</div>',
        plain=True,
    )


def _counted_table(title: str, place: str, found: pl.DataFrame) -> str:
    if not found.height:
        return ""
    columns = [name for name in found.columns if name not in ("of", "name", "count", "time_ns")]
    rows = [
        [
            escape(row["name"]),
            f"{row['count']:,}",
            format_time(row["time_ns"]),
            *(_counted(name, row[name]) for name in columns),
        ]
        for row in found.head(_ROWS_MAX).iter_rows(named=True)
    ]
    heads = (place, "times", "time", *(_HEADS.get(name, name) for name in columns))
    return table(title, heads, rows)


def _counted(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name == "task-clock":
        return format_time(value)
    return f"{value:.2f}" if name in _HEADS else f"{int(value):,}"
