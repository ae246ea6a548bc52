# SPDX-License-Identifier: Apache-2.0
"""What a run loses most time to: all measures of lost time on one scale.

The rule that makes them comparable: every nanosecond of a thread between the run's first and last work
belongs to at most one loss. A call's time is divided in this order: waiting for a rank that came late
(`wait_states`), waiting for data that was ready to move (`stalled_calls`), what packing of small
messages would save (`savings`), and the rest, by what the call does. Of the time in no call, or in
tasks, a part is lost where more threads compute at once than there are cores, and a part is the
recorder's own.

The gain is how much shorter the run would be at least. Waiting for late ranks ends when all compute
equally long: that saves what the longest computes above the mean, and no more than the mean thread
waits. Of every other loss, the run gains what even the rank loses that loses least of it; of what can
only be hidden behind computing, no more than that rank computes. Each gain is of that loss mended alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures import wait_states
from plait.measures.calls import calls_within
from plait.measures.communication import CallMeasures
from plait.measures.crowding import crowded_ns
from plait.measures.idle import union_until

#: A loss below this share of the threads' time is not worth a place among the largest.
WORTH = 0.02
#: How many are named.
NAMED_MAX = 3
#: What recording a call or a message takes, from `plait bench record` (docs/how-to/record.md).
RECORD_NS = 150
#: Calls of one function and size are compared with the quickest of them at this quantile.
_QUICK = 0.1
#: Fewer calls of one function and size than this have no quick ones to compare with.
_COMPARED_MIN = 10
#: A rank that computes less than this above the mean is as long as the others.
_UNEVEN = 0.02
#: The part of a loss from which on the rank that causes it is its reason.
_CAUSE = 2 / 3
_TIMES = ("start_ns", "end_ns")

LATE_SENDERS, LATE_RECEIVERS, LATE_AT_COLLECTIVES = (
    "late_senders",
    "late_receivers",
    "late_at_collectives",
)
UNPOLLED, SMALL_MESSAGES = "unpolled", "small_messages"
COLLECTIVES, TRANSFERS, FILES, OTHER_CALLS = "collectives", "transfers", "files", "other_calls"
UNEVEN_WORK, STARVED, HELD, NO_GRAPH = "uneven_work", "starved", "held", "no_graph"
CROWDED, RECORDING = "crowded", "recording"
_LATE = (LATE_SENDERS, LATE_RECEIVERS, LATE_AT_COLLECTIVES)
#: Hidden behind computing they cost nothing: they gain no more than a rank computes.
_HIDEABLE = (TRANSFERS, FILES)
_OF_WAIT_KIND = {
    wait_states.LATE_SENDER: LATE_SENDERS,
    wait_states.LATE_RECEIVER: LATE_RECEIVERS,
}
_OF_CLASS = {
    events.CALL_COLLECTIVE: COLLECTIVES,
    events.CALL_BEGINS: TRANSFERS,
    events.CALL_COMPLETES: TRANSFERS,
    events.CALL_MESSAGE: TRANSFERS,
    events.CALL_BEGINS_COLLECTIVE: TRANSFERS,
    events.CALL_ONE_SIDED: TRANSFERS,
    events.CALL_FILE: FILES,
}

#: Names of losses, each in a byte: a table has one for each call.
_NAME = pl.Enum([*_LATE, *dict.fromkeys(_OF_CLASS.values()), OTHER_CALLS])

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    name: str
    lost_ns: int  # of all threads
    share: float  # of Losses.whole_ns
    gain_ns: int  # by which the run would be shorter, at least
    rank: int = -1  # that causes most of it; -1: no single one
    caused: float = 0.0  # the part that this rank causes, 0 to 1
    computes: float = 0.0  # what this rank computes, over the mean of all
    function: int = -1  # in which most of it is lost: index into Run.functions
    site: int = -1  # where that is called: index into Run.sites
    place_share: float = 0.0  # the part that is lost there


@dataclass(frozen=True)
class Losses:
    """All that were found, the largest first; nothing where a run has neither calls nor tasks."""

    whole_ns: int  # the time of all threads: what shares are of
    length_ns: int  # of the run
    threads: int
    found: tuple[Loss, ...] = ()

    @property
    def largest(self) -> tuple[Loss, ...]:
        """Those to name: NAMED_MAX at most, each worth it."""
        return tuple(loss for loss in self.found if loss.share >= WORTH)[:NAMED_MAX]


def losses_of_calls(run: Run, calls: CallMeasures) -> Losses:
    """Of a program that was recorded from outside. Threads that call count, in `parallel_window`."""
    parts = _call_parts(run, calls)
    low, high = calls.window_ns
    lanes = parts.select("rank", "worker").unique().group_by("rank").agg(pl.len().alias("threads"))
    in_calls = parts.group_by("rank").agg(pl.col("length_ns").sum())
    ranks = lanes.join(in_calls, on="rank").sort("rank")
    threads = ranks["threads"].to_numpy().astype(np.float64)
    computing = np.maximum(threads * (high - low) - ranks["length_ns"].to_numpy(), 0.0)
    numbers = ranks["rank"].to_numpy()
    scale = _Scale(calls.whole_ns, high - low, numbers, threads, computing)
    found = [*_of_calls(parts, calls, scale), *_of_computing(run, calls.window_ns, scale)]
    return scale.losses(found)


def losses_of_tasks(run: Run, dead: pl.DataFrame, window_ns: tuple[int, int]) -> Losses:
    """Of a run of tasks. `dead`: `dead_time_totals` of `window_ns`. Workers count."""
    unpolled = pl.Series("unpolled_ns", _idle_in_gaps(run, dead, window_ns), dtype=pl.Int64)
    workers = dead.with_columns(unpolled).with_columns(
        pl.min_horizontal("unpolled_ns", "starved_ns").alias("unpolled_ns")
    )
    ranks = (
        workers.group_by("rank").agg(pl.len().alias("threads"), pl.exclude("rank").sum()).sort("rank")
    )
    threads = ranks["threads"].to_numpy().astype(np.float64)
    length = window_ns[1] - window_ns[0]
    scale = _Scale(
        int(threads.sum()) * length,
        length,
        ranks["rank"].to_numpy(),
        threads,
        ranks["busy_ns"].to_numpy().astype(np.float64),
    )
    column = {
        UNEVEN_WORK: pl.col("before_ns") + pl.col("after_ns"),
        STARVED: pl.col("starved_ns") - pl.col("unpolled_ns"),
        UNPOLLED: pl.col("unpolled_ns"),
        HELD: pl.col("held_ns"),
        NO_GRAPH: pl.col("outside_ns"),
    }
    found = []
    for name, lost in column.items():
        by_rank = ranks.select(lost.alias("lost"))["lost"].to_numpy().astype(np.float64)
        gain = scale.balance_gain(by_rank.sum()) if name == UNEVEN_WORK else scale.least(by_rank)
        more = scale.cause(scale.longest) if name == UNEVEN_WORK else {}
        found.append(scale.loss(name, by_rank.sum(), gain, **more))
    return scale.losses([*found, *_of_computing(run, window_ns, scale)])


@dataclass(frozen=True)
class _Scale:
    """What all losses of a run are measured against. Arrays have an entry for each rank."""

    whole_ns: int
    length_ns: int
    ranks: npt.NDArray[np.integer]
    threads: Floats
    computing_ns: Floats  # of all threads of a rank

    @property
    def each_ns(self) -> Floats:
        """What the mean thread of each rank computes."""
        return self.computing_ns / self.threads

    @property
    def mean_ns(self) -> float:
        return float(self.computing_ns.sum() / self.threads.sum())

    @property
    def longest(self) -> int:
        return int(self.ranks[int(self.each_ns.argmax())])

    def balance_gain(self, lost_ns: float) -> float:
        """If all computed equally long."""
        return min(lost_ns / float(self.threads.sum()), float(self.each_ns.max()) - self.mean_ns)

    def least(self, lost_ns: Floats) -> float:
        """Of a loss by rank: what even the rank loses that loses least."""
        return float((lost_ns / self.threads).min()) if lost_ns.size else 0.0

    def by_rank(self, table: pl.DataFrame, column: str) -> Floats:
        """The sums of a column over each rank."""
        sums = dict(table.group_by("rank").agg(pl.col(column).sum()).iter_rows())
        return np.asarray([float(sums.get(int(rank), 0)) for rank in self.ranks])

    def cause(self, rank: int, caused: float = 1.0) -> dict[str, float]:
        """Of a loss for which one rank is the reason."""
        at = np.flatnonzero(self.ranks == rank)
        over = float(self.each_ns[at[0]]) / max(1.0, self.mean_ns) if at.size else 0.0
        return {"rank": rank, "caused": caused, "computes": over}

    def loss(self, name: str, lost_ns: float, gain_ns: float, **more: float) -> Loss:
        """`more`: further fields."""
        share = lost_ns / self.whole_ns if self.whole_ns > 0 else 0.0
        return Loss(name, round(lost_ns), share, max(0, int(gain_ns)), **more)  # type: ignore[arg-type]

    def losses(self, found: Iterable[Loss]) -> Losses:
        kept = sorted((loss for loss in found if loss.lost_ns > 0), key=lambda one: -one.lost_ns)
        return Losses(self.whole_ns, self.length_ns, int(self.threads.sum()), tuple(kept))


def _call_parts(run: Run, calls: CallMeasures) -> pl.DataFrame:
    """The calls with what each part of their time went to: late_ns, stalled_ns, own_ns add up to
    length_ns; the loss that late_ns belongs to, and that of the rest."""
    late = calls.waits.select("call", "kind", "peer", pl.col("lost_ns").alias("late_ns"))
    stalled = calls.stalled.select("call", "stalled_ns")
    to_late = pl.col("kind").replace_strict(
        _OF_WAIT_KIND, default=LATE_AT_COLLECTIVES, return_dtype=_NAME
    )
    to_own = pl.col("class").replace_strict(_OF_CLASS, default=OTHER_CALLS, return_dtype=_NAME)
    columns = ("rank", "worker", "function", "site", "communicator", "class", "bytes_given", *_TIMES)
    return (
        calls_within(run, calls.window_ns, *columns)
        .select(columns)
        .with_row_index("call")
        .join(late, on="call", how="left", maintain_order="left")
        .join(stalled, on="call", how="left", maintain_order="left")
        .with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"))
        .with_columns(pl.min_horizontal(pl.col("late_ns").fill_null(0), "length_ns").alias("late_ns"))
        .with_columns(
            pl.min_horizontal(
                pl.col("stalled_ns").fill_null(0), pl.col("length_ns") - pl.col("late_ns")
            ).alias("stalled_ns")
        )
        .with_columns(
            (pl.col("length_ns") - pl.col("late_ns") - pl.col("stalled_ns")).alias("own_ns"),
            to_late.alias("late"),
            to_own.alias("own"),
        )
        .drop(_TIMES)
    )


def _of_calls(parts: pl.DataFrame, calls: CallMeasures, scale: _Scale) -> list[Loss]:
    late_ns = float(parts["late_ns"].sum())
    gain = scale.balance_gain(late_ns)
    found = []
    for name in _LATE:
        own = parts.filter((pl.col("late_ns") > 0) & (pl.col("late") == name))
        lost = float(own["late_ns"].sum())
        if lost > 0:
            more = _place(own, "late_ns") | _cause(own, scale)
            found.append(scale.loss(name, lost, gain * lost / late_ns, **more))
    stalled = parts.filter(pl.col("stalled_ns") > 0)
    by_rank = scale.by_rank(stalled, "stalled_ns")
    found.append(
        scale.loss(UNPOLLED, by_rank.sum(), scale.least(by_rank), **_place(stalled, "stalled_ns"))
    )
    packing = _packing(parts, calls, scale)
    found.append(scale.loss(SMALL_MESSAGES, packing.sum(), scale.least(packing)))
    for name in (COLLECTIVES, TRANSFERS, FILES, OTHER_CALLS):
        own = parts.filter((pl.col("own") == name) & (pl.col("own_ns") > 0))
        by_rank = scale.by_rank(own, "own_ns") - (packing if name == TRANSFERS else 0.0)
        gain = scale.least(_gain_by_rank(name, own, by_rank, scale))
        found.append(scale.loss(name, by_rank.sum(), gain, **_place(own, "own_ns")))
    return found


def _packing(parts: pl.DataFrame, calls: CallMeasures, scale: _Scale) -> Floats:
    """By rank; never more than posting took that belongs to nothing else."""
    posting = scale.by_rank(parts.filter(pl.col("class") == events.CALL_BEGINS), "own_ns")
    return np.minimum(scale.by_rank(calls.savings.ranks, "packing_ns"), posting)


def _gain_by_rank(name: str, own: pl.DataFrame, lost_ns: Floats, scale: _Scale) -> Floats:
    if name in _HIDEABLE:
        return np.minimum(lost_ns, scale.computing_ns)
    if name == COLLECTIVES:
        return scale.by_rank(_above_the_quickest(own), "above_ns")
    return np.zeros(lost_ns.size)


def _above_the_quickest(own: pl.DataFrame) -> pl.DataFrame:
    """How much longer each call took than the quickest tenth of its function, size and communicator."""
    key = ["rank", "function", "communicator", "bytes_given"]
    quick = pl.col("own_ns").quantile(_QUICK, "lower").over(key)
    return own.with_columns(
        pl.when(pl.len().over(key) >= _COMPARED_MIN)
        .then((pl.col("own_ns") - quick).clip(0))
        .otherwise(0)
        .alias("above_ns")
    )


def _place(own: pl.DataFrame, column: str) -> dict[str, float]:
    """The call site where most is lost."""
    lost = pl.col(column).sum().alias("lost")
    sites = own.group_by("function", "site").agg(lost).sort("lost", "site", descending=[True, False])
    if not sites.height:
        return {}
    function, site, most = sites.row(0)
    share = most / max(1.0, float(sites["lost"].sum()))
    return {"function": function, "site": site, "place_share": share}


def _cause(own: pl.DataFrame, scale: _Scale) -> dict[str, float]:
    """The rank that most was waited for, where it is one: _CAUSE of it or more."""
    lost = pl.col("late_ns").sum().alias("lost")
    peers = own.group_by("peer").agg(lost).sort("lost", "peer", descending=[True, False])
    peer, most = peers.row(0)
    caused = most / max(1.0, float(peers["lost"].sum()))
    return scale.cause(peer, caused) if peer >= 0 and caused >= _CAUSE else {}


def is_uneven(loss: Loss) -> bool:
    """Whether the rank that causes it computes longer than the others."""
    return loss.rank >= 0 and loss.computes > 1.0 + _UNEVEN


def _of_computing(run: Run, window_ns: tuple[int, int], scale: _Scale) -> list[Loss]:
    """What is lost of the time in which threads compute."""
    crowded = np.minimum(crowded_ns(run, window_ns, scale.ranks), scale.computing_ns)
    recording = np.minimum(_recording_ns(run, scale), scale.computing_ns - crowded)
    return [
        scale.loss(CROWDED, crowded.sum(), scale.least(crowded)),
        scale.loss(RECORDING, recording.sum(), scale.least(recording)),
    ]


def _recording_ns(run: Run, scale: _Scale) -> Floats:
    """Of programs recorded from outside; what plait's own recorder takes is in no measure."""
    if not run.calls.height:
        return np.zeros(scale.ranks.size)
    counts = pl.concat([run.calls.select("rank"), run.messages.select("rank")])
    return RECORD_NS * scale.by_rank(counts.with_columns(pl.lit(1).alias("records")), "records")


def _idle_in_gaps(run: Run, dead: pl.DataFrame, window_ns: tuple[int, int]) -> list[int]:
    """Of each worker of `dead`: how long it ran no task while no thread of its rank polled."""
    tasks = run.tasks.filter(pl.col("role") == events.ROLE_TASK).partition_by(
        "rank", "worker", as_dict=True
    )
    gaps = run.gaps.partition_by("rank", as_dict=True)
    found = []
    for rank, worker in dead.select("rank", "worker").iter_rows():
        own, gap = tasks.get((rank, worker)), gaps.get((rank,))
        if gap is None or own is None:
            found.append(0)
            continue
        both = pl.concat([own.select(_TIMES), gap.select(_TIMES)])
        found.append(round(_covered(both, window_ns) - _covered(own, window_ns)))
    return found


def _covered(intervals: pl.DataFrame, window_ns: tuple[int, int]) -> float:
    until = union_until(*(intervals[name].to_numpy() for name in _TIMES))
    low, high = until(np.asarray(window_ns, dtype=np.int64))
    return float(high - low)
