# SPDX-License-Identifier: Apache-2.0
"""The tasks that ran and what ordered them, as a graph: of single tasks, or gathered by kind.

Dependencies come from the graphs in the trace. Of tasks that are in none (spawned ones, those of a
flow, and all in older traces) only the one is known that was met last. What waits for a task waits
for those that it spawned, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures import critical_path

#: What an edge is; the values of the `what` column.
DEPENDENCY, MESSAGE, SPAWNED, FOLLOWED = range(4)
WHAT = ("comes after", "message", "was spawned by", "next on the critical path")
#: The kind of joins that represent "all that a task has spawned".
NO_KIND = -1
#: Steps are left out, evenly, when all together have more edges.
EDGES_MAX = 5_000_000

_TIMES = ("ready_ns", "start_ns", "end_ns")
_NODE = ("rank", "step", "kind", "role", "worker", "id", "object", *_TIMES)


@dataclass(frozen=True)
class TaskGraph:
    #: node, rank, step, kind, role, worker, id, object, ready_ns, start_ns, end_ns, place, critical.
    #: Joins have no times (0).
    nodes: pl.DataFrame
    edges: pl.DataFrame  # from, to (nodes), what, critical
    steps: tuple[int, ...]
    steps_left_out: int


@dataclass(frozen=True)
class KindGraph:
    nodes: pl.DataFrame  # kind, role, count, total_ns, mean_ns, path_ns
    edges: pl.DataFrame  # from, to (kinds), what, across (ranks differ), count
    steps: tuple[int, ...]
    steps_left_out: int


def task_graph(run: Run, path_tasks: pl.DataFrame, steps: list[int] | None = None) -> TaskGraph:
    """Of some steps, or of all as far as there are not too many edges. `path_tasks`: of `walk_paths`."""
    known = sorted(run.tasks["step"].unique().to_list())
    wanted = known if steps is None else [step for step in known if step in set(steps)]
    chosen = _as_many(run, wanted)
    in_steps = pl.col("step").is_in(chosen)
    nodes = _nodes(run, in_steps)
    ordered = _dependencies(run, nodes)
    families = _families(run, nodes, ordered)
    ordered = (
        ordered.join(families.gates, on="from", how="left")
        .with_columns(pl.coalesce("gate", "from").alias("from"))
        .drop("gate")
    )
    nodes = pl.concat([nodes, families.gate_nodes])
    edges = pl.concat([ordered, _last_met(run, nodes), _messages(nodes), families.edges])
    nodes, edges = _without_idle_joins(nodes, edges)
    nodes, edges = _mark_path(nodes, edges, path_tasks.filter(in_steps))
    return TaskGraph(nodes, edges, tuple(chosen), len(wanted) - len(chosen))


def _as_many(run: Run, wanted: list[int]) -> list[int]:
    of_graph = run.dependencies.group_by("rank", "graph").agg(pl.len().alias("edges"))
    runs = run.graph_runs.filter(pl.col("step").is_in(wanted))
    edges = int(runs.join(of_graph, on=["rank", "graph"])["edges"].sum()) + run.tasks.height
    count = max(1, min(len(wanted), int(len(wanted) * EDGES_MAX / max(1, edges))))
    if not wanted or count == len(wanted):
        return wanted
    return [wanted[i] for i in np.unique(np.linspace(0, len(wanted) - 1, count).astype(np.int64))]


def _nodes(run: Run, in_steps: pl.Expr) -> pl.DataFrame:
    """The tasks that ran, and the joins of the graphs that ran, of which nothing was recorded."""
    tasks = run.tasks.filter(in_steps).select(*_NODE, "place")
    joins = (
        run.graph_runs.filter(in_steps)
        .join(run.graph_tasks.filter(pl.col("role") == events.ROLE_JOIN), on=["rank", "graph"])
        .select(
            *("rank", "step", "kind", "role"),
            pl.lit(-1, dtype=pl.Int32).alias("worker"),
            *(pl.lit(0, dtype=pl.UInt64).alias(name) for name in ("id", "object")),
            *(pl.lit(0, dtype=pl.Int64).alias(name) for name in ("ready_ns", "start_ns", "end_ns")),
            "place",
        )
    )
    whole = pl.concat([tasks, joins])
    return whole.select(pl.Series("node", np.arange(whole.height)), pl.all())


def _edges(table: pl.DataFrame, what: int) -> pl.DataFrame:
    return table.select(
        pl.col("from", "to").cast(pl.Int64),
        pl.lit(what, dtype=pl.Int8).alias("what"),
        pl.lit(False).alias("critical"),
    )


def _messages(nodes: pl.DataFrame) -> pl.DataFrame:
    peer = (pl.col("object") // (1 << 32)).cast(pl.Int32)
    sends = nodes.filter(pl.col("role") == events.ROLE_SEND).select(
        pl.col("node").alias("from"), pl.col("rank").alias("source"), peer.alias("to_rank"),
        (pl.col("object") % (1 << 32)).alias("number"), "start_ns",
    )  # fmt: skip
    receives = nodes.filter(pl.col("role") == events.ROLE_RECEIVE).select(
        pl.col("node").alias("to"), peer.alias("source"), pl.col("rank").alias("to_rank"),
        (pl.col("object") % (1 << 32)).alias("number"), "end_ns",
    )  # fmt: skip
    # Messages of two communicators may have one number: those that fit in time are joined.
    pairs = sends.join(receives, on=["source", "to_rank", "number"]).with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("way")
    )
    nearest = (
        pairs.filter(pl.col("way") >= 0).sort("way").unique("to", keep="first", maintain_order=True)
    )
    return _edges(nearest.sort("from", "to"), MESSAGE)


def _dependencies(run: Run, nodes: pl.DataFrame) -> pl.DataFrame:
    """Those of the graphs in the trace, between tasks that ran."""
    placed = nodes.filter(pl.col("place") > 0).select("node", "rank", "step", "place")
    told = (
        run.graph_runs.join(run.dependencies, on=["rank", "graph"])
        .join(placed.rename({"node": "from", "place": "earlier"}), on=["rank", "step", "earlier"])
        .join(placed.rename({"node": "to", "place": "later"}), on=["rank", "step", "later"])
    )
    return _edges(told.sort("from", "to"), DEPENDENCY)


def _last_met(run: Run, nodes: pl.DataFrame) -> pl.DataFrame:
    """Of each task that is in no graph: the dependency that was met last."""
    pairs = _released(run, nodes)
    return _edges(pairs.filter(~pl.col("early")), DEPENDENCY)


def _released(run: Run, nodes: pl.DataFrame) -> pl.DataFrame:
    """Tasks that are in no graph (`to`) with whose end released them, or who spawned them (`early`:
    they were ready before the end of the other)."""
    told = run.tasks.select("rank", "id", pl.col("released_by").alias("parent"))
    parents = nodes.filter(pl.col("id") > 0).select(
        *("rank", "step", pl.col("id").alias("parent"), pl.col("node").alias("from")),
        pl.col("end_ns").alias("parent_end"),
    )
    return (
        nodes.filter((pl.col("place") == 0) & (pl.col("id") > 0))
        .join(told.filter(pl.col("parent") > 0), on=["rank", "id"])
        .join(parents, on=["rank", "step", "parent"])
        .with_columns((pl.col("ready_ns") < pl.col("parent_end")).alias("early"))
        .select("from", pl.col("node").alias("to"), "early")
        .sort("from", "to")
    )


@dataclass(frozen=True)
class _Families:
    """What tasks have spawned. Behind it is a gate, before all that waits for the first parent."""

    edges: pl.DataFrame
    gate_nodes: pl.DataFrame
    gates: pl.DataFrame  # from (the first parent), gate (a node)


def _families(run: Run, nodes: pl.DataFrame, ordered: pl.DataFrame) -> _Families:
    pairs = _released(run, nodes).filter(pl.col("early"))
    parent, child = (pairs[name].to_numpy() for name in ("from", "to"))
    parent_of = np.full(nodes.height, -1, dtype=np.int64)
    parent_of[child] = parent
    first = child.copy()
    while (above := parent_of[first]).size and (above >= 0).any():
        first = np.where(above >= 0, above, first)
    waited_for = np.zeros(nodes.height, dtype=np.bool_)
    waited_for[ordered["from"].to_numpy()] = True
    has_own = np.zeros(nodes.height, dtype=np.bool_)
    has_own[parent] = True
    is_last = ~has_own[child] & waited_for[first]
    roots, which = np.unique(first[is_last], return_inverse=True)
    gates = pl.DataFrame({"from": roots, "gate": nodes.height + np.arange(roots.size)})
    gate_nodes = (
        gates.join(nodes, left_on="from", right_on="node", maintain_order="left")
        .with_columns(
            pl.col("gate").alias("node"),
            pl.lit(NO_KIND, dtype=pl.Int32).alias("kind"),
            pl.lit(events.ROLE_JOIN, dtype=pl.Int8).alias("role"),
            *(pl.lit(0).cast(nodes.schema[name]).alias(name) for name in (*_TIMES, "id", "place")),
        )
        .select(nodes.columns)
    )
    to_gate = pl.DataFrame({"from": child[is_last], "to": nodes.height + which})
    edges = pl.concat([_edges(pairs, SPAWNED), _edges(to_gate, DEPENDENCY)])
    return _Families(edges, gate_nodes, gates)


def _without_idle_joins(nodes: pl.DataFrame, edges: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Leaves out joins that nothing leads to or from: they were not active. Nodes are numbered anew."""
    touched = np.zeros(nodes.height, dtype=np.bool_)
    touched[edges["from"].to_numpy()] = True
    touched[edges["to"].to_numpy()] = True
    keep = touched | (nodes["role"].to_numpy() != events.ROLE_JOIN)
    number = np.cumsum(keep) - 1
    renumber = (pl.Series(name, number[edges[name].to_numpy()]) for name in ("from", "to"))
    kept = nodes.filter(pl.Series(keep))
    return kept.with_columns(pl.Series("node", np.arange(kept.height))), edges.with_columns(*renumber)


