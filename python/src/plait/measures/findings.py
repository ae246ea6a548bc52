# SPDX-License-Identifier: Apache-2.0
"""The biggest losers of time, in plain sentences."""

from __future__ import annotations

import polars as pl

from plait._events import Run
from plait._units import format_bytes, format_count, format_share, format_time
from plait.measures import critical_path
from plait.measures.idle import overlap_ns
from plait.measures.messages import Unmatched
from plait.measures.profile import message_sums

_FINDINGS_MAX = 7


def find_losses(
    run: Run,
    total_ns: int,
    working_ns: int,
    ranks: pl.DataFrame,
    phases: pl.DataFrame,
    shares: pl.DataFrame,
    paths: pl.DataFrame,
    matched: pl.DataFrame,
    unmatched: Unmatched,
) -> list[str]:
    """Sentences, the most important first. Each names a number that a figure shows."""
    return [
        *_idle(ranks),
        *_outside(total_ns, working_ns),
        *_path(shares),
        *_unwatched(paths, run.gaps),
        *_imbalance(phases),
        *(_late_completion(matched) if not run.engine_messages.height else []),  # that is its purpose
        *_gaps(run.gaps),
        *_unmatched(unmatched),
    ][:_FINDINGS_MAX]


def _idle(ranks: pl.DataFrame) -> list[str]:
    if not ranks.height:
        return []
    mean = float(ranks["idle_share"].to_numpy().mean())
    if mean < 0.02:
        return [
            "Workers were busy nearly all the time from the first task to the last: only "
            f"{100 * mean:.1f} % was idle."
        ]
    ordered = ranks.sort("idle_share", descending=True)
    most, least = ordered.row(0, named=True), ordered.row(-1, named=True)
    text = f"Workers had no task for {100 * mean:.1f} % of the time between the first and the last"
    if ordered.height > 1 and most["idle_share"] - least["idle_share"] > max(0.03, 0.3 * mean):
        return [
            f"{text}: rank {most['rank']} waited most ({100 * most['idle_share']:.1f} %), rank "
            f"{least['rank']} least ({100 * least['idle_share']:.1f} %), so the load is uneven."
        ]
    return [f"{text}, much the same on every rank."]


def _outside(total_ns: int, working_ns: int) -> list[str]:
    """Time before the first task and after the last."""
    outside = total_ns - working_ns
    if outside < 0.1 * total_ns:
        return []
    return [
        f"{format_share(outside, total_ns)} of the traced time ({format_time(outside)}) lay before "
        "the first task and after the last: start, end, and work outside tasks."
    ]


def _path(shares: pl.DataFrame) -> list[str]:
    if not shares.height:
        return []
    whole = int(shares["time_ns"].sum())
    top = shares.filter(pl.col("what") == critical_path.RUN).head(3)
    parts = [
        f"{name} {format_share(time, whole)}" for name, time in top.select("name", "time_ns").iter_rows()
    ]
    found = []
    if parts:
        found.append(f"The critical path was mostly computing: {', '.join(parts)} of its length.")
    waits = {
        critical_path.TRANSFER: "messages under way, which work that does not depend on them could hide",
        critical_path.NOTICE: "messages that were through but not noticed: the network was not polled "
        "often enough",
        critical_path.WORKER_WAIT: "tasks that were ready but had not started, though their worker "
        "ran nothing (a lock, or the scheduler's own time)",
        critical_path.RELEASE: "the time between a task's end and its successors being ready",
    }
    for what, text in waits.items():
        time = int(shares.filter(pl.col("what") == what)["time_ns"].sum())
        if time > 0.05 * whole:
            found.append(
                f"{format_share(time, whole)} of the critical path ({format_time(time)}) was {text}."
            )
    computing = int(shares.filter(pl.col("what") == critical_path.RUN)["time_ns"].sum())
    if parts and computing < 0.5 * whole:
        found[0] = f"Computing made up only {format_share(computing, whole)} of the critical path."
    return found


def _unwatched(paths: pl.DataFrame, gaps: pl.DataFrame) -> list[str]:
    """How much of the messages' time on the path fell into poll gaps of the rank that waited."""
    waits = paths.filter(pl.col("what").is_in([critical_path.TRANSFER, critical_path.NOTICE]))
    whole = int((waits["end_ns"] - waits["start_ns"]).sum()) if waits.height else 0
    unseen = 0
    for (rank,), own in waits.group_by(["rank"]):
        there = gaps.filter(pl.col("rank") == rank)
        unseen += overlap_ns(
            *(own[name].to_numpy() for name in ("start_ns", "end_ns")),
            *(there[name].to_numpy() for name in ("start_ns", "end_ns")),
        )
    length = int((paths["end_ns"] - paths["start_ns"]).sum()) if paths.height else 0
    if unseen < 0.05 * length or whole == 0:
        return []
    return [
        f"For {format_share(unseen, whole)} of the time that messages took on the critical path, no "
        "thread of the waiting rank polled the network: they may have arrived long before."
    ]


def _imbalance(phases: pl.DataFrame) -> list[str]:
    if not phases.height:
        return []
    lost = phases.with_columns((pl.col("max_ns") - pl.col("mean_ns")).alias("lost_ns"))
    worst = lost.sort("lost_ns", descending=True).row(0, named=True)
    whole = float(phases["mean_ns"].sum())
    if worst["imbalance"] < 1.05 or worst["lost_ns"] < 0.02 * whole:
        return []
    return [
        f"{worst['phase']} is the least balanced phase: the slowest rank spent "
        f"{worst['imbalance']:.2f} times the mean, {format_time(worst['lost_ns'])} more."
    ]


def _late_completion(matched: pl.DataFrame) -> list[str]:
    """How long messages lay at the receiver before its program was notified."""
    if not matched.height:
        return []
    ready = pl.max_horizontal("arrived_ns", "expected_ns")
    late = matched.select((pl.col("received_ns") - ready).clip(0).alias("late_ns"))["late_ns"]
    under_way = (matched["received_ns"] - matched["sent_ns"]).to_numpy()
    total, whole = int(late.sum()), int(under_way.sum())
    if whole <= 0 or total < 0.1 * whole:
        return []
    return [
        f"Messages lay {format_share(total, whole)} of their time at the receiver before it was "
        f"notified (mean {format_time(total / matched.height)}): no thread polled the network."
    ]


def _gaps(gaps: pl.DataFrame) -> list[str]:
    if not gaps.height:
        return []
    length = (gaps["end_ns"] - gaps["start_ns"]).to_numpy()
    return [
        f"In {format_count(gaps.height, 'gap')} no thread polled the network although something was "
        f"in flight: {format_time(float(length.sum()))} in all, the longest "
        f"{format_time(float(length.max()))}."
    ]


def _unmatched(unmatched: Unmatched) -> list[str]:
    if unmatched.sends + unmatched.receives == 0:
        return []
    return [
        f"{format_count(unmatched.sends, 'send')} and "
        f"{format_count(unmatched.receives, 'receive')} have no partner in the trace: the other "
        "side's record is missing (a killed run, or a missing rank)."
    ]


def message_totals(run: Run) -> tuple[int, int]:
    """Messages and bytes sent; where no send was recorded, received."""
    if run.is_profile:
        sums = message_sums(run)
        return int(sums["count"].sum()), int(sums["bytes_given"].sum())
    side = run.messages.filter(~pl.col("received"))
    if not side.height:
        side = run.messages
    return side.height, int(side["size_bytes"].sum())


def describe_messages(run: Run) -> str:
    count, size = message_totals(run)
    return f"{format_count(count, 'message')}, {format_bytes(size)}"
