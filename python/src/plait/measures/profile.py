# SPDX-License-Identifier: Apache-2.0
"""Measures of a profile: sums of calls and messages in the place of the events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run

if TYPE_CHECKING:
    from plait.measures.communication import CallMeasures

#: Why a report of a profile has no waits of one rank for another.
NOT_KNOWN = (
    "This is a profile: it has sums, not events. Which rank came late, what was in flight and what "
    "could overlap cannot be known from sums. Data with gaps in memory (structs, columns) and data "
    "without are in the same sums: what the gaps cost needs a window."
)
_COUNTED = ("count", "time_ns", "bytes_given", "bytes_got")


def profile_call_times(run: Run, proper: pl.DataFrame, whole_ns: int) -> Callable[..., pl.DataFrame]:
    """As `call_times`, of the sums of a profile: a function of the columns `by`.

    `proper`: the calls that are known one by one, `calls_within`: those that begin and end the library.
    """
    parts = [_of_events(proper), _of_sums(run)]
    rows = pl.concat(part.select(parts[0].columns) for part in parts)

    def times(*by: str) -> pl.DataFrame:
        return (
            rows.group_by(*by)
            .agg(pl.col(*_COUNTED).sum(), pl.col("max_ns").max())
            .filter(pl.col("count") > 0)
            .with_columns(
                (pl.col("time_ns") / pl.col("count")).alias("mean_ns"),
                (pl.col("time_ns") / max(1, whole_ns)).alias("share"),
            )
            .sort("time_ns", *by, descending=[True, *[False] * len(by)])
        )

    return times


def _of_events(calls: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("end_ns") - pl.col("start_ns")
    return calls.select(
        *("rank", "worker", "function", "site", "class"),
        (pl.col("repeats") + 1).cast(pl.Int64).alias("count"),
        length.alias("time_ns"),
        *("bytes_given", "bytes_got"),
        length.alias("max_ns"),
    )


def _of_sums(run: Run) -> pl.DataFrame:
    return call_sums(run).select(
        *("rank", "worker", "function", "site", "class", *_COUNTED),
        pl.col("time_max_ns").alias("max_ns"),
    )


def call_sums(run: Run) -> pl.DataFrame:
    """The sums of calls, without those that begin or end the library and those of whole collectives."""
    apart = [events.CALL_BEGINS_OR_ENDS, events.CALL_BEGUN_COLLECTIVE]
    return run.sums.filter((pl.col("of") == events.SUM_OF_CALLS) & ~pl.col("class").is_in(apart))


def lanes(run: Run) -> pl.DataFrame:
    """The threads that called: rank and worker."""
    known = run.sums.filter(pl.col("folded") != events.FOLDED_CLASS_ONLY)
    return known.select("rank", "worker").unique().sort("rank", "worker")


def message_sums(run: Run) -> pl.DataFrame:
    """Messages as their senders counted them; where no rank did, as the receivers."""
    sides = message_sides(run)
    sent = sides.filter(pl.col("of") == events.SUM_OF_SENT)
    return sent if sent.height else sides.filter(pl.col("of") == events.SUM_OF_RECEIVED)


def message_sides(run: Run) -> pl.DataFrame:
    """The sums of messages, of MPI and of plait's engine: of (as in `Run.sums`), rank, peer, size_class,
    folded, count, bytes_given."""
    columns = ("of", "rank", "peer", "size_class", "folded", "count", "bytes_given")
    own = pl.col("communicator") >= events.OWN_COMMUNICATORS
    of_engine = run.engine_sums.filter(
        pl.col("of").is_in([events.ENGINE_SENT, events.ENGINE_RECEIVED]) & ~own
    ).with_columns(
        pl.when(pl.col("of") == events.ENGINE_SENT)
        .then(events.SUM_OF_SENT)
        .otherwise(events.SUM_OF_RECEIVED)
        .cast(run.sums.schema["of"])
        .alias("of"),
        pl.col("bytes").alias("bytes_given"),
    )
    of_mpi = run.sums.filter(pl.col("of") != events.SUM_OF_CALLS)
    return pl.concat([of_mpi.select(columns), of_engine.select(columns)])


def sides_by_rank(run: Run) -> pl.DataFrame:
    """rank, sent_messages, sent_bytes, received_messages, received_bytes."""
    sides = message_sides(run)
    found = pl.concat([run.sums.select("rank"), run.engine_sums.select("rank")]).unique()
    for name, of in (("sent", events.SUM_OF_SENT), ("received", events.SUM_OF_RECEIVED)):
        own = sides.filter(pl.col("of") == of)
        counted = own.group_by("rank").agg(
            pl.col("count").sum().alias(f"{name}_messages"),
            pl.col("bytes_given").sum().alias(f"{name}_bytes"),
        )
        found = found.join(counted, on="rank", how="left")
    return found


def profile_matrix(run: Run) -> pl.DataFrame:
    """As `message_matrix`. Messages whose peer was folded are in no row."""
    missing = [rank for rank in range(run.ranks) if rank not in set(run.ranks_present)]
    is_sent = pl.col("of") == events.SUM_OF_SENT
    kept = is_sent | ((pl.col("of") == events.SUM_OF_RECEIVED) & pl.col("peer").is_in(missing))
    return (
        message_sides(run)
        .filter(kept & (pl.col("peer") >= 0))
        .select(
            pl.when(is_sent).then("rank").otherwise("peer").alias("source"),
            pl.when(is_sent).then("peer").otherwise("rank").alias("destination"),
            pl.col("count").alias("messages"),
            pl.col("bytes_given").alias("bytes"),
        )
        .group_by("source", "destination")
        .agg(pl.col("messages", "bytes").sum())
        .sort("source", "destination")
    )


def size_sums(run: Run) -> pl.DataFrame:
    """power, messages, bytes: messages by size class; those whose class was folded by their mean."""
    found = message_sums(run)
    mean = (pl.col("bytes_given") / pl.col("count")).round().cast(pl.Int64)
    of_mean = pl.when(mean <= 0).then(0).otherwise(64 - mean.bitwise_leading_zeros().cast(pl.Int64))
    is_folded = pl.col("folded") == events.FOLDED_CLASS_ONLY
    return (
        found.with_columns(
            pl.when(is_folded)
            .then(of_mean)
            .otherwise(pl.col("size_class").cast(pl.Int64))
            .alias("power")
        )
        .group_by("power")
        .agg(pl.col("count").sum().alias("messages"), pl.col("bytes_given").sum().alias("bytes"))
    )


def computing_by_rank(run: Run, in_calls: pl.DataFrame, length_ns: int) -> npt.NDArray[np.float64]:
    """Of each of `run.ranks_present`: the time of its threads in no call. `in_calls`: rank, time_ns."""
    counted = lanes(run).group_by("rank").agg(pl.len().alias("threads"))
    joined = counted.join(in_calls.select("rank", "time_ns"), on="rank", how="left").fill_null(0)
    found = {
        rank: max(0.0, float(threads * length_ns - time))
        for rank, threads, time in joined.select("rank", "threads", "time_ns").iter_rows()
    }
    return np.array([found.get(rank, 0.0) for rank in run.ranks_present])


@dataclass(frozen=True)
class RankClasses:
    """What each rank's time went into. Classes: -1 is computing, others are those of calls."""

    ranks: list[int]
    classes: list[int]
    values: npt.NDArray[np.float64]  # [rank, class], nanoseconds

    @property
    def texts(self) -> list[str]:
        return [
            events.CALL_CLASSES[what] if what >= 0 else "computing (in no call)" for what in self.classes
        ]


