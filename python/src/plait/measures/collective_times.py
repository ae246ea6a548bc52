# SPDX-License-Identifier: Apache-2.0
"""Each blocking collective of a run in two parts: lateness, until the last rank has come, and slowness,
from then until the last rank leaves; beside what its bytes need by messages."""

from __future__ import annotations

import polars as pl

from plait._collective_bounds import Exchange, collective_bound
from plait._events import Run
from plait.measures import collectives
from plait.measures.collectives import shape_of
from plait.measures.network import Network

#: One row for each operation: calls of the ranks that belong together.
OPERATIONS: dict[str, pl.DataType] = {
    "function": pl.Int32(),
    "site": pl.Int32(),  # of the lowest rank
    "members": pl.Int64(),
    "block_bytes": pl.Float64(),  # of each member; to all, from each, or to each
    "last_ns": pl.Int64(),  # when the last rank came
    "late_rank": pl.Int32(),  # the last of those that others had to wait for
    "late_ns": pl.Int64(),  # how much later it came than the median of those that waited
    "after_ns": pl.Int64(),  # from last_ns until the last rank left
}
#: One row for each function, site, number of members and class of sizes; the slowest first.
GROUPS: dict[str, pl.DataType] = {
    "function": pl.Int32(),
    "site": pl.Int32(),
    "members": pl.Int64(),
    "size_class": pl.Int64(),  # 0: empty blocks; n: below 2^n bytes, not below half of that
    "block_bytes": pl.Float64(),  # the median
    "operations": pl.Int64(),
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
}
_LOW = 0.05
_KEY = ["function", "site", "members", "size_class"]


def collective_operations(run: Run, met: pl.DataFrame) -> pl.DataFrame:
    """OPERATIONS, of the collectives with a blocking call on every member that was recorded.

    `met`: `meetings`. Not those on communicators with one member, and not those among neighbours, where
    no rank waits for all. After a rank has come late, only what follows is slowness: when ranks come
    last that no other waits for (leaves of a broadcast), the others' waiting is in neither part. Times
    of two ranks are compared: they are right to `run.clock_error_ns`.
    """
    shapes = [shape_of(name) for name in run.functions]
    table = pl.DataFrame(
        {"function": range(len(shapes)), "known": [shape is not None for shape in shapes]},
        schema={"function": pl.Int32, "known": pl.Boolean},
    )
    blocking = met.filter(pl.col("call").is_not_null()).join(table, on="function").filter("known")
    return (
        blocking.sort("rank")
        .with_columns(_waits().alias("waits"), _awaited().alias("awaited"))
        .group_by("communicator", "count", maintain_order=True)
        .agg(
            pl.col("function", "site", "flow").first(),
            pl.len().cast(pl.Int64).alias("members"),
            pl.col("bytes_given", "bytes_got").max(),
            pl.col("last_ns").first(),
            pl.col("rank").filter("awaited").get(_latest()).alias("late_rank"),
            _lateness().clip(0).fill_null(0).cast(pl.Int64).alias("late_ns"),
            (pl.col("end_ns").max() - pl.col("last_ns").first()).clip(0).alias("after_ns"),
        )
        .filter(pl.col("members") > 1)
        .with_columns(_block_bytes(run).alias("block_bytes"))
        .select(pl.col(name).cast(kind) for name, kind in OPERATIONS.items())
    )


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
    """How much later the last of the awaited ranks came than the median of those that waited."""
    last = pl.col("start_ns").filter("awaited").max()
    latest = pl.col("rank").filter("awaited").get(_latest())
    others = pl.col("start_ns").filter(pl.col("waits") & (pl.col("rank") != latest))
    return last - others.median()


def _block_bytes(run: Run) -> pl.Expr:
    """Of each member: a share of the whole, where a call names all blocks."""
    share_given, share_got, given = [], [], []
    for number, known in enumerate(run.functions):
        name = known.lower().removeprefix("p").removeprefix("mpi_").removesuffix("_c")
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
    size_class = pl.when(pl.col("block_bytes") >= 1).then(pl.col("block_bytes").log(2).floor() + 1)
    classed = operations.with_columns(size_class.otherwise(0).cast(pl.Int64).alias("size_class"))
    found = classed.group_by(_KEY).agg(
        pl.col("block_bytes").median(),
        pl.len().cast(pl.Int64).alias("operations"),
        pl.col("after_ns").sum(),
        pl.col("after_ns").quantile(_LOW, "lower").alias("after_low_ns"),
        pl.col("after_ns").median().alias("after_median_ns"),
        pl.col("late_ns").sum(),
    )
    bounds = [
        collective_bound(run.functions[function], Exchange(members, size), network.costs)
        for function, members, size in found.select("function", "members", "block_bytes").iter_rows()
    ]
    return (
        found.with_columns(
            pl.Series("bound_ns", [bound and bound.time_ns for bound in bounds], dtype=pl.Float64),
            pl.Series("algorithm", [bound and bound.algorithm for bound in bounds], dtype=pl.String),
        )
        .join(_late_ranks(classed), on=_KEY, how="left")
        .select(pl.col(name).cast(kind) for name, kind in GROUPS.items())
        .sort("after_ns", *_KEY, descending=[True, False, False, False, False])
    )


def _late_ranks(classed: pl.DataFrame) -> pl.DataFrame:
    """The rank of each group that came last for most of the time."""
    late = classed.filter(pl.col("late_ns") > 0)
    by_rank = late.group_by(*_KEY, "late_rank").agg(
        pl.col("late_ns").sum().alias("late_rank_ns"),
        pl.len().alias("late_rank_times"),
        pl.col("late_ns").median().alias("late_rank_median_ns"),
    )
    order = by_rank.sort("late_rank_ns", "late_rank", descending=[True, False])
    return order.unique(_KEY, keep="first", maintain_order=True)
