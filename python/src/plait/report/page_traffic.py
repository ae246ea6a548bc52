# SPDX-License-Identifier: Apache-2.0
"""Sections of the page about who gives how much to whom, in messages of which sizes, and the balance."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait._units import format_bytes, format_share, format_time
from plait.measures.balancings import balancings
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.bars import columns
from plait.report.html import figure, table
from plait.report.payload import Payload

#: Sizes named below the columns of a histogram.
_MARKS_MAX = 9
#: Matrices of more rows than this are worth zooming.
_ZOOM_MIN = 64
#: Lines of the table of balancings.
_BALANCINGS_MAX = 50


def matrix_section(analysis: Analysis, payload: Payload) -> str:
    matrix = payload.data["matrix"]
    if matrix is None:
        return ""
    each = matrix["each"]
    grouped = f" Each cell is {each} by {each} ranks." if each > 1 else ""
    return figure(
        "matrix",
        "Who sends how much to whom",
        "Senders from top to bottom, receivers from left to right, colours by powers of ten. Cells "
        "beside the diagonal are neighbours; a full square is all ranks to all; a row or column "
        "that differs is a rank that gives or gets more than others. Collectives are counted as what "
        f"they carry, whatever messages the library makes of them.{grouped}{_zoom(matrix['groups'])}",
        '<div class="plot grid"></div>',
    )


def _zoom(groups: int) -> str:
    if groups <= _ZOOM_MIN:
        return ""
    return (
        " Click a matrix, then wheel or + and - zoom, dragging or the arrow keys move, 0 shows all; "
        "where cells are smaller than a pixel, the largest of them is drawn."
    )


def sizes_section(analysis: Analysis) -> str:
    sizes = analysis.traffic.sizes
    if not sizes.height:
        return ""
    rows = list(sizes.iter_rows(named=True))
    count, size = int(sizes["messages"].sum()), int(sizes["bytes"].sum())
    tips = [
        f"{_range(row)}\n{row['messages']:,} messages ({format_share(row['messages'], count)})\n"
        f"{format_bytes(row['bytes'])} ({format_share(row['bytes'], size)})"
        for row in rows
    ]
    every = -(-len(rows) // _MARKS_MAX)
    marks = [_from(row) if i % every == 0 else "" for i, row in enumerate(rows)]
    if len(rows) <= 2:
        marks = [_range(row) for row in rows] + [""] * (3 - len(rows))
    parts = []
    for name, colour, told in (
        ("messages", palette.AMOUNTS[4], "{:,.0f} messages"),
        ("bytes", palette.AMOUNTS[2], ""),
    ):
        values = sizes[name].to_numpy().astype(np.float64)
        high = float(values.max())
        most = told.format(high) if told else format_bytes(high)
        drawn = columns(values[:, None], [colour], tips, most=most, marks=marks)
        parts.append(f"<div><b>{'Messages' if name == 'messages' else 'Bytes'} by size</b>{drawn}</div>")
    return figure(
        "sizes",
        "Sizes of messages",
        "Each column is a size and up to its double. Many messages on the left: latency decides, "
        "packing several into one helps. Bytes on the right: bandwidth, and rendezvous that needs both "
        "sides.",
        f'<div class="plot halves">{"".join(parts)}</div>',
        plain=True,
    )


def _from(row: dict[str, int]) -> str:
    return format_bytes(row["low_bytes"]) if row["low_bytes"] else "0"


def _range(row: dict[str, int]) -> str:
    if row["high_bytes"] <= 1:
        return "no bytes"
    if row["low_bytes"] + 1 == row["high_bytes"]:
        return format_bytes(row["low_bytes"])
    return f"{format_bytes(row['low_bytes'])} to {format_bytes(row['high_bytes'])}"


def balance_section(analysis: Analysis, payload: Payload) -> str:
    balance = payload.data["balance"]
    if balance is None:
        return ""
    whole = analysis.traffic.balance.whole()
    each = balance["each"]
    grouped = f" Each row is the mean of {each} ranks." if each > 1 else ""
    inside = "in calls" if analysis.run.calls.height else "idle"
    made = balancings(analysis.run)
    marked = (
        " Lines are balancings of collections; measured is before the next one." if made.height else ""
    )
    return figure(
        "balance",
        f"Balance over time: the busiest rank computed {100 * whole:.1f} % more than the mean",
        f"Above: the more orange, the more of that time the rank was {inside}, not computing. A row "
        "without orange, while others have it, is what they wait for; stripes across all ranks are "
        "phases of communication. Below: in each stretch of time, how much more than the mean the rank "
        f"that computed most did (0 is even).{grouped}{marked}",
        f'<div class="plot"></div>{_balancings(made)}',
    )


def _balancings(made: pl.DataFrame) -> str:
    """A line for each balancing of a collection; the latest where there are many."""
    if not made.height:
        return ""
    rows = []
    for row in made.tail(_BALANCINGS_MAX).iter_rows(named=True):
        shares = [row["before"], row["predicted"], row["measured"]]
        moved = row["objects_moved"]
        rows.append(
            [
                f"{row['step']:,}",
                *("" if share is None else f"{100 * share:.2f} %" for share in shares),
                "nothing" if moved is None else f"{moved:,.0f}",
                "" if moved is None else format_bytes(int(row["bytes_moved"] or 0)),
                *(
                    "" if row[name] is None else format_time(row[name])
                    for name in ("decide_ns", "move_ns")
                ),
            ]
        )
    left_out = made.height - _BALANCINGS_MAX
    caption = "Balancings" + (
        f" (the last {_BALANCINGS_MAX} of {made.height:,})" if left_out > 0 else ""
    )
    heads = [
        "phase",
        "imbalance before",
        "predicted",
        "measured",
        "moved",
        "bytes",
        "to decide",
        "to move",
    ]
    return table(caption, heads, rows)