def rank_classes(run: Run, calls: CallMeasures) -> RankClasses:
    """The largest class first, behind computing."""
    found = calls.by_rank_and_class
    order = (
        found.group_by("class").agg(pl.col("time_ns").sum()).sort("time_ns", "class", descending=True)
    )
    classes = [-1, *order["class"].to_list()]
    ranks = list(run.ranks_present) if found.height else []
    values = np.zeros((len(ranks), len(classes)))
    at = {rank: index for index, rank in enumerate(ranks)}
    for rank, what, time in found.select("rank", "class", "time_ns").iter_rows():
        values[at[rank], classes.index(what)] = time
    length = calls.window_ns[1] - calls.window_ns[0]
    if ranks:
        values[:, 0] = computing_by_rank(run, calls.by_rank, length)
    return RankClasses(ranks, classes, values)


def durations(run: Run) -> pl.DataFrame:
    """A row for each function, longest time first: function, count, time_ns, max_ns, p50_ns, p90_ns,
    p99_ns and BIN_COLUMNS. Quantiles are read from the bins, which double: right within a factor of
    2."""
    found = (
        call_sums(run)
        .filter(pl.col("function") >= 0)
        .group_by("function")
        .agg(
            pl.col("count", "time_ns").sum(),
            pl.col("time_max_ns").max().alias("max_ns"),
            pl.col(*events.BIN_COLUMNS).sum(),
        )
        .sort("time_ns", "function", descending=[True, False])
    )
    return with_quantiles(found)


