# SPDX-License-Identifier: Apache-2.0
"""Which collectives are slow, which ranks come late to them, and which messages of structs are slow, in
sentences with their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from plait._collective_names import is_non_blocking
from plait._events import Run
from plait._units import format_bytes, format_count, format_time
from plait.measures.collective_times import KEY
from plait.measures.collectives import members_of
from plait.measures.network import Network

Row = dict[str, Any]
#: Shares of the run below this are not worth a sentence; with few calls it is more (`_worth`).
_WORTH = 0.01
_FEW_CALLS = 10
#: Times beyond what the bytes need by messages from which a collective is slow: libraries copy and
#: synchronise.
_SLOW_FACTOR = 5.0
#: A rank is named that comes last this often, and more often than chance by so many deviations.
_LATE_TIMES, _DEVIATIONS = 0.6, 3.0
#: Of structs, over contiguous data.
_STRUCTS_FACTOR = 2.0
_SENTENCES_MAX = 3
_RANKS_SHOWN_MAX = 8


@dataclass(frozen=True)
class CollectiveTimes:
    """What the sentences are about. Costs are of the run, not of the sum of all ranks: the time in which
    a collective was under way after the last rank had come, and in which ranks waited for the last."""

    run: Run
    groups: pl.DataFrame  # collective_groups
    teams: pl.DataFrame  # team_groups
    network: Network
    length_ns: int


def find_slow_collectives(times: CollectiveTimes) -> list[str]:
    """Sentences about slowness, structs, progress, and lateness, each the most costly first. None: there
    is none."""
    return [*_slow(times), *_scattered(times), *_stalled(times), *_late(times)]


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
    """Of `collective_groups` or `team_groups`, those to name as slow, with `slow_ns`, their cost; the
    most costly first.

    What counts is the time that nearly all calls take at least (`after_low_ns`): a collective is slow in
    each call, but a rank that waits for a core only in some. The cost is this time in each call.
    """
    excess = pl.col("after_low_ns") - pl.col("bound_ns")
    return (
        groups.with_columns((pl.col("after_low_ns") * pl.col("turns")).alias("slow_ns"))
        .filter(
            (pl.col("after_low_ns") >= _SLOW_FACTOR * pl.col("bound_ns"))
            & (excess > 2 * run.clock_error_ns)
            & (excess * pl.col("turns") >= _worth(length_ns))
        )
        .sort("slow_ns", descending=True)
    )


def slow_teams(times: CollectiveTimes) -> pl.DataFrame:
    """Of `team_groups`, those that are slow where other teams of the group are not, as `slow_groups`."""
    slow = slow_groups(times.run, times.groups, times.length_ns)
    teams = times.teams.join(slow, on=KEY, how="anti")
    return slow_groups(times.run, teams, times.length_ns)


def scattered_groups(times: CollectiveTimes) -> pl.DataFrame:
    """Of `collective_groups`, those of data with gaps that take longer than contiguous data of the same
    function, number of ranks and class of sizes in the run, with `contiguous_ns`, what that takes, and
    `cost_ns`; the most costly first."""
    alike = ["function", "members", "size_class"]
    contiguous = (
        times.groups.filter(~pl.col("scattered"))
        .group_by(alike)
        .agg(pl.col("after_low_ns").min().alias("contiguous_ns"))
    )
    excess = pl.col("after_low_ns") - pl.col("contiguous_ns")
    return (
        times.groups.filter("scattered")
        .join(contiguous, on=alike)
        .with_columns((excess * pl.col("turns")).alias("cost_ns"))
        .filter(
            (pl.col("after_low_ns") >= _STRUCTS_FACTOR * pl.col("contiguous_ns"))
            & (excess > 2 * times.run.clock_error_ns)
            & (pl.col("cost_ns") >= _worth(times.length_ns))
        )
        .sort("cost_ns", descending=True)
    )


def stalled_groups(run: Run, groups: pl.DataFrame, length_ns: int) -> pl.DataFrame:
    """Of `collective_groups`, those in which ranks wait because others compute, with `cost_ns`; the most
    costly first. The cost is the median of these waits times their number."""
    return (
        groups.with_columns((pl.col("stalled_median_ns") * pl.col("turns")).alias("cost_ns"))
        .filter(
            (pl.col("cost_ns") >= _worth(length_ns))
            & (pl.col("stalled_median_ns") > 2 * run.clock_error_ns)
        )
        .sort("cost_ns", descending=True)
    )


def late_groups(run: Run, groups: pl.DataFrame, length_ns: int) -> pl.DataFrame:
    """Of `collective_groups`, those to which one rank comes late, with `cost_ns`; the most costly first.

    The cost is the median of its latenesses times their number: one in which the machine did other work
    does not count more than others.
    """
    times, operations = pl.col("late_rank_times"), pl.col("turns")
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
    few = (_FEW_CALLS / pl.col("turns")).clip(1.0)
    return _WORTH * length_ns * few


def _slow(times: CollectiveTimes) -> list[str]:
    slow = slow_groups(times.run, times.groups, times.length_ns)
    named = slow.join(scattered_groups(times), on=KEY, how="anti")
    rows = pl.concat([named, slow_teams(times)], how="diagonal").sort("slow_ns", descending=True)
    found = [_slow_sentence(times, slow, row) for row in rows.head(_SENTENCES_MAX).to_dicts()]
    if found:
        found[0] += f" What bytes need is by {times.network.source}."
    return found


def _slow_sentence(times: CollectiveTimes, slow: pl.DataFrame, row: Row) -> str:
    takes, median, needs = (row[f"{name}_ns"] for name in ("after_low", "after_median", "bound"))
    with_median = f" (in the median {format_time(median)})" if median > 1.2 * takes else ""
    return (
        f"{_named(times.run, row)}{_of_team(times, row)} is slow: "
        f"{format_time(takes)} each{with_median} {_after(times.run, row)}, {_times(takes / needs)} the "
        f"{format_time(needs)} that its bytes need by messages ({row['algorithm']}): "
        f"{format_time(row['slow_ns'])} of the run, in {_calls(row)}.{_only_here(times, slow, row)}"
    )


def _of_team(times: CollectiveTimes, row: Row) -> str:
    if row.get("team") is None:
        return ""
    ranks = members_of(times.run, row["team"])
    shown = ", ".join(str(rank) for rank in ranks[:_RANKS_SHOWN_MAX])
    return f" (rank {shown}{' ...' if len(ranks) > _RANKS_SHOWN_MAX else ''})"


def _only_here(times: CollectiveTimes, slow: pl.DataFrame, row: Row) -> str:
    """What the same collective takes on other ranks, or more, where it is not slow."""
    alike = _is_like(row, "function", "size_class", "scattered")
    if row.get("team") is not None:
        others = times.teams.filter(
            alike & _is_like(row, "site", "members") & (pl.col("team") != row["team"])
        )
        takes = others.select(pl.col("after_low_ns").median()).item()
        on_others = f"other communicators of {format_count(row['members'], 'rank')} it takes "
        return f" Only on these ranks: on {on_others}{format_time(takes)}." if takes is not None else ""
    larger = times.groups.filter(alike & (pl.col("members") > row["members"]))
    larger = larger.join(slow, on=KEY, how="anti").sort("members", descending=True)
    if not larger.height:
        return ""
    members, takes = larger.select("members", "after_low_ns").row(0)
    return (
        f" Only on communicators of this size: on {format_count(members, 'rank')} it takes "
        f"{format_time(takes)}."
    )


def _is_like(row: Row, *names: str) -> pl.Expr:
    return pl.all_horizontal(pl.col(name) == row[name] for name in names)


def _scattered(times: CollectiveTimes) -> list[str]:
    return [
        f"{_named(times.run, row)} takes {_times(row['after_low_ns'] / row['contiguous_ns'])} what the "
        f"same bytes take without gaps in this run, {format_time(row['after_low_ns'])} in the place of "
        f"{format_time(row['contiguous_ns'])} {_after(times.run, row)}: {format_time(row['cost_ns'])} "
        f"of the run, in {_calls(row)}. Copying into a contiguous buffer, or an array for each member "
        "of the struct, may be faster."
        for row in scattered_groups(times).head(_SENTENCES_MAX).to_dicts()
    ]


def _stalled(times: CollectiveTimes) -> list[str]:
    found = []
    for row in stalled_groups(times.run, times.groups, times.length_ns).head(_SENTENCES_MAX).to_dicts():
        hidden = row["hidden_ns"] / max(1.0, row["hidden_ns"] + row["in_calls_ns"])
        found.append(
            f"{_named(times.run, row)} makes no progress while ranks compute: the others wait "
            f"{format_time(row['stalled_median_ns'])} each after all had begun it, until the last rank "
            f"waits, too: {format_time(row['cost_ns'])} of the run, in {_calls(row)}. Of the time from "
            f"its beginning to its completion, {100 * hidden:.0f} % is computing. Background "
            "progression (`plait record --progress`) may help."
        )
    return found


def _late(times: CollectiveTimes) -> list[str]:
    run = times.run
    return [
        f"Rank {row['late_rank']} {_comes(run, row)} {_place(run, row)}: "
        f"{format_time(row['cost_ns'])} of the run, in "
        f"{row['late_rank_times']:,} of {format_count(row['turns'], 'call')}."
        for row in late_groups(run, times.groups, times.length_ns).head(_SENTENCES_MAX).to_dicts()
    ]


def _comes(run: Run, row: Row) -> str:
    late = format_time(row["late_rank_median_ns"])
    if is_non_blocking(run.functions[row["function"]]):
        return f"begins so late that others wait {late} for it in"
    return f"arrives {late} late in"


def _after(run: Run, row: Row) -> str:
    is_begun = is_non_blocking(run.functions[row["function"]])
    return "after all waited for it" if is_begun else "after all had arrived"


def _calls(row: Row) -> str:
    return format_count(row["turns"], "call")


def _named(run: Run, row: Row) -> str:
    """With its place, size, layout and number of ranks."""
    size = f" of {format_bytes(row['block_bytes'])}" if row["block_bytes"] else ""
    layout = f"{' in' if size else ' of'} structs with gaps" if row["scattered"] else ""
    return f"{_place(run, row)}{size}{layout} on {format_count(row['members'], 'rank')}"


def _place(run: Run, row: Row) -> str:
    name = run.functions[row["function"]]
    return name if row["site"] < 0 else f"{name} at {run.sites[row['site']]}"


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= 10 else f"{factor:.1f} times"
