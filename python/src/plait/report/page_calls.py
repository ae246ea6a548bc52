# SPDX-License-Identifier: Apache-2.0
"""Sections of the page about the calls of a recorded program: time in them, waiting, overlap."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt
import polars as pl

from plait._units import format_bytes, format_count, format_share, format_time
from plait.measures.rank_groups import group_rows, group_size
from plait.measures.rank_time import PART_TEXTS, PARTS, large_parts, rank_times
from plait.measures.wait_states import KIND_TEXTS
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.bars import bar, columns
from plait.report.html import PLACE, figure, left, legend, swatch, table

#: Functions and sites in the tables; the rest is put together in a last row.
ROWS_MAX = 12
#: Ranks with a bar and numbers each; more are shown as columns.
BARS_MAX = 24
_COLUMNS_MAX = 400

Floats = npt.NDArray[np.float64]


def call_time_section(analysis: Analysis) -> str:
    calls = analysis.calls
    if not calls.by_function.height:
        return ""
    whole = calls.whole_ns
    heads = ("", "", "time", "of the whole", "calls", "mean", "longest", "bytes given")
    by_function = table("By function", ("function", *heads[1:]), _rows(analysis, calls.by_function))
    by_site = table("By call site", ("function", PLACE, *heads[1:]), _rows(analysis, calls.by_site))
    inside = int(calls.by_function["time_ns"].sum())
    known = "" if calls.is_of_sums else ", the next figures show what they waited for"
    return figure(
        "call-time",
        f"Time in calls: {format_share(inside, whole)} of the ranks' time",
        "Shares are of the time of all threads that call, from when the first rank was through "
        "MPI_Init to when the last one came to MPI_Finalize. Orange functions wait: their time is not "
        f"their own cost{known}. Sites are places in the program; "
        "without debug information they are offsets in its file.",
        f'<div class="plot">{by_function}<br>{by_site}</div>',
        plain=True,
    )


def _rows(analysis: Analysis, found: pl.DataFrame) -> list[list[str]]:
    run, whole = analysis.run, analysis.calls.whole_ns
    colours = [mark.css for mark in palette.function_marks(run)]
    longest = max(1, int(found["time_ns"].max() or 0))  # type: ignore[arg-type]
    rows = []
    for row in found.head(ROWS_MAX).iter_rows(named=True):
        colour = colours[row["function"]]
        name = swatch(colour, run.functions[row["function"]])
        where = [_place(analysis, row["site"])] if "site" in row else []
        rows.append([name, *where, *_cells(row, colour, longest, whole)])
    rest = found.slice(ROWS_MAX)
    if rest.height:
        sums = rest.select(pl.col("time_ns", "count", "bytes_given").sum(), pl.col("max_ns").max())
        row = sums.row(0, named=True)
        row["mean_ns"] = row["time_ns"] / max(1, row["count"])
        where = [""] if "site" in found.columns else []
        rows.append([f"{rest.height} more", *where, *_cells(row, "#9aa5b1", longest, whole)])
    return rows


def _cells(row: dict[str, float], colour: str, longest: int, whole: int) -> list[str]:
    return [
        bar([row["time_ns"] / max(longest, row["time_ns"])], [colour]),
        format_time(row["time_ns"]),
        format_share(row["time_ns"], whole),
        f"{int(row['count']):,}",
        format_time(row["mean_ns"]),
        format_time(row["max_ns"]),
        format_bytes(row["bytes_given"]) if row["bytes_given"] else "–",
    ]


def waits_section(analysis: Analysis) -> str:
    """For each rank: computing, each kind of waiting, other time in calls."""
    if not analysis.calls.by_rank.height:
        return ""
    times = rank_times(analysis.run, analysis.calls)
    values = times.select(PARTS).to_numpy().astype(np.float64)
    shown = large_parts(values)
    values[:, -1] += values.sum(axis=1) - values[:, shown].sum(axis=1)
    colours = [_on_page(palette.RANK_TIME[i]) for i in shown]
    texts = [PART_TEXTS[i] for i in shown]
    values = values[:, shown]
    ranks = times["rank"].to_list()
    inside = legend(list(zip(colours, texts, strict=True)))
    inside += rank_bars(ranks, values, colours, texts)
    inside += _wait_sites(analysis)
    return figure(
        "waits",
        "What each rank's time went into",
        "Late sender: a receive, or a wait for one, before the message was sent. Late receiver: a send "
        "that needs its receive, before that was posted. At a barrier or another collective: until the "
        "last rank came. Data that was ready earlier had both sides posted, but no thread polled: "
        "background progression would have moved it. The rest of the time in calls is moving data. Who "
        "came late is the cause: check there for more work, or for what delays "
        "it.",
        f'<div class="plot">{inside}</div>',
        plain=True,
    )


def rank_bars(ranks: list[int], values: Floats, colours: list[str], texts: list[str]) -> str:
    """A bar and numbers for each rank; of many ranks, columns. `values`: [rank, part], nanoseconds."""
    draw = _wait_rows if len(ranks) <= BARS_MAX else _rank_columns
    return draw(ranks, values, colours, texts)


def _wait_rows(ranks: list[int], values: Floats, colours: list[str], texts: list[str]) -> str:
    whole = max(1.0, float(values.sum(axis=1).max()))
    rows = []
    for rank, parts in zip(ranks, values, strict=True):
        cells = [
            f"{format_time(part)}<br><small>{format_share(part, parts.sum())}</small>" for part in parts
        ]
        rows.append([f"rank {rank}", bar(list(parts / whole), colours, "tall"), *cells])
    return table("Each rank", ("", "", *texts), rows)


def _rank_columns(ranks: list[int], values: Floats, colours: list[str], texts: list[str]) -> str:
    """A column for each rank; of very many, the mean of neighbours."""
    each = group_size(len(ranks), _COLUMNS_MAX)
    values = group_rows(values, each)
    tips = []
    for index, parts in enumerate(values):
        first, last = ranks[index * each], ranks[min(len(ranks), (index + 1) * each) - 1]
        name = f"rank {first}" if first == last else f"ranks {first} to {last}, mean"
        told = [f"{text}: {format_time(v)}" for text, v in zip(texts, parts, strict=True) if v > 0]
        tips.append("\n".join([name, *told]))
    what = "each column is a rank" if each == 1 else f"each column is the mean of {each} ranks"
    most = f"{format_time(float(values.sum(axis=1).max()))}; {what}"
    return columns(values, colours, tips, most=most, marks=(f"rank {ranks[0]}", f"rank {ranks[-1]}"))


def _wait_sites(analysis: Analysis) -> str:
    run, found = analysis.run, analysis.calls.waits_by_site
    if not found.height:
        return ""
    whole = analysis.calls.whole_ns
    longest = int(found["lost_ns"].to_numpy().max())
    rows = []
    for row in found.head(ROWS_MAX).iter_rows(named=True):
        colour = palette.RANK_TIME[1 + row["kind"]]
        rows.append(
            [
                swatch(colour, f"{KIND_TEXTS[row['kind']]}: {run.functions[row['function']]}"),
                _place(analysis, row["site"]),
                bar([row["lost_ns"] / max(1, longest)], [colour]),
                format_time(row["lost_ns"]),
                format_share(row["lost_ns"], whole),
                f"{row['calls']:,}",
                format_time(row["longest_ns"]),
            ]
        )
    left_out = found.height - ROWS_MAX
    caption = "Where it was waited" + (
        f" (the {ROWS_MAX} longest of {found.height})" if left_out > 0 else ""
    )
    heads = ("what for", PLACE, "", "time", "of the whole", "calls", "longest")
    return "<br>" + table(caption, heads, rows)


def overlap_section(analysis: Analysis) -> str:
    found = analysis.calls.overlap_by_rank
    if not found.height or not int(found["transfer_ns"].sum()):
        return ""
    transfer, possible, achieved = (
        int(found[name].sum()) for name in ("transfer_ns", "possible_ns", "achieved_ns")
    )
    parts = found.select(
        "achieved_ns",
        pl.col("possible_ns") - pl.col("achieved_ns"),
        (pl.col("transfer_ns") - pl.col("possible_ns")).alias("not_ns"),
    )
    values = parts.to_numpy().astype(np.float64)
    ranks = found["rank"].to_list()
    texts = ["hidden behind computing", "could have been hidden", "nothing to hide it behind"]
    colours = list(palette.OVERLAP)
    inside = legend(list(zip(colours, texts, strict=True))) + rank_bars(ranks, values, colours, texts)
    share = format_share(achieved, possible) if possible else "none"
    return figure(
        "overlap",
        f"Overlap: {share} of what was possible",
        f"Of the {format_time(transfer)} that the data of non-blocking messages took to move, "
        f"{format_time(possible)} lay before the call that waited for it, while the rank could compute; "
        f"{format_time(achieved)} of that had not to be waited for any more. Orange is what background "
        "progression (<code>plait record --progress</code>) or earlier tests could win; grey needs "
        "computing between posting and waiting.",
        f'<div class="plot">{inside}</div>',
        plain=True,
    )


def unmatched_section(analysis: Analysis) -> str:
    """Messages with one side only, gathered by what posted them."""
    lonely = analysis.unmatched_messages
    if not lonely.height:
        return ""
    run = analysis.run
    key = ["received", "unfinished", "source", "destination", "communicator", "tag", "function", "site"]
    found = (
        lonely.group_by(key)
        .agg(
            pl.len().alias("messages"),
            pl.col("size_bytes").sum(),
            pl.col("posted_ns").min().alias("first_ns"),
        )
        .sort("messages", "first_ns", descending=[True, False])
    )
    rows = []
    for row in found.head(3 * ROWS_MAX).iter_rows(named=True):
        side = "receive" if row["received"] else "send"
        told = "that never completed" if row["unfinished"] else "without its other side"
        rows.append(
            [
                f"{side} {told}",
                f"{_rank(row['source'])} → {_rank(row['destination'])}",
                f"{row['tag']:,}",
                f"{row['communicator']:,}",
                f"{row['messages']:,}",
                format_bytes(row["size_bytes"]),
                format_time(row["first_ns"] - analysis.window_ns[0]),
                escape(run.functions[row["function"]]) if row["function"] >= 0 else "–",
                _place(analysis, row["site"]),
            ]
        )
    heads = (
        "",
        "ranks",
        "tag",
        "communicator",
        "messages",
        "bytes",
        "first posted",
        "function",
        PLACE,
    )
    left_out = found.height - 3 * ROWS_MAX
    more = (
        f" (the most frequent; {format_count(left_out, 'more kind')} in unmatched.csv)"
        if left_out > 0
        else ""
    )
    return figure(
        "unmatched",
        f"Messages with one side only: {lonely.height:,}",
        "Sends whose receive, or receives whose send, is not in the record, and receives that never "
        "completed. In a run that ended in good order this is a fault of the program (or a message to "
        "a rank whose file is missing); in one that was killed, what was under way.",
        f'<div class="plot">{table("By what posted them" + more, heads, rows)}</div>',
        plain=True,
    )


def _place(analysis: Analysis, site: int) -> str:
    name = str(analysis.run.sites[site]) if site >= 0 else "an unknown place"
    return left(name)


def _on_page(colour: str) -> str:
    """Computing is quieter in the dark."""
    return "var(--computing)" if colour == palette.COMPUTING else colour


def _rank(rank: int) -> str:
    return f"rank {rank}" if rank >= 0 else "any rank"