def _mark_path(
    nodes: pl.DataFrame, edges: pl.DataFrame, path_tasks: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Marks what is on the critical path, and adds its edges that are no dependencies."""
    on_path = path_tasks.join(nodes.select("step", "rank", "id", "node"), on=["step", "rank", "id"],
                              how="left", maintain_order="left")  # fmt: skip
    critical = pl.col("node").is_in(on_path["node"].drop_nulls().to_list())
    nodes = nodes.with_columns(critical.alias("critical"))
    hops = on_path.select(
        *("led", pl.col("node").alias("from"), pl.col("node").shift(-1).over("step").alias("to"))
    ).drop_nulls()
    hops = hops.filter(pl.col("led") != critical_path.LAST).select("from", "to")
    hops, followed = _through_joins(nodes, edges, hops)
    edges = edges.join(hops.with_columns(hop=pl.lit(True)), on=["from", "to"], how="left").with_columns(
        pl.col("hop").fill_null(False).alias("critical")
    )
    added = _edges(followed, FOLLOWED).with_columns(critical=pl.lit(True))
    return nodes, pl.concat([edges.drop("hop"), added]).unique(["from", "to"], maintain_order=True)


def _through_joins(
    nodes: pl.DataFrame, edges: pl.DataFrame, hops: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Hops that are edges, those by way of a join as both of its edges; and hops that are none."""
    pairs = edges.select("from", "to")
    direct = hops.join(pairs, on=["from", "to"], how="semi")
    others = hops.join(pairs, on=["from", "to"], how="anti")
    joins = nodes.filter(pl.col("role") == events.ROLE_JOIN)["node"].to_list()
    into = pairs.filter(pl.col("to").is_in(joins)).rename({"to": "via"})
    out = pairs.filter(pl.col("from").is_in(joins)).rename({"from": "via"})
    by_join = others.join(into, on="from").join(out, on=["via", "to"])
    found = [
        direct,
        by_join.select("from", pl.col("via").alias("to")),
        by_join.select(pl.col("via").alias("from"), "to"),
    ]
    return pl.concat(found).unique(), others.join(by_join, on=["from", "to"], how="anti").unique()


def by_kind(graph: TaskGraph, paths: pl.DataFrame) -> KindGraph:
    """The graph gathered by kind. `paths`: of `critical_paths`."""
    nodes = graph.nodes.filter(pl.col("kind") != NO_KIND)
    length = pl.col("end_ns") - pl.col("start_ns")
    on_path = (
        paths.filter(pl.col("step").is_in(graph.steps) & (pl.col("what") == critical_path.RUN))
        .group_by("kind")
        .agg(length.sum().alias("path_ns"))
    )
    kinds = (
        nodes.group_by("kind")
        .agg(
            pl.col("role").max(),
            pl.len().alias("count"),
            length.sum().alias("total_ns"),
            length.mean().alias("mean_ns"),
        )
        .join(on_path, on="kind", how="left")
        .with_columns(pl.col("path_ns").fill_null(0))
        .sort("kind")
    )
    return KindGraph(kinds, _kind_edges(graph), graph.steps, graph.steps_left_out)


def _kind_edges(graph: TaskGraph) -> pl.DataFrame:
    """Edges between kinds, with those through gates put together."""
    kind, rank = (graph.nodes[name].to_numpy() for name in ("kind", "rank"))
    told = graph.edges.filter(pl.col("what") != FOLLOWED)
    start, end = told["from"].to_numpy(), told["to"].to_numpy()
    pairs = told.with_columns(
        pl.Series("from_kind", kind[start]),
        pl.Series("to_kind", kind[end]),
        pl.Series("across", rank[start] != rank[end]),
    )
    to_gate = pl.col("to_kind") == NO_KIND
    from_gate = pl.col("from_kind") == NO_KIND
    into = pairs.filter(to_gate).group_by("to", "from_kind").agg(pl.len().alias("into"))
    out = (
        pairs.filter(from_gate).group_by("from", "to_kind", "what", "across").agg(pl.len().alias("out"))
    )
    through = into.join(out, left_on="to", right_on="from").with_columns(
        (pl.col("into") * pl.col("out")).cast(pl.Int64).alias("count")
    )
    direct = pairs.filter(~to_gate & ~from_gate).with_columns(pl.lit(1, dtype=pl.Int64).alias("count"))
    columns = ("from_kind", "to_kind", "what", "across", "count")
    return (
        pl.concat([direct.select(columns), through.select(columns)])
        .group_by("from_kind", "to_kind", "what", "across")
        .agg(pl.col("count").sum())
        .rename({"from_kind": "from", "to_kind": "to"})
        .sort("from", "to", "what", "across")
    )
