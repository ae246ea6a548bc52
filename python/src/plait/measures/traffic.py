# SPDX-License-Identifier: Apache-2.0
"""Who gives how much to whom, and in messages of which sizes."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.collectives import FROM_ROOT, NEIGHBOURS, TO_ROOT, members_of, shape_of
from plait.measures.profile import size_sums
from plait.measures.rank_groups import pair_group

_PAIR = ["source", "destination"]


def message_matrix(run: Run) -> pl.DataFrame:
    """One row for each pair of ranks that exchanged messages: source, destination, messages, bytes.

    As the senders recorded them; of a rank whose file is missing, as the receivers did.
    """
    messages = run.messages.select(*_PAIR, "received", "unfinished", "size_bytes")
    missing = [rank for rank in range(run.ranks) if rank not in set(run.ranks_present)]
    kept = ~pl.col("received") | (pl.col("source").is_in(missing) & ~pl.col("unfinished"))
    return (
        messages.filter(kept)
        .group_by(_PAIR)
        .agg(pl.len().cast(pl.Int64).alias("messages"), pl.col("size_bytes").sum().alias("bytes"))
        .sort(_PAIR)
    )


def collective_matrix(run: Run) -> pl.DataFrame:
    """As `message_matrix`, of what collectives carry, whatever messages the library makes of it.

    `messages` counts collectives. From a root: what it gives, to each other member (of a scatter: a
    share). To a root: what each gives. All to all: what a rank gives, divided among the others (its
    shares, where they differ); of operations in which everybody gets what everybody gives (allgather,
    allreduce): all of it, to each. Among neighbours: to each what it gets. Of a profile, shares are not
    known: what a rank gives is divided evenly, and collectives among neighbours are left out.

    Of more than PAIRED_RANKS_MAX ranks: a row for each pair of groups of `pair_group` neighbours, named
    by their first ranks, as all pairs of ranks would need gigabytes.
    """
    what = pl.col("class").is_in([events.CALL_COLLECTIVE, events.CALL_BEGINS_COLLECTIVE])
    known = what & (pl.col("communicator") >= 0) & (pl.col("bytes_given") > 0)
    calls = (
        _each_once(run.calls.filter(known)) if not run.is_profile else _summed(run.sums.filter(known))
    )
    parts = []
    for (communicator, function), part in calls.group_by("communicator", "function"):
        shape = shape_of(run.functions[int(str(function))])
        members = members_of(run, int(str(communicator)))
        if len(members) < 2:
            continue
        flows = _flows(part, run.shares, members, shape.flow, divided=shape.divided)
        parts.append(flows.of_groups(pair_group(run.ranks)))
    schema = {
        "source": pl.Int32(),
        "destination": pl.Int32(),
        "messages": pl.Int64(),
        "bytes": pl.Int64(),
    }
    if not parts:
        return pl.DataFrame(schema=schema)
    return (
        pl.concat(parts)
        .group_by(_PAIR)
        .agg(pl.col("messages").sum(), pl.col("bytes").sum())
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
        .sort(_PAIR)
    )


_FLOWS = ("communicator", "function", "rank", "peer", "number", "count", "bytes_given")


def _each_once(calls: pl.DataFrame) -> pl.DataFrame:
    return calls.with_columns(pl.lit(1, dtype=pl.Int64).alias("count")).select(_FLOWS)


def _summed(sums: pl.DataFrame) -> pl.DataFrame:
    """Sums of a profile: of no call alone."""
    calls = sums.filter(pl.col("of") == events.SUM_OF_CALLS)
    return calls.with_columns(pl.lit(0, dtype=pl.Int64).alias("number")).select(_FLOWS)


@dataclass(frozen=True)
class _Flows:
    """What calls of one function on one communicator give."""

    pairs: pl.DataFrame  # source, destination, messages, bytes
    #: source, messages, bytes: the same to each of `members`.
    alike: pl.DataFrame
    members: pl.DataFrame  # index, destination

    def of_groups(self, each: int) -> pl.DataFrame:
        """source, destination, messages, bytes; what a rank gives to itself does not count."""
        others = pl.col("source") != pl.col("destination")
        of_pairs = self.pairs.filter(others).with_columns(pl.col(name) // each * each for name in _PAIR)
        to = (
            self.members.group_by((pl.col("destination") // each * each).alias("destination"))
            .agg(pl.len().alias("count"))
            .sort("destination")
        )
        given = (
            self.alike.group_by((pl.col("source") // each * each).alias("source"))
            .agg(pl.col("messages", "bytes").sum())
            .join(to, how="cross")
        )
        receivers = pl.col("count") - (~others).cast(pl.Int64)  # of each rank of the group
        of_alike = given.filter(receivers > 0).select(
            *_PAIR, pl.col("messages") * receivers, pl.col("bytes") * receivers
        )
        return pl.concat([of_pairs, of_alike])


def _flows(
    calls: pl.DataFrame, shares: pl.DataFrame, members: list[int], flow: str, *, divided: bool
) -> _Flows:
    count = len(members)
    everybody = pl.DataFrame(
        {"index": range(count), "destination": members},
        schema={"index": pl.Int64, "destination": pl.Int32},
    )
    if flow == TO_ROOT:
        to = calls.filter(pl.col("peer") >= 0).select(
            pl.col("rank").alias("source"), pl.col("peer").alias("destination"), "count", "bytes_given"
        )
        pairs = _sum(to.with_columns(pl.col("bytes_given").cast(pl.Float64)))
        return _Flows(pairs, pairs.clear().drop("destination"), everybody.clear())
    if flow == FROM_ROOT:
        calls = calls.filter(pl.col("rank") == pl.col("peer"))
    given = pl.col("bytes_given") / count if divided else pl.col("bytes_given").cast(pl.Float64)
    told = calls.select("rank", "number").join(shares, on=["rank", "number"])
    by_share = told.join(everybody, on="index").select(
        pl.col("rank").alias("source"),
        "destination",
        pl.lit(1, dtype=pl.Int64).alias("count"),
        pl.col("bytes_given").cast(pl.Float64),
    )
    rest = calls.join(told, on=["rank", "number"], how="anti") if told.height else calls
    if flow == NEIGHBOURS:
        rest = rest.clear()  # which ranks are neighbours is known by the shares alone
        by_share = by_share.filter(pl.col("bytes_given") > 0)
    alike = rest.group_by("rank").agg(pl.col("count").sum(), given.sum().alias("bytes_given"))
    return _Flows(
        _sum(by_share),
        alike.select(
            pl.col("rank").alias("source"),
            pl.col("count").cast(pl.Int64).alias("messages"),
            pl.col("bytes_given").alias("bytes"),
        ),
        everybody,
    )


def _sum(flows: pl.DataFrame) -> pl.DataFrame:
    return flows.group_by(_PAIR).agg(
        pl.col("count").sum().alias("messages"), pl.col("bytes_given").sum().alias("bytes")
    )


def size_histogram(run: Run) -> pl.DataFrame:
    """Messages by size: low_bytes, high_bytes (excluded), messages, bytes; a row for each power of two
    from the least to the largest that turns up, empty ones too. Messages of no bytes have a row of their
    own, from 0 to 1."""
    found = size_sums(run) if run.is_profile else _size_counts(run)
    schema = {name: pl.Int64() for name in ("low_bytes", "high_bytes", "messages", "bytes")}
    if not found.height:
        return pl.DataFrame(schema=schema)
    low, high = found["power"].to_numpy().min(), found["power"].to_numpy().max()
    rows = pl.DataFrame({"power": range(int(low), int(high) + 1)}, schema={"power": pl.Int64})
    return (
        rows.join(found.with_columns(pl.col("power").cast(pl.Int64)), on="power", how="left")
        .with_columns(
            pl.when(pl.col("power") == 0)
            .then(0)
            .otherwise(2 ** (pl.col("power") - 1).clip(0))
            .alias("low_bytes"),
            (2 ** pl.col("power")).alias("high_bytes"),
            pl.col("messages", "bytes").fill_null(0),
        )
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
        .sort("low_bytes")
    )


def _size_counts(run: Run) -> pl.DataFrame:
    """power, messages, bytes."""
    sides = run.messages.select("received", "size_bytes")
    side = sides.filter(~pl.col("received"))
    if not side.height:
        side = sides
    # 0 for no bytes, else 1 + log2; exact, as it is counted in bits.
    power = pl.when(pl.col("size_bytes") <= 0).then(0).otherwise(64 - _leading_zeros()).alias("power")
    return side.group_by(power).agg(
        pl.len().cast(pl.Int64).alias("messages"), pl.col("size_bytes").sum().alias("bytes")
    )


def _leading_zeros() -> pl.Expr:
    zeros: pl.Expr = pl.col("size_bytes").bitwise_leading_zeros().cast(pl.Int64)
    return zeros
