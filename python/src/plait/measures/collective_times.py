# SPDX-License-Identifier: Apache-2.0
"""Each collective of a run in parts: lateness, until the last rank has come, and slowness, from then
until the last rank leaves; beside what its bytes need by messages. Of non-blocking ones: what their
ranks wait for them, what is hidden behind computing, and what waits for progress."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._collective_bounds import Exchange, collective_bound
from plait._collective_names import plain_name
from plait._events import Run
from plait.measures import collectives
from plait.measures.calls import computing_between, lane_of
from plait.measures.neighbours import neighbour_pairs
from plait.measures.network import Network
from plait.measures.wait_states import notified_collectives

#: One row for each operation: calls of the ranks that belong together.
OPERATIONS: dict[str, pl.DataType] = {
    "function": pl.Int32(),
    "site": pl.Int32(),  # of the lowest rank
    "members": pl.Int64(),
    "team": pl.Int64(),  # of communicators with the same members, the lowest number
    "partners": pl.Int64(),  # that a rank exchanges blocks with: of neighbours the most, else all others
    "block_bytes": pl.Float64(),  # of each member; to all, from each, or to each
    "scattered": pl.Boolean(),  # whether the data of a rank has gaps in memory
    "last_ns": pl.Int64(),  # when the last rank came
    "late_rank": pl.Int32(),  # the last of those that others had to wait for
    "late_ns": pl.Int64(),  # until it came, from when those that waited for it began to, in the median
    "after_ns": pl.Int64(),  # from when all had come, and waited, until the last rank left
    "stalled_ns": pl.Int64(),  # of the longest wait: after all had come, until all waited
    "in_calls_ns": pl.Float64(),  # beginning it, and waiting for it, of the mean rank
    "hidden_ns": pl.Float64(),  # computing while it was under way, of the mean rank
}
#: What makes operations comparable.
KEY = ["function", "site", "members", "size_class", "scattered"]
#: One row for each function, site, number of members, class of sizes and kind of layout; the slowest
#: first.
GROUPS: dict[str, pl.DataType] = {
    "function": pl.Int32(),
    "site": pl.Int32(),
    "members": pl.Int64(),
    "size_class": pl.Int64(),  # 0: empty blocks; n: below 2^n bytes, not below half of that
    "scattered": pl.Boolean(),
    "block_bytes": pl.Float64(),  # the median
    "operations": pl.Int64(),
    "teams": pl.Int64(),  # different sets of ranks
    "turns": pl.Int64(),  # operations of one team, at most: teams work at the same time
    "after_ns": pl.Int64(),  # the sum
    "after_low_ns": pl.Float64(),  # what all but a twentieth of the operations take at least
    "after_median_ns": pl.Float64(),
    "bound_ns": pl.Float64(),  # what the bytes of one need by messages; null: not known
    "algorithm": pl.String(),  # that needs no more than this
    "late_ns": pl.Int64(),  # the sum
    "late_rank": pl.Int32(),  # that came last for most of the time
    "late_rank_ns": pl.Int64(),  # what of the sum is its
    "late_rank_times": pl.Int64(),
    "late_rank_median_ns": pl.Float64(),
    "in_calls_ns": pl.Float64(),  # the sums, of the mean rank
    "hidden_ns": pl.Float64(),
    "stalled_ns": pl.Int64(),  # the sum
    "stalled_median_ns": pl.Float64(),
}
Times = npt.NDArray[np.int64]
_LOW = 0.05
_OPERATION = ["communicator", "count"]
#: Of one thread, tests in a row with less between them are one wait.
_POLL_GAP_NS = 1_000


def collective_operations(run: Run, met: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """OPERATIONS, of the collectives that were recorded on every member.

    `met`: `meetings`; `calls`: `calls_within`. Not those on communicators with one member. A rank comes
    with its call, and waits from then on; to a non-blocking collective it comes with the call that
    begins it, and waits from the call that is notified of its end, or from the first of the tests in a
    row before that. After a rank has come late, only what follows is slowness: when ranks come last that
    no other waits for (leaves of a broadcast), the others' waiting is in neither part. Among neighbours,
    a rank waits for those that it gets data from. Times of two ranks are compared: they are right to
    `run.clock_error_ns`.
    """
    parts = _with_layouts(run, _parts(met, calls))
    is_near = pl.col("flow") == collectives.NEIGHBOURS
    whole = _among_all(run, parts.filter(~is_near))
    near = _among_neighbours(run, parts.filter(is_near))
    return (
        pl.concat([whole, near])
        .join(_teams(run), on="communicator", how="left")
        .with_columns(pl.coalesce("team", "communicator").alias("team"))
        .select(pl.col(name).cast(kind) for name, kind in OPERATIONS.items())
    )


def _parts(met: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The part of each rank in a collective, with waits_from_ns (when it began to wait), in_calls_ns and
    hidden_ns. Sorted by rank."""
    length = pl.col("end_ns") - pl.col("start_ns")
    blocking = met.filter(pl.col("call").is_not_null()).with_columns(
        pl.col("start_ns").alias("waits_from_ns"),
        length.alias("in_calls_ns"),
        pl.lit(0, pl.Int64).alias("hidden_ns"),
    )
    begun = notified_collectives(met, calls)
    beginning = calls.filter(pl.col("class") == events.CALL_BEGINS_COLLECTIVE).select(
        "rank", "number", length.alias("beginning_ns")
    )
    hidden = computing_between(calls, begun["rank"], begun["start_ns"], begun["end_ns"])
    since = begun["call"].to_numpy()
    begun = (
        begun.with_columns(
            pl.Series("waits_from_ns", _waits_from(calls)[since] if since.size else [], pl.Int64),
            pl.Series("hidden_ns", hidden, pl.Int64),
        )
        .with_columns(pl.max_horizontal("waits_from_ns", "start_ns").alias("waits_from_ns"))
        .join(beginning, on=["rank", "number"], how="left", maintain_order="left")
        .with_columns(
            (pl.col("end_ns") - pl.col("waits_from_ns") + pl.col("beginning_ns").fill_null(0)).alias(
                "in_calls_ns"
            )
        )
    )
    columns = [*met.columns, "waits_from_ns", "in_calls_ns", "hidden_ns"]
    return pl.concat([blocking.select(columns), begun.select(columns)]).sort("rank")


