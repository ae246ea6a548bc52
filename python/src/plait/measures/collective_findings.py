# SPDX-License-Identifier: Apache-2.0
"""Which collectives are slow, which ranks come late to them, and which messages of structs are slow, in
sentences with their cost."""

from __future__ import annotations

import polars as pl

from plait._events import Run
from plait._units import format_bytes, format_count, format_time
from plait.measures.network import Network

#: Shares of the run below this are not worth a sentence; with few calls it is more (`_worth`).
_WORTH = 0.01
_FEW_CALLS = 10
#: Times beyond what the bytes need by messages from which a collective is slow: libraries copy and
#: synchronise.
_SLOW_FACTOR = 5.0
#: A rank is named that comes last this often, and more often than chance by so many deviations.
_LATE_TIMES, _DEVIATIONS = 0.6, 3.0
#: Of messages of structs, over contiguous ones.
_STRUCTS_FACTOR = 2.0
_SENTENCES_MAX = 3


def find_slow_collectives(run: Run, groups: pl.DataFrame, network: Network, length_ns: int) -> list[str]:
    """Sentences about slowness, then about lateness, each the most costly first. None: there is none.

    `groups`: `collective_groups`. Costs are of the run, not of the sum of all ranks: the time in which a
    collective was under way after the last rank had come, and in which ranks waited for the last one.
    """
    return [*_slow(run, groups, network, length_ns), *_late(run, groups, length_ns)]


def find_slow_structs(run: Run, scattered: pl.DataFrame, length_ns: int) -> list[str]:
    """A sentence about each place that sends non-contiguous data for much longer than its bytes need.

    `scattered`: `scattered_messages`. The cost is of the mean rank among those that send.
    """
    slow = (
        scattered.with_columns(
            ((pl.col("took_ns") - pl.col("contiguous_ns")) * pl.col("messages") / pl.col("ranks")).alias(
                "cost_ns"
            )
        )
        .filter(
            (pl.col("took_ns") >= _STRUCTS_FACTOR * pl.col("contiguous_ns"))
            & (pl.col("took_ns") - pl.col("contiguous_ns") > 2 * run.clock_error_ns)
            & (pl.col("cost_ns") >= _WORTH * length_ns)
        )
        .sort("cost_ns", descending=True)
    )
    found = []
    for row in slow.head(_SENTENCES_MAX).iter_rows(named=True):
        place = f" at {run.sites[row['site']]}" if row["site"] >= 0 else ""
        takes, other = row["took_ns"], row["contiguous_ns"]
        beside = "contiguous ones of this run" if row["measured"] else "what the bytes need"
        found.append(
            f"Messages of {format_bytes(row['size_bytes'])} in a datatype with gaps{place} take "
            f"{format_time(takes)}, {_times(takes / other)} the {format_time(other)} of {beside}: "
            f"{format_time(row['cost_ns'])} of the run, in {format_count(row['messages'], 'message')}. "
            "Copying into a contiguous buffer, or an array for each member, may be faster."
        )
    return found


def slow_groups(run: Run, groups: pl.DataFrame, length_ns: int) -> pl.DataFrame:
    """Of `collective_groups`, those to name as slow, with `slow_ns`, their cost; the most costly first.

    What counts is the time that nearly all calls take at least (`after_low_ns`): a collective is slow in
    each call, but a rank that waits for a core only in some. The cost is this time in each call.
    """
    excess = pl.col("after_low_ns") - pl.col("bound_ns")
    return (
        groups.with_columns((pl.col("after_low_ns") * pl.col("operations")).alias("slow_ns"))
        .filter(
            (pl.col("after_low_ns") >= _SLOW_FACTOR * pl.col("bound_ns"))
            & (excess > 2 * run.clock_error_ns)
            & (excess * pl.col("operations") >= _worth(length_ns))
        )
        .sort("slow_ns", descending=True)
    )


def late_groups(run: Run, groups: pl.DataFrame, length_ns: int) -> pl.DataFrame:
    """Of `collective_groups`, those to which one rank comes late, with `cost_ns`; the most costly first.

    The cost is the median of its latenesses times their number: one in which the machine did other work
    does not count more than others.
    """
    times, operations = pl.col("late_rank_times"), pl.col("operations")
    chance = 1 / pl.col("members")
    deviation = (operations * chance * (1 - chance)).sqrt()
    return (
        groups.with_columns((pl.col("late_rank_median_ns") * times).alias("cost_ns"))
        .filter(
            (pl.col("cost_ns") >= _worth(length_ns))
            & (times >= _LATE_TIMES * operations)
            & (times > operations * chance + _DEVIATIONS * deviation)
            & (pl.col("late_rank_median_ns") > 2 * run.clock_error_ns)
        )
        .sort("cost_ns", descending=True)
    )


def _worth(length_ns: int) -> pl.Expr:
    """A single call may take long as the machine does other work."""
    few = (_FEW_CALLS / pl.col("operations")).clip(1.0)
    return _WORTH * length_ns * few


def _slow(run: Run, groups: pl.DataFrame, network: Network, length_ns: int) -> list[str]:
    found = []
    for row in slow_groups(run, groups, length_ns).head(_SENTENCES_MAX).iter_rows(named=True):
        size = f" of {format_bytes(row['block_bytes'])}" if row["block_bytes"] else ""
        takes, median, needs = (row[f"{name}_ns"] for name in ("after_low", "after_median", "bound"))
        with_median = f" (in the median {format_time(median)})" if median > 1.2 * takes else ""
        found.append(
            f"{_place(run, row)}{size} on {format_count(row['members'], 'rank')} is slow: "
            f"{format_time(takes)} each{with_median} after all had arrived, {_times(takes / needs)} the "
            f"{format_time(needs)} that its bytes need by messages ({row['algorithm']}): "
            f"{format_time(row['slow_ns'])} of the run, in {format_count(row['operations'], 'call')}."
        )
    if found:
        found[0] += f" What bytes need is by {network.source}."
    return found


def _late(run: Run, groups: pl.DataFrame, length_ns: int) -> list[str]:
    return [
        f"Rank {row['late_rank']} arrives {format_time(row['late_rank_median_ns'])} late in "
        f"{_place(run, row)}: {format_time(row['cost_ns'])} of the run, in "
        f"{row['late_rank_times']:,} of {format_count(row['operations'], 'call')}."
        for row in late_groups(run, groups, length_ns).head(_SENTENCES_MAX).iter_rows(named=True)
    ]


def _place(run: Run, row: dict[str, int]) -> str:
    name = run.functions[row["function"]]
    return name if row["site"] < 0 else f"{name} at {run.sites[row['site']]}"


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= 10 else f"{factor:.1f} times"
