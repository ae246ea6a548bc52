# SPDX-License-Identifier: Apache-2.0
"""Which tasks of a step a picture shows, when all are too many to be read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._errors import PlaitError
from plait.measures.task_graph import TaskGraph

TASKS_MAX = 150
#: Of what a picture holds, the part that the critical path may take: the rest shows what is beside it.
_PATH_SHARE = 2 / 3


@dataclass(frozen=True)
class Choice:
    """What a picture of single tasks shows: what fits all that is given here.

    Of more than `most` tasks, those nearest to `around`; of equally near ones the longest. Of a
    critical path that is too long, its end.
    """

    ranks: tuple[int, ...] = ()  # none: all
    from_ns: int | None = None  # since the step's start; tasks that touch the stretch
    until_ns: int | None = None
    around: tuple[int, int] | None = None  # (rank, task id); None: the critical path
    distance: int | None = None  # in edges from `around`
    most: int = TASKS_MAX


@dataclass(frozen=True)
class Part:
    graph: TaskGraph  # what is shown, numbered as in the whole
    tasks: int  # in the steps, joins not counted, folded ones each
    shown: int
    hidden: dict[
        int, tuple[int, int]
    ]  # node -> how many edges lead to it, and from it, that are not shown


def choose(graph: TaskGraph, choice: Choice) -> Part:
    """`graph`: of `fold` or `with_counts`. Raises PlaitError, for the user, when nothing is left."""
    nodes = graph.nodes
    allowed = _allowed(nodes, choice)
    start, end = (graph.edges[name].to_numpy() for name in ("from", "to"))
    far = _distances(nodes, (start, end), allowed, choice)
    keep = allowed & (far >= 0)
    if choice.distance is not None:
        keep &= far <= choice.distance
    is_task = nodes["role"].to_numpy() != events.ROLE_JOIN
    length = (nodes["end_ns"] - nodes["start_ns"]).to_numpy()
    order = np.lexsort((-length, far))
    ranked = order[keep[order]]
    shown = np.zeros(nodes.height, dtype=np.bool_)
    shown[ranked[np.cumsum(is_task[ranked]) <= choice.most]] = True
    shown &= is_task | _between(shown & is_task, start, end, nodes.height)
    if not (shown & is_task).any():
        raise PlaitError(
            "no task is left to be drawn: choose more ranks, a longer stretch of time or another task"
        )
    both = shown[start] & shown[end]
    part = TaskGraph(
        nodes.filter(pl.Series(shown)),
        graph.edges.filter(pl.Series(both)),
        graph.steps,
        graph.steps_left_out,
    )
    before = np.bincount(end[~both & shown[end]], minlength=nodes.height)
    after = np.bincount(start[~both & shown[start]], minlength=nodes.height)
    lacking = np.flatnonzero(before + after)
    hidden = {int(node): (int(before[node]), int(after[node])) for node in lacking}
    count = nodes["count"].to_numpy()
    return Part(part, int(count[is_task].sum()), int(count[is_task & shown].sum()), hidden)


def _allowed(nodes: pl.DataFrame, choice: Choice) -> npt.NDArray[np.bool_]:
    is_join = pl.col("role") == events.ROLE_JOIN
    fits = pl.lit(True)
    begin = nodes.filter(~is_join)["ready_ns"].min() or 0
    if choice.ranks:
        fits &= pl.col("rank").is_in(choice.ranks)
    if choice.from_ns is not None:
        fits &= is_join | (pl.col("end_ns") - begin >= choice.from_ns)
    if choice.until_ns is not None:
        fits &= is_join | (pl.col("start_ns") - begin <= choice.until_ns)
    allowed: npt.NDArray[np.bool_] = nodes.select(fits.alias("fits"))["fits"].to_numpy()
    return np.broadcast_to(allowed, (nodes.height,)).copy()


def _last_of(nodes: pl.DataFrame, path: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.bool_]:
    """As much of the path as may be in a picture of `most` tasks, if that is not all of them."""
    room = max(1, int(_PATH_SHARE * most))
    places = np.flatnonzero(path)
    if nodes.height <= most or places.size <= room:
        return path
    last = places[np.argsort(nodes["start_ns"].to_numpy()[places], kind="stable")[-room:]]
    kept = np.zeros(nodes.height, dtype=np.bool_)
    kept[last] = True
    return kept


def _distances(
    nodes: pl.DataFrame,
    ends: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    allowed: npt.NDArray[np.bool_],
    choice: Choice,
) -> npt.NDArray[np.int64]:
    """Edges from what is shown, in either direction; -1: no way, where a distance is requested."""
    start, end = ends
    far = np.full(nodes.height, -1, dtype=np.int64)
    if choice.around is None:
        seeds = _last_of(nodes, nodes["critical"].to_numpy() & allowed, choice.most)
    else:
        rank, number = choice.around
        seeds = ((nodes["rank"] == rank) & (nodes["id"] == number)).to_numpy()
        if not seeds.any():
            raise PlaitError(
                f"rank {rank} ran no task {number} in this step; the hover text shows numbers"
            )
    far[seeds] = 0
    front = seeds
    usable = allowed[start] & allowed[end]
    start, end = start[usable], end[usable]
    step = 0
    while front.any():
        step += 1
        touched = np.zeros(nodes.height, dtype=np.bool_)
        touched[end[front[start]]] = True
        touched[start[front[end]]] = True
        front = touched & (far < 0)
        far[front] = step
    if choice.distance is None:
        far[far < 0] = step + 1
    return far


def _between(
    shown: npt.NDArray[np.bool_],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    count: int,
) -> npt.NDArray[np.bool_]:
    """Nodes with something shown before and after them: only such joins matter."""
    has_before = np.zeros(count, dtype=np.bool_)
    has_after = np.zeros(count, dtype=np.bool_)
    has_before[end[shown[start]]] = True
    has_after[start[shown[end]]] = True
    both: npt.NDArray[np.bool_] = has_before & has_after
    return both