def with_quantiles(found: pl.DataFrame) -> pl.DataFrame:
    """With p50_ns, p90_ns and p99_ns, of a table with max_ns and BIN_COLUMNS."""
    bins = found.select(events.BIN_COLUMNS).to_numpy().astype(np.float64)
    most = found["max_ns"].to_numpy().astype(np.float64)
    return found.with_columns(
        pl.Series(f"p{share}_ns", np.minimum(_quantile(bins, share / 100), most))
        for share in (50, 90, 99)
    )


def bin_edges_ns() -> npt.NDArray[np.float64]:
    """Of the bins of durations; the last one is open and shown as one that doubles."""
    return np.concatenate(([0.0], 2.0 ** np.arange(8, 8 + events.TIME_BINS)))


def _quantile(bins: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.float64]:
    """Within a bin, calls are taken to be evenly spread."""
    edges = bin_edges_ns()
    until = np.cumsum(bins, axis=1)
    wanted = share * until[:, -1:]
    at = np.minimum((until < wanted).sum(axis=1), bins.shape[1] - 1)
    rows = np.arange(bins.shape[0])
    before = until[rows, at] - bins[rows, at]
    part = (wanted[:, 0] - before) / np.maximum(bins[rows, at], 1.0)
    found: npt.NDArray[np.float64] = edges[at] + np.clip(part, 0.0, 1.0) * (edges[at + 1] - edges[at])
    return found


def describe_profile(run: Run) -> list[str]:
    """What a reader must know of a profile before its numbers, in sentences."""
    found = [NOT_KNOWN + _windows_in_words(run)]
    for folded, what in (
        (events.FOLDED_WITHOUT_PEER, "have a place and a size, but no peer and no communicator"),
        (events.FOLDED_CLASS_ONLY, "have a class only, no function, no kind and no place"),
    ):
        counted = pl.concat([table.select("folded", "count") for table in (run.sums, run.engine_sums)])
        counts = counted.filter(pl.col("folded") == folded)["count"]
        if counts.len():
            found.append(
                f"The memory of the profile was full: {int(counts.sum()):,} of "
                f"{int(counted['count'].sum()):,} calls, messages and tasks {what}"
            )
    lost = int(run.profile_states["lost"].sum())
    if lost:
        found.append(f"The disk was full: {lost:,} calls and messages are in no sum")
    return found


def _windows_in_words(run: Run) -> str:
    numbers = run.windows["number"].unique().sort().to_list()
    if not numbers:
        return " With `--profile --window 10s/1000s` all events of such windows are recorded, too."
    which = f"window {numbers[0]}" if len(numbers) == 1 else f"windows {numbers[0]} to {numbers[-1]}"
    return f" All events were recorded in {which}: `plait report RUN --window {numbers[0]}` shows them."
