# SPDX-License-Identifier: Apache-2.0
"""Draws tasks together that a picture cannot distinguish."""

from __future__ import annotations

import numpy as np
import polars as pl

from plait.measures.task_graph import FOLLOWED, TaskGraph


def with_counts(graph: TaskGraph) -> TaskGraph:
    """Each task by itself, with the columns that `fold` adds."""
    length = pl.col("end_ns") - pl.col("start_ns")
    one = pl.lit(1, dtype=pl.Int64)
    counted = graph.nodes.with_columns(
        one.alias("count"), length.alias("total_ns"), length.alias("longest_ns"),
        pl.col("critical").cast(pl.Int64).alias("critical_count"),
    )  # fmt: skip
    return TaskGraph(counted, graph.edges, graph.steps, graph.steps_left_out)


def fold(graph: TaskGraph) -> TaskGraph:
    """Tasks of one kind and rank with the same before and after them become one node.

    It has the id of the longest, the times of the first start and the last end, and besides: count,
    total_ns, longest_ns, critical_count (how many are on the critical path).
    """
    nodes = with_counts(graph).nodes
    # Two sets of neighbours are taken for the same when their sums of 64 random bits are.
    marks = np.random.default_rng(1).integers(1, 1 << 63, (2, nodes.height), dtype=np.uint64)
    sums = np.zeros((2, nodes.height), dtype=np.uint64)
    told = graph.edges.filter(pl.col("what") != FOLLOWED)
    start, end = told["from"].to_numpy(), told["to"].to_numpy()
    factor = told["what"].to_numpy().astype(np.uint64) + np.uint64(1)
    np.add.at(sums[0], end, marks[0][start] * factor)
    np.add.at(sums[1], start, marks[1][end] * factor)
    same = ["rank", "step", "kind", "role", "before", "after"]
    ordered = nodes.with_columns(pl.Series("before", sums[0]), pl.Series("after", sums[1]))
    groups = ordered.with_columns(pl.struct(same).rank("dense").cast(pl.Int64).alias("group") - 1)
    longest_first = groups.sort("longest_ns", "node", descending=[True, False])
    firsts = [name for name in nodes.columns if name not in (*_ADDED, "node")]
    folded = (
        longest_first.group_by("group", maintain_order=True)
        .agg(
            pl.col(*(name for name in firsts if name not in ("ready_ns", "start_ns", "end_ns"))).first(),
            pl.col("ready_ns", "start_ns").min(),
            pl.col("end_ns").max(),
            pl.col("count", "total_ns", "critical_count").sum(),
            pl.col("longest_ns").max(),
        )
        .rename({"group": "node"})
        .with_columns((pl.col("critical_count") > 0).alias("critical"))
        .select(nodes.columns)
        .sort("node")
    )
    number = groups["group"].to_numpy()
    edges = (
        graph.edges.with_columns(
            *(pl.Series(name, number[graph.edges[name].to_numpy()]) for name in ("from", "to"))
        )
        .filter(pl.col("from") != pl.col("to"))
        .group_by("from", "to", maintain_order=True)
        .agg(pl.col("what").min(), pl.col("critical").any())
    )
    return TaskGraph(folded, edges, graph.steps, graph.steps_left_out)


_ADDED = ("count", "total_ns", "longest_ns", "critical_count")
