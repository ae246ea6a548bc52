# SPDX-License-Identifier: Apache-2.0
"""What in a run cannot be right, or is missing, that no single file shows: sentences."""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._units import format_bytes, format_count, format_time

_SHOWN_MAX = 5


def find_trouble(run: Run, matched: pl.DataFrame, unmatched: pl.DataFrame) -> list[str]:
    """`matched`: match_messages; `unmatched`: unmatched_messages."""
    return [
        *_clocks_backwards(run),
        *_early(run, matched),
        *_differing_ranks(run),
        *_unmatched(run, unmatched),
        *_open_regions(run),
        *_recording_off(run),
    ]


def _open_regions(run: Run) -> list[str]:
    if not run.open_regions.height:
        return []
    groups = (
        run.open_regions.group_by("kind")
        .agg(pl.len().alias("count"), pl.col("rank").unique().sort(), pl.col("start_ns").min())
        .sort("count", "kind", descending=[True, False])
    )
    lines = [
        f'The region "{run.span_kinds[kind]}" was begun and not ended, {format_count(count, "time")} on '
        f"{_ranks(ranks)}: it is shown up to the end of its thread, or of the recording"
        for kind, count, ranks in groups.head(_SHOWN_MAX).select("kind", "count", "rank").rows()
    ]
    if groups.height > _SHOWN_MAX:
        lines.append(f"and {groups.height - _SHOWN_MAX} more regions that were begun and not ended")
    return lines


def _differing_ranks(run: Run) -> list[str]:
    """Ranks that have not recorded what others have, or a program that did nothing."""
    of_calls = run.calls.select("rank", "class").filter(pl.col("class") != events.CALL_BEGINS_OR_ENDS)
    if run.calls.height and not (of_calls.height or run.tasks.height or run.spans.height):
        return [
            "The program called MPI only to begin and to end: there is nothing that ranks could wait for"
        ]
    lines = []
    for table, what in (
        (run.engines if run.calls.height else run.engines.clear(), "what plait's engine did"),
        (of_calls, "MPI calls"),
        (run.tasks, "tasks"),
    ):
        having = set(table["rank"].unique().to_list())
        lacking = [rank for rank in run.ranks_present if rank not in having]
        if table.height and lacking:
            has, it = ("has", "it") if len(lacking) == 1 else ("have", "them")
            lines.append(
                f"{_ranks(lacking).capitalize()} {has} no record of {what}, as others have: figures of "
                f"that are without {it}"
            )
    return lines


def _recording_off(run: Run) -> list[str]:
    if events.RECORDING_OFF not in run.span_kinds:
        return []
    off = run.spans.filter(pl.col("kind") == run.span_kinds.index(events.RECORDING_OFF))
    by_rank = off.group_by("rank").agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("off_ns"))
    if not by_rank.height:
        return []
    rank, most = by_rank.sort("off_ns", "rank", descending=[True, False]).row(0)
    return [
        f"MPI_Pcontrol(0) switched the recording off on {format_count(by_rank.height, 'rank')}, for up "
        f"to {format_time(most)} (rank {rank}): calls in this time are not shown, and it counts as "
        "computing"
    ]


def _ranks(ranks: list[int]) -> str:
    some = ", ".join(str(rank) for rank in ranks[:_SHOWN_MAX])
    word = "rank" if len(ranks) == 1 else "ranks"
    return f"{word} {some}" + (" ..." if len(ranks) > _SHOWN_MAX else "")


def _clocks_backwards(run: Run) -> list[str]:
    """Calls of one thread are in the order in which they ended.

    A non-blocking collective as a whole ends with a call that may be recorded after it.
    """
    calls = run.calls.select("rank", "worker", "class", "end_ns").filter(
        pl.col("class") != events.CALL_BEGUN_COLLECTIVE
    )
    if not calls.height:
        return []
    jumps = calls.select(
        "rank",
        pl.col("end_ns").diff().over("rank", "worker").alias("step"),
    )
    back = jumps.filter(pl.col("step") < 0)
    if not back.height:
        return []
    ranks = ", ".join(str(rank) for rank in back["rank"].unique().sort().head(_SHOWN_MAX))
    return [
        f"The clock of rank {ranks} ran backwards {format_count(back.height, 'time')}, by up to "
        f"{format_time(-int(back['step'].to_numpy().min()))}: times there are wrong by as much"
    ]


def _early(run: Run, matched: pl.DataFrame) -> list[str]:
    early = (pl.col("sent_ns") - pl.col("received_ns")).alias("early")
    found = matched.select("source", "destination", early).filter(pl.col("early") > run.clock_error_ns)
    if not found.height:
        return []
    source, to, most = found.sort("early", descending=True).row(0)
    they = "it was" if found.height == 1 else "they were"
    return [
        f"{format_count(found.height, 'message')} arrived before {they} sent, by up to "
        f"{format_time(most)} (from rank {source} to {to}): their clocks disagree by at least as much"
    ]


def _unmatched(run: Run, unmatched: pl.DataFrame) -> list[str]:
    """Of programs recorded from outside: those of the same call site and pair of ranks in one line."""
    own = unmatched.filter(pl.col("number") > 0)
    if not own.height:
        return []
    groups = (
        own.group_by("received", "function", "site", "source", "destination", "unfinished")
        .agg(pl.len().alias("count"), pl.col("tag").first(), pl.col("size_bytes").first())
        .sort("count", "received", "source", "destination", descending=[True, False, False, False])
    )
    lines = [_line(run, group) for group in groups.head(_SHOWN_MAX).iter_rows(named=True)]
    if groups.height > _SHOWN_MAX:
        lines.append(
            f"and sends and receives without a partner of {groups.height - _SHOWN_MAX} more kinds"
        )
    return lines


def _line(run: Run, group: dict[str, int]) -> str:
    what = "receive" if group["received"] else "send"
    source = "any rank" if group["source"] < 0 else f"rank {group['source']}"
    if group["received"]:
        of = f"on rank {group['destination']} from {source}"
    else:
        of = f"from {source} to rank {group['destination']}"
    by = ""
    if group["function"] >= 0:
        by = f", posted by {run.functions[group['function']]}"
        by += f" at {run.sites[group['site']]}" if group["site"] >= 0 else ""
    tag = f" (the first: tag {group['tag']}, {format_bytes(group['size_bytes'])})"
    had = (
        "never completed" if group["received"] and group["unfinished"] else "has no partner in the trace"
    )
    if group["count"] > 1:
        had = had.replace("has", "have")
    return f"{format_count(group['count'], what)} {of}{tag}{by}: {had}"
