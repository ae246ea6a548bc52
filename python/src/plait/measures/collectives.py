# SPDX-License-Identifier: Apache-2.0
"""What kind of collective a function is, who takes part, and which calls of the ranks are one
collective."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from plait import _events as events
from plait._collective_names import is_among_neighbours, plain_name
from plait._events import Run

#: Who must be there before a rank can leave: all, the root, all (and only the root waits), those before
#: it, those that it gets data from.
BARRIER, ALL, FROM_ROOT, TO_ROOT, PREFIX = "barrier", "all", "from root", "to root", "prefix"
NEIGHBOURS = "neighbours"


@dataclass(frozen=True)
class Shape:
    flow: str
    divided: bool = False  # what a rank gives is shares for the members, not the same for each


_SHAPES = {
    "barrier": Shape(BARRIER),
    "bcast": Shape(FROM_ROOT),
    "scatter": Shape(FROM_ROOT, divided=True),
    "scatterv": Shape(FROM_ROOT, divided=True),
    "gather": Shape(TO_ROOT),
    "gatherv": Shape(TO_ROOT),
    "reduce": Shape(TO_ROOT),
    "scan": Shape(PREFIX),
    "exscan": Shape(PREFIX),
    "alltoall": Shape(ALL, divided=True),
    "alltoallv": Shape(ALL, divided=True),
    "alltoallw": Shape(ALL, divided=True),
    "reduce_scatter": Shape(ALL, divided=True),
    "reduce_scatter_block": Shape(ALL, divided=True),
}


def shape_of(function: str) -> Shape:
    """Of the function's name ("MPI_Ibcast", "MPI_Allreduce_init")."""
    if is_among_neighbours(function):
        return Shape(NEIGHBOURS, divided=True)
    return _SHAPES.get(plain_name(function)) or Shape(ALL)


def members_of(run: Run, communicator: int) -> list[int]:
    """As ranks of the run, in the communicator's order; none where they are not known."""
    if communicator == 0:
        return list(range(run.ranks))
    found = run.communicators.filter(pl.col("communicator") == communicator)
    return found.sort("index")["rank"].to_list()


def collective_calls(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    """The calls that are collectives, each with `flow` and what the others did.

    `calls`: as `calls_within` gives them; `call` is the row there. Non-blocking ones are here with the
    whole of their time, from their call to when the program was notified, and no `call`. Calls of the
    ranks are one collective when communicator and `count` agree. last_ns: when the last rank came to it;
    last_rank: who; root_ns: when the root did.
    """
    is_known = pl.col("communicator") >= 0
    blocking = calls.with_row_index("call").filter(
        is_known & (pl.col("class") == events.CALL_COLLECTIVE)
    )
    begun = run.calls.filter(is_known & (pl.col("class") == events.CALL_BEGUN_COLLECTIVE))
    found = pl.concat([blocking, begun], how="diagonal")
    flows = [shape_of(name).flow for name in run.functions]
    table = pl.DataFrame(
        {"function": range(len(flows)), "flow": flows},
        schema={"function": pl.Int32, "flow": pl.String},
    )
    key = ["communicator", "count"]
    start = pl.col("start_ns")
    together = found.group_by(key).agg(
        start.max().alias("last_ns"),
        pl.col("rank").get(start.arg_max()).alias("last_rank"),
        start.filter(pl.col("rank") == pl.col("peer")).max().alias("root_ns"),
    )
    return found.join(table, on="function", how="left").join(together, on=key, how="left")
