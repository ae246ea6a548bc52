# SPDX-License-Identifier: Apache-2.0
"""Which collectives are slow, and which ranks come late to them, in sentences with their cost."""

from __future__ import annotations

import polars as pl

from plait._events import Run
from plait._units import format_bytes, format_count, format_time
from plait.measures.network import Network

#: Shares of the run below this are not worth a sentence.
_WORTH = 0.01
#: Times beyond what the bytes need by messages from which a collective is slow: libraries copy and
#: synchronise, and ranks share cores.
_SLOW_FACTOR = 5.0
#: A rank is named when so much of the lateness of a place is its, and it came last so often.
_LATE_SHARE, _LATE_TIMES = 0.6, 0.25
_SENTENCES_MAX = 3


def find_slow_collectives(run: Run, groups: pl.DataFrame, network: Network, length_ns: int) -> list[str]:
    """Sentences about slowness, then about lateness, each the most costly first. None: there is none.

    `groups`: `collective_groups`. Costs are of the run, not of the sum of all ranks: the time in which a
    collective was under way after the last rank had come, and in which ranks waited for the last one.
    They are the median of the calls times their number: calls in which the machine did other work are
    no fault of the collective.
    """
    return [*_slow(run, groups, network, length_ns), *_late(run, groups, length_ns)]


def slow_groups(run: Run, groups: pl.DataFrame, length_ns: int) -> pl.DataFrame:
    """Of `collective_groups`, those to name as slow, the most costly first."""
    excess = pl.col("after_median_ns") - pl.col("bound_ns")
    return groups.filter(
        (pl.col("after_median_ns") >= _SLOW_FACTOR * pl.col("bound_ns"))
        & (excess > 2 * run.clock_error_ns)
        & (excess * pl.col("operations") >= _WORTH * length_ns)
    ).sort(_slow_cost(), descending=True)


def late_groups(run: Run, groups: pl.DataFrame, length_ns: int) -> pl.DataFrame:
    """Of `collective_groups`, those to which one rank comes late, the most costly first."""
    return groups.filter(
        (_late_cost() >= _WORTH * length_ns)
        & (pl.col("late_rank_ns") >= _LATE_SHARE * pl.col("late_ns"))
        & (pl.col("late_rank_times") >= _LATE_TIMES * pl.col("operations"))
        & (pl.col("late_rank_median_ns") > 2 * run.clock_error_ns)
    ).sort(_late_cost(), descending=True)


def _slow_cost() -> pl.Expr:
    return pl.col("after_median_ns") * pl.col("operations")


def _late_cost() -> pl.Expr:
    return pl.col("late_rank_median_ns") * pl.col("late_rank_times")


def _slow(run: Run, groups: pl.DataFrame, network: Network, length_ns: int) -> list[str]:
    found = []
    for row in slow_groups(run, groups, length_ns).head(_SENTENCES_MAX).iter_rows(named=True):
        size = f" of {format_bytes(row['block_bytes'])}" if row["block_bytes"] else ""
        needs, cost = row["bound_ns"], row["after_median_ns"] * row["operations"]
        found.append(
            f"{_place(run, row)}{size} on {format_count(row['members'], 'rank')} is slow: "
            f"{format_time(row['after_median_ns'])} each after all had arrived, "
            f"{_times(row['after_median_ns'] / needs)} the {format_time(needs)} that its bytes need by "
            f"messages ({row['algorithm']}): {format_time(cost)} of the run, in "
            f"{format_count(row['operations'], 'call')}."
        )
    if found:
        found[0] += f" What bytes need is by {network.source}."
    return found


def _late(run: Run, groups: pl.DataFrame, length_ns: int) -> list[str]:
    return [
        f"Rank {row['late_rank']} arrives {format_time(row['late_rank_median_ns'])} late in "
        f"{_place(run, row)}: {format_time(row['late_rank_median_ns'] * row['late_rank_times'])} of the "
        "run, in "
        f"{row['late_rank_times']:,} of {format_count(row['operations'], 'call')}."
        for row in late_groups(run, groups, length_ns).head(_SENTENCES_MAX).iter_rows(named=True)
    ]


def _place(run: Run, row: dict[str, int]) -> str:
    name = run.functions[row["function"]]
    return name if row["site"] < 0 else f"{name} at {run.sites[row['site']]}"


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= 10 else f"{factor:.1f} times"
