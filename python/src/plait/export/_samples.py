# SPDX-License-Identifier: Apache-2.0
"""Samples and counts of a run, as exports write them: call paths as a tree, names of what was
counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.samples import UNKNOWN


@dataclass
class CallPaths:
    """The tree of all call paths of a run's samples. A node is a function with its callers."""

    #: Of each node: the function, and the node of its caller, -1 for the outermost.
    nodes: list[tuple[str, int]] = field(default_factory=list)
    #: Of each site of the run, and at the end of a sample without one: its node.
    of_site: dict[int, int] = field(default_factory=dict)

    def frames(self, node: int) -> list[int]:
        """The nodes from the outermost function to this one."""
        found = []
        while node >= 0:
            found.append(node)
            node = self.nodes[node][1]
        return found[::-1]


def call_paths(run: Run) -> CallPaths:
    paths = CallPaths()
    known: dict[tuple[str, int], int] = {}
    for site in run.samples["site"].unique().sort().to_list():
        node = -1
        names = [one.function_name for one in reversed(run.sites[site].path)] if site >= 0 else [UNKNOWN]
        for name in names:
            if (name, node) not in known:
                known[name, node] = len(paths.nodes)
                paths.nodes.append((name, node))
            node = known[name, node]
        paths.of_site[site] = node
    return paths


def thread_label(worker: int, thread: int) -> str:
    """Of the thread that samples are of."""
    return f"other thread {thread}" if worker == events.NO_WORKER else f"thread {worker}"


def counted(run: Run) -> pl.DataFrame:
    """The counts of regions, tasks and threads by end: rank, worker, name, start_ns, end_ns, value."""
    counts = run.counts

    def texts(column: str, names: tuple[str, ...]) -> pl.Expr:
        return (
            pl.col(column)
            .cast(pl.Int64)
            .replace_strict(dict(enumerate(names)), default=None, return_dtype=pl.String)
        )

    where = pl.coalesce(texts("region", run.span_kinds), texts("task", run.kinds), pl.lit("the thread"))
    return counts.select(
        "rank",
        "worker",
        pl.concat_str(texts("counter", run.counter_kinds), pl.lit(" in "), where).alias("name"),
        "start_ns",
        pl.max_horizontal("start_ns", "end_ns").alias("end_ns"),
        pl.col("value").cast(pl.Float64),
    ).sort("rank", "end_ns", maintain_order=True)


def sampled_threads(run: Run) -> Iterator[tuple[int, int, int, pl.DataFrame]]:
    """(rank, worker, thread, its samples by time) of each thread that was sampled."""
    parts = run.samples.sort("rank", "thread", "time_ns", maintain_order=True)
    grouped = parts.partition_by("rank", "thread", as_dict=True, maintain_order=True)
    for (rank, thread), part in grouped.items():
        yield int(rank), int(part["worker"].min()), int(thread), part  # type: ignore[arg-type]
