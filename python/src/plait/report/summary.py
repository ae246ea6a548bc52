# SPDX-License-Identifier: Apache-2.0
"""A run in a few numbers with their units, and in sentences: what most time was lost to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import polars as pl

from plait._units import format_bytes, format_time
from plait.measures.call_findings import find_call_losses
from plait.measures.collective_findings import find_slow_collectives, find_slow_structs
from plait.measures.findings import find_losses, message_totals
from plait.measures.loss_sentences import describe_loss
from plait.measures.messages import in_flight
from plait.report.analysis import Analysis


class Better(Enum):
    LESS = "less"
    MORE = "more"
    NEITHER = "neither"


class Unit(Enum):
    """What a number is of. The value of each is the unit that it is in."""

    TIME = "ns"
    BYTES = "bytes"
    RATE = "bytes/s"
    COUNT = ""
    SHARE = "1"

    def format(self, value: float) -> str:
        if self is Unit.TIME:
            return format_time(value)
        if self is Unit.BYTES:
            return format_bytes(value)
        if self is Unit.RATE:
            return f"{format_bytes(value)}/s"
        if self is Unit.SHARE:
            return f"{100 * value:.1f} %"
        return f"{value:,.0f}"


@dataclass(frozen=True)
class Quantity:
    """One number of a run."""

    name: str  # for programs; has the unit, but for counts, shares and imbalance
    text: str  # for people
    value: float | None  # None: the run has no such thing
    unit: Unit
    better: Better

    def __str__(self) -> str:
        return "–" if self.value is None else self.unit.format(self.value)


def summarise(analysis: Analysis) -> list[Quantity]:
    """All that a run may have, in the order in which they are read. Of the mean thread: times of all
    threads that compute or call, over their number."""
    run, length = analysis.run, length_ns(analysis)
    ranks, threads = max(1, len(run.ranks_present)), thread_count(analysis)
    has_events = analysis.calls.by_function.height > 0 and not run.is_profile
    has_calls, has_tasks = analysis.calls.by_function.height > 0, run.tasks.height > 0
    message_count, size = message_totals(run)
    curve = in_flight(analysis.matched.with_columns(pl.lit(0).alias("source"))).get(0)
    balance = analysis.traffic.balance
    computing = float(balance.computing_ns.sum()) / threads
    overlap = analysis.calls.overlap_by_rank
    possible, achieved = (float(overlap[name].sum()) for name in ("possible_ns", "achieved_ns"))
    lost = float(analysis.calls.waits["lost_ns"].sum()) / threads
    stalled = float(analysis.calls.stalled["stalled_ns"].sum()) / threads
    steps = analysis.steps["length_ns"]
    gaps = float((run.gaps["end_ns"] - run.gaps["start_ns"]).sum()) / ranks
    return [
        _time("length_ns", "time", length),
        _count("ranks", "ranks", run.ranks),
        _count("steps", "steps", steps.len() if steps.len() else None),
        _time("step_median_ns", "a step, in the median", _float(steps.median())),
        _time("computing_ns", "computing, of the mean thread", computing if balance.ranks else None),
        _time("in_calls_ns", "in calls, of the mean thread", length - computing if has_calls else None),
        _time("late_ns", "lost to late ranks, of the mean thread", lost if has_events else None),
        _time("stalled_ns", "waiting for data that was ready to move", stalled if has_events else None),
        Quantity(
            "overlap_share",
            "overlap achieved, of what was possible",
            achieved / possible if possible > 0 else None,
            Unit.SHARE,
            Better.MORE,
        ),
        _share(
            "idle_share",
            "workers idle",
            _float(analysis.ranks["idle_share"].mean()) if has_tasks else None,
        ),
        _share("imbalance", "imbalance of computing", balance.whole() if balance.ranks else None),
        _time("poll_gaps_ns", "no thread polled the network, a rank", gaps if run.gaps.height else None),
        _count("messages", "messages", message_count or None),
        _bytes("sent_bytes", "bytes sent", size if message_count else None),
        Quantity(
            "rate_bytes_per_s",
            "data rate, all ranks",
            size / max(1e-9, length * 1e-9) if message_count else None,
            Unit.RATE,
            Better.MORE,
        ),
        _bytes(
            "in_flight_max_bytes", "bytes in flight, at most", round(curve.peak()) if curve else None
        ),
        _bytes(
            "in_flight_mean_bytes", "bytes in flight, mean over time", curve.mean() if curve else None
        ),
        Quantity(
            "unmatched_messages",
            "messages without a partner",
            analysis.unmatched.sends + analysis.unmatched.receives if curve else None,
            Unit.COUNT,
            Better.LESS,
        ),
    ]


def find_all_losses(analysis: Analysis) -> list[str]:
    """Sentences about what cost most time, the most important first."""
    return [
        *find_all_call_losses(analysis),
        *find_losses(
            analysis.run,
            analysis.total_ns,
            length_ns(analysis),
            analysis.ranks,
            analysis.task_phases,
            analysis.shares,
            analysis.paths,
            analysis.matched,
            analysis.unmatched,
        ),
    ]


def find_all_call_losses(analysis: Analysis) -> list[str]:
    """Of a program that was recorded from outside; else none."""
    run, calls = analysis.run, analysis.calls
    length = length_ns(analysis)
    slow = [
        *find_slow_collectives(analysis.collective_times),
        *find_slow_structs(run, analysis.scattered_messages, length),
    ]
    return find_call_losses(run, calls, analysis.traffic.balance, slow)


def loss_records(analysis: Analysis) -> list[dict[str, Any]]:
    """All losses, the largest first; docs/reference/tables.md has the columns."""
    run, losses = analysis.run, analysis.losses
    found = []
    for loss in losses.found:
        text = describe_loss(run, losses, loss)
        found.append(
            {
                "name": loss.name,
                "lost_ns": loss.lost_ns,
                "share": loss.share,
                "gain_ns": loss.gain_ns,
                "rank": loss.rank if loss.rank >= 0 else None,
                "function": run.functions[loss.function] if loss.function >= 0 else None,
                "site": str(run.sites[loss.site]) if loss.site >= 0 else None,
                "is_large": loss in losses.largest,
                "what": text.what,
                "gain": text.gain,
                "remedy": text.remedy,
            }
        )
    return found


def loss_table(analysis: Analysis) -> pl.DataFrame:
    """`loss_records` as a frame."""
    return pl.DataFrame(loss_records(analysis), schema=_LOSS_COLUMNS)


_LOSS_COLUMNS = {
    "name": pl.String(),
    **{"lost_ns": pl.Int64(), "share": pl.Float64(), "gain_ns": pl.Int64(), "rank": pl.Int64()},
    **{"function": pl.String(), "site": pl.String(), "is_large": pl.Boolean()},
    **{"what": pl.String(), "gain": pl.String(), "remedy": pl.String()},
}


def length_ns(analysis: Analysis) -> int:
    """From the first task, or the end of MPI_Init, to the last, or the start of MPI_Finalize."""
    return analysis.working_ns[1] - analysis.working_ns[0]


def thread_count(analysis: Analysis) -> int:
    if analysis.run.tasks.height:
        return max(1, analysis.lanes.height)
    return max(1, round(analysis.calls.whole_ns / max(1, length_ns(analysis))))


def _time(name: str, text: str, value: float | None) -> Quantity:
    return Quantity(name, text, value, Unit.TIME, Better.LESS)


def _share(name: str, text: str, value: float | None) -> Quantity:
    return Quantity(name, text, value, Unit.SHARE, Better.LESS)


def _count(name: str, text: str, value: float | None) -> Quantity:
    return Quantity(name, text, value, Unit.COUNT, Better.NEITHER)


def _bytes(name: str, text: str, value: float | None) -> Quantity:
    return Quantity(name, text, value, Unit.BYTES, Better.NEITHER)


def _float(value: object) -> float | None:
    return None if value is None else float(str(value))