def _waits_from(calls: pl.DataFrame) -> Times:
    """Of each call its start; of a test after others that found nothing, the start of the first."""
    lane, start, end = lane_of(calls["rank"], calls["worker"]), *_times(calls)
    function = calls["function"].to_numpy()
    found_nothing = ((calls["class"] == events.CALL_COMPLETES) & (calls["count"] == 0)).to_numpy()
    goes_on = np.zeros(calls.height, dtype=np.bool_)
    goes_on[1:] = (
        found_nothing[:-1]
        & (lane[1:] == lane[:-1])
        & (function[1:] == function[:-1])
        & (start[1:] - end[:-1] < _POLL_GAP_NS)
    )
    first = np.maximum.accumulate(np.where(goes_on, 0, np.arange(calls.height)))
    result: Times = start[first]
    return result


def _times(calls: pl.DataFrame) -> tuple[Times, Times]:
    return calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()


def _with_layouts(run: Run, parts: pl.DataFrame) -> pl.DataFrame:
    layouts = run.collective_layouts.select("rank", "number", pl.lit(True).alias("scattered"))
    joined = parts.join(layouts, on=["rank", "number"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("scattered").fill_null(value=False))


def _teams(run: Run) -> pl.DataFrame:
    """Communicators with the same members, in the same order, get one number."""
    ranks = (
        run.communicators.unique(["communicator", "index"])
        .sort("communicator", "index")
        .group_by("communicator", maintain_order=True)
        .agg("rank")
    )
    everybody = pl.DataFrame(
        {"communicator": [0], "rank": [list(range(run.ranks))]},
        schema={"communicator": pl.Int64, "rank": pl.List(pl.Int32)},
    )
    known = pl.concat([everybody, ranks])
    first: dict[tuple[int, ...], int] = {}
    teams = [first.setdefault(tuple(members), number) for number, members in known.iter_rows()]
    return known.select("communicator", pl.Series("team", teams, pl.Int64))


def _among_all(run: Run, parts: pl.DataFrame) -> pl.DataFrame:
    """OPERATIONS, with communicator, of collectives that are not among neighbours."""
    latest = pl.max_horizontal("last_ns", pl.col("waits_from_ns").max().over(_OPERATION))
    stalled = pl.min_horizontal("end_ns", "settled_ns") - pl.max_horizontal("last_ns", "waits_from_ns")
    return (
        parts.with_columns(
            _waits().alias("waits"), _awaited().alias("awaited"), latest.alias("settled_ns")
        )
        .with_columns(stalled.clip(0).alias("stalled_ns"))
        .group_by(_OPERATION, maintain_order=True)
        .agg(
            pl.col("function", "site", "flow").first(),
            pl.len().cast(pl.Int64).alias("members"),
            (pl.len().cast(pl.Int64) - 1).alias("partners"),
            pl.col("bytes_given", "bytes_got").max(),
            pl.col("scattered").any(),
            pl.col("last_ns").first(),
            pl.col("rank").filter("awaited").get(_latest()).alias("late_rank"),
            _lateness().clip(0).fill_null(0).cast(pl.Int64).alias("late_ns"),
            (pl.col("end_ns").max() - pl.col("settled_ns").first()).clip(0).alias("after_ns"),
            pl.col("stalled_ns").max(),
            pl.col("in_calls_ns", "hidden_ns").mean(),
        )
        .filter(pl.col("members") > 1)
        .with_columns(_block_bytes(run).alias("block_bytes"))
        .select("communicator", *(name for name in OPERATIONS if name != "team"))
    )


def _among_neighbours(run: Run, parts: pl.DataFrame) -> pl.DataFrame:
    """OPERATIONS, with communicator, of neighbourhood collectives that move data."""
    pairs = neighbour_pairs(run, parts)
    both = pl.concat([_one_side(pairs, "source"), _one_side(pairs, "destination")]).unique()
    waiting = parts.select(*_OPERATION, "rank", "waits_from_ns")
    of_others = both.join(
        waiting.rename({"rank": "other", "waits_from_ns": "other_ns"}), on=[*_OPERATION, "other"]
    )
    key = [*_OPERATION, "rank"]
    settled = of_others.group_by(key).agg(pl.col("other_ns").max(), pl.len().alias("partners"))
    came = pl.col("until_ns").fill_null(pl.col("start_ns"))
    stalled = pl.min_horizontal("end_ns", "settled_ns") - pl.max_horizontal("came_ns", "waits_from_ns")
    known = (
        parts.join(settled, on=key, maintain_order="left")
        .with_columns(
            pl.max_horizontal("waits_from_ns", "other_ns").alias("settled_ns"), came.alias("came_ns")
        )
        .with_columns(stalled.clip(0).alias("stalled_ns"))
    )
    late = pl.col("until_ns") == pl.col("until_ns").max()
    operations = known.group_by(_OPERATION, maintain_order=True).agg(
        pl.col("function", "site").first(),
        pl.len().cast(pl.Int64).alias("members"),
        pl.col("partners").max().cast(pl.Int64),
        pl.col("scattered").any(),
        pl.col("last_ns").first(),
        pl.col("peer").filter(late).first().alias("late_rank"),
        (pl.col("until_ns") - pl.col("waits_from_ns"))
        .filter(late)
        .median()
        .clip(0)
        .fill_null(0)
        .cast(pl.Int64)
        .alias("late_ns"),
        (pl.col("end_ns") - pl.col("settled_ns")).max().clip(0).alias("after_ns"),
        pl.col("stalled_ns").max(),
        pl.col("in_calls_ns", "hidden_ns").mean(),
    )
    blocks = pairs.group_by(_OPERATION).agg(pl.col("bytes_given").mean().alias("block_bytes"))
    return operations.join(blocks, on=_OPERATION, maintain_order="left").select(
        "communicator", *(name for name in OPERATIONS if name != "team")
    )


def _one_side(pairs: pl.DataFrame, side: str) -> pl.DataFrame:
    other = "destination" if side == "source" else "source"
    return pairs.select(*_OPERATION, pl.col(side).alias("rank"), pl.col(other).alias("other"))


def _is_root() -> pl.Expr:
    return pl.col("rank") == pl.col("peer")


def _waits() -> pl.Expr:
    """Whether a rank waits for others: not the root of a broadcast, only the root of a reduction."""
    flow = pl.col("flow")
    return (
        pl.when(flow == collectives.FROM_ROOT)
        .then(~_is_root())
        .when(flow == collectives.TO_ROOT)
        .then(_is_root())
        .otherwise(True)
    )


def _awaited() -> pl.Expr:
    """Whether others wait for a rank."""
    flow = pl.col("flow")
    return (
        pl.when(flow == collectives.FROM_ROOT)
        .then(_is_root())
        .when(flow == collectives.TO_ROOT)
        .then(~_is_root())
        .otherwise(True)
    )


def _latest() -> pl.Expr:
    return pl.col("start_ns").filter("awaited").arg_max()


def _lateness() -> pl.Expr:
    """How much later the last of the awaited ranks came than the others began to wait, in the median."""
    last = pl.col("start_ns").filter("awaited").max()
    latest = pl.col("rank").filter("awaited").get(_latest())
    others = pl.col("waits_from_ns").filter(pl.col("waits") & (pl.col("rank") != latest))
    return last - others.median()


def _block_bytes(run: Run) -> pl.Expr:
    """Of each member: a share of the whole, where a call names all blocks."""
    share_given, share_got, given = [], [], []
    for number, known in enumerate(run.functions):
        name = plain_name(known)
        if name.startswith(("alltoall", "reduce_scatter", "scatter")):
            share_given.append(number)
        elif name.startswith(("allgather", "gather")):
            share_got.append(number)
        else:
            given.append(number)
    function, members = pl.col("function"), pl.col("members")
    return (
        pl.when(function.is_in(share_given))
        .then(pl.col("bytes_given") / members)
        .when(function.is_in(share_got))
        .then(pl.col("bytes_got") / members)
        .otherwise(pl.col("bytes_given").cast(pl.Float64))
    )


def collective_groups(run: Run, operations: pl.DataFrame, network: Network) -> pl.DataFrame:
    """GROUPS, of `collective_operations`."""
    return _group(run, _classed(operations), network, KEY)


def team_groups(
    run: Run, operations: pl.DataFrame, groups: pl.DataFrame, network: Network
) -> pl.DataFrame:
    """As GROUPS, with `team`, of each set of ranks apart, where a group has several.

    `groups`: `collective_groups`.
    """
    several = groups.filter(pl.col("teams") > 1).select(KEY)
    some = _classed(operations).join(several, on=KEY, how="semi")
    return _group(run, some, network, [*KEY, "team"])


def _classed(operations: pl.DataFrame) -> pl.DataFrame:
    size_class = pl.when(pl.col("block_bytes") >= 1).then(pl.col("block_bytes").log(2).floor() + 1)
    return operations.with_columns(size_class.otherwise(0).cast(pl.Int64).alias("size_class"))


def _group(run: Run, classed: pl.DataFrame, network: Network, by: list[str]) -> pl.DataFrame:
    found = classed.group_by(by).agg(
        pl.col("block_bytes").median(),
        pl.len().cast(pl.Int64).alias("operations"),
        pl.col("team").n_unique().cast(pl.Int64).alias("teams"),
        pl.col("team").unique_counts().max().cast(pl.Int64).alias("turns"),
        pl.col("partners").max(),
        pl.col("after_ns").sum(),
        pl.col("after_ns").quantile(_LOW, "lower").alias("after_low_ns"),
        pl.col("after_ns").median().alias("after_median_ns"),
        pl.col("late_ns", "in_calls_ns", "hidden_ns", "stalled_ns").sum(),
        pl.col("stalled_ns").median().alias("stalled_median_ns"),
    )
    bounds = [
        collective_bound(run.functions[function], Exchange(partners + 1, size), network.costs)
        for function, partners, size in found.select("function", "partners", "block_bytes").iter_rows()
    ]
    columns = GROUPS | ({"team": OPERATIONS["team"]} if "team" in by else {})
    return (
        found.with_columns(
            pl.Series("bound_ns", [bound and bound.time_ns for bound in bounds], dtype=pl.Float64),
            pl.Series("algorithm", [bound and bound.algorithm for bound in bounds], dtype=pl.String),
        )
        .join(_late_ranks(classed, by), on=by, how="left")
        .select(pl.col(name).cast(kind) for name, kind in columns.items())
        .sort("after_ns", *by, descending=[True, *[False] * len(by)])
    )


def _late_ranks(classed: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The rank of each group that came last for most of the time."""
    late = classed.filter(pl.col("late_ns") > 0)
    by_rank = late.group_by(*by, "late_rank").agg(
        pl.col("late_ns").sum().alias("late_rank_ns"),
        pl.len().alias("late_rank_times"),
        pl.col("late_ns").median().alias("late_rank_median_ns"),
    )
    order = by_rank.sort("late_rank_ns", "late_rank", descending=[True, False])
    return order.unique(by, keep="first", maintain_order=True)
