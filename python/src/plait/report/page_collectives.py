# SPDX-License-Identifier: Apache-2.0
"""The section of the page about collectives: lateness, what their bytes need, and slowness."""

from __future__ import annotations

from html import escape

from plait._units import format_bytes, format_time
from plait.measures.collective_findings import (
    late_groups,
    scattered_groups,
    slow_groups,
    slow_teams,
    stalled_groups,
)
from plait.measures.collective_times import KEY
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.bars import bar
from plait.report.html import PLACE, figure, left, legend, swatch, table

_ROWS_MAX = 12
_TEXTS = (
    "the last rank was not there yet",
    "what its bytes need by messages",
    "beyond that",
)

# Where no collective is non-blocking, and where some are.
_HIDDEN: tuple[list[str], list[str]] = ([], ["hidden"])
_OR_STALLED = ("", ", or no progress")
_ABOUT_HIDDEN = (
    "",
    " A non-blocking collective counts from when all ranks wait for it; hidden is the part of its time, "
    "from its beginning to its completion, in which its ranks computed.",
)


def collectives_section(analysis: Analysis) -> str:
    """Empty where the run has no collectives."""
    run, groups = analysis.run, analysis.collective_groups
    length = analysis.working_ns[1] - analysis.working_ns[0]
    if not groups.height:
        return ""
    times = analysis.collective_times
    reasons = {
        "slow": slow_groups(run, groups, length),
        "slow for some": slow_teams(times),
        "slow with gaps": scattered_groups(times),
        "no progress": stalled_groups(run, groups, length),
    }
    slow = {row: reason for reason, rows in reversed(reasons.items()) for row in rows.select(KEY).rows()}
    late = set(late_groups(run, groups, length).select(KEY).rows())
    cost = groups["late_ns"] + groups["after_ns"] + groups["stalled_ns"]
    shown = groups.with_columns(cost.alias("cost_ns")).sort("cost_ns", descending=True).head(_ROWS_MAX)
    longest = max(1, int(shown["cost_ns"][0]))
    is_any_hidden = bool((shown["hidden_ns"] > 0).any())
    colours = palette.COLLECTIVE
    rows = []
    for row in shown.iter_rows(named=True):
        needs = min((row["bound_ns"] or 0.0) * row["operations"], row["after_ns"])
        parts = (row["late_ns"], needs, row["after_ns"] - needs + row["stalled_ns"])
        of = tuple(row[name] for name in KEY)
        rows.append(
            [
                escape(run.functions[row["function"]]).replace("_", "_<wbr>"),
                left(str(run.sites[row["site"]]) if row["site"] >= 0 else "an unknown place"),
                str(row["members"]),
                f"{format_bytes(row['block_bytes'])}{', with gaps' if row['scattered'] else ''}",
                f"{row['operations']:,}",
                bar([part / longest for part in parts], colours),
                f"{format_time(row['late_ns'])}{_late_rank(row) if of in late else ''}",
                format_time(row["after_median_ns"]),
                format_time(row["bound_ns"]) if row["bound_ns"] is not None else "–",
                *([_hidden(row)] if is_any_hidden else []),
                swatch(colours[2], slow[of]) if of in slow else "",
            ]
        )
    left_out = groups.height - _ROWS_MAX
    caption = "By place, number of ranks and size" + (
        f" (the {_ROWS_MAX} longest of {groups.height})" if left_out > 0 else ""
    )
    heads = (
        *("collective", PLACE, "ranks", "block", "calls", "", "late, in all"),
        *("after all had come, median", "its bytes need", *_HIDDEN[is_any_hidden], ""),
    )
    texts = (*_TEXTS[:2], _TEXTS[2] + _OR_STALLED[is_any_hidden])
    inside = legend(list(zip(colours, texts, strict=True))) + table(caption, heads, rows)
    return figure(
        "collectives",
        "Collectives: late ranks, and slow collectives",
        "Times are of the run, not sums over ranks. Late: how long ranks waited for the last one to "
        "come. Then the collective takes as long as its bytes need by messages, or longer. What they "
        f"need is by {escape(analysis.network.source)}. Slow: nearly all calls took five times as long."
        + _ABOUT_HIDDEN[is_any_hidden],
        f'<div class="plot">{inside}</div>',
        plain=True,
    )


def _late_rank(row: dict[str, int]) -> str:
    return f" (rank {row['late_rank']})"


def _hidden(row: dict[str, float]) -> str:
    """Of blocking collectives none."""
    whole = row["hidden_ns"] + row["in_calls_ns"]
    return f"{100 * row['hidden_ns'] / whole:.0f} %" if row["hidden_ns"] > 0 else ""
