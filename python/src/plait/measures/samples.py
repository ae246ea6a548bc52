# SPDX-License-Identifier: Apache-2.0
"""What threads computed between their calls, from samples (`plait record`, `run --sample`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run, Site
from plait.measures.calls import call_at

LOST = "samples lost"  # a counter of the recorder
_MPI = re.compile(r"P?MPI_[A-Z]")
UNKNOWN = "unknown code"  # of a sample without a place

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SampleMeasures:
    """Of a run without samples: empty tables."""

    interval_ns: float  # of processor time that a sample is for
    lost: int  # samples
    #: rank, worker, thread, time_ns, site; in_call: in a call of MPI; waited_for: meanwhile,
    #: another rank waited in a call for this one; region: index into Run.span_kinds, -1 = in none;
    #: task: index into Run.kinds, -1 = in none.
    samples: pl.DataFrame
    #: Of computing, that is outside of calls, by function: function, self_ns (in it), total_ns
    #: (in it and what it calls), waited_ns (of self_ns: while another rank waited for this one),
    #: self_share; most first.
    by_function: pl.DataFrame
    #: The same by region and function: region, function, self_ns, share (of the region).
    by_region: pl.DataFrame
    #: The same by kind of task and function: task, function, self_ns, share (of the kind).
    by_task: pl.DataFrame

    @property
    def computing(self) -> pl.DataFrame:
        return self.samples.filter(~pl.col("in_call"))


def measure_samples(run: Run, calls: pl.DataFrame, waits: pl.DataFrame) -> SampleMeasures:
    """`calls`: `calls_within`; `waits`: `wait_states`."""
    interval_ns = float(run.samples["interval_ns"].max() or 0)  # type: ignore[arg-type]
    if run.calls.height:
        inside = call_at(calls, run.samples["rank"], run.samples["worker"], run.samples["time_ns"]) >= 0
    else:
        inside = _is_in_mpi(run)
    samples = run.samples.with_columns(
        pl.Series("in_call", inside, dtype=pl.Boolean),
        pl.Series("waited_for", _is_waited_for(run.samples, waits), dtype=pl.Boolean),
        pl.Series("region", _regions(run), dtype=pl.Int32),
        pl.Series("task", _tasks(run), dtype=pl.Int32),
    )
    paths = [site.path for site in run.sites]
    computing = samples.filter(~pl.col("in_call"))
    return SampleMeasures(
        interval_ns=interval_ns,
        lost=_lost(run),
        samples=samples,
        by_function=_by_function(computing, paths, interval_ns),
        by_region=_by_place(computing, paths, "region", run.span_kinds, interval_ns),
        by_task=_by_place(computing, paths, "task", run.kinds, interval_ns),
    )


def _is_in_mpi(run: Run) -> Mask:
    """Of a run whose calls were not recorded: whether a function of MPI is among the callers."""
    in_mpi = [any(_MPI.match(one.function_name) for one in site.path) for site in run.sites]
    sites = run.samples["site"].to_numpy()
    found: Mask = np.array([*in_mpi, False], dtype=np.bool_)[sites]  # -1, not known, is the last
    return found


def _lost(run: Run) -> int:
    if LOST not in run.counter_kinds:
        return 0
    return round(
        float(run.counters.filter(pl.col("kind") == run.counter_kinds.index(LOST))["value"].sum())
    )


def _is_waited_for(samples: pl.DataFrame, waits: pl.DataFrame) -> Mask:
    rank, time = samples["rank"].to_numpy(), samples["time_ns"].to_numpy()
    found: Mask = np.zeros(rank.size, dtype=np.bool_)
    for (peer,), own in waits.group_by("peer"):
        at = np.flatnonzero(rank == peer)
        start = own["start_ns"].to_numpy()
        order = np.argsort(start, kind="stable")
        # Of all waits that have begun, the one that lasts longest.
        reached = np.maximum.accumulate((start + own["lost_ns"].to_numpy())[order])
        last = np.searchsorted(start[order], time[at], side="right") - 1
        found[at] = (last >= 0) & (time[at] < reached[np.maximum(last, 0)])
    return found


def _regions(run: Run) -> Ints:
    """The innermost span of each sample; of a thread that does not call, that of its rank's
    first thread."""
    worker = run.samples["worker"].to_numpy().copy()
    worker[worker == events.NO_WORKER] = 0
    return _innermost(run.samples, worker, run.spans)


def _tasks(run: Run) -> Ints:
    """The kind of the task that the thread of each sample ran."""
    computing = run.tasks.filter(pl.col("role") == events.ROLE_TASK)
    return _innermost(run.samples, run.samples["worker"].to_numpy(), computing)


def _innermost(samples: pl.DataFrame, worker: npt.NDArray[Any], intervals: pl.DataFrame) -> Ints:
    """The `kind` of the interval of its thread in which each sample is; -1: in none."""
    rank, time = samples["rank"].to_numpy(), samples["time_ns"].to_numpy()
    found: Ints = np.full(rank.size, -1, dtype=np.int64)
    if not rank.size:
        return found
    for (of_rank, of_worker), spans in intervals.group_by("rank", "worker"):
        at = np.flatnonzero((rank == of_rank) & (worker == of_worker))
        if not at.size:
            continue
        at = at[np.argsort(time[at], kind="stable")]
        # An inner span begins later, so it is the last to be written.
        spans = spans.sort("start_ns", pl.col("end_ns"), descending=[False, True])
        first = np.searchsorted(time[at], spans["start_ns"].to_numpy())
        last = np.searchsorted(time[at], spans["end_ns"].to_numpy())
        has_some = last > first
        kinds = spans["kind"].to_numpy()[has_some]
        for low, high, kind in zip(first[has_some], last[has_some], kinds, strict=True):
            found[at[low:high]] = kind
    return found


def _by_function(
    computing: pl.DataFrame, paths: Sequence[Sequence[Site]], interval_ns: float
) -> pl.DataFrame:
    own: dict[str, int] = {}
    waited: dict[str, int] = {}
    whole: dict[str, int] = {}
    counted = computing.group_by("site").agg(pl.len().alias("count"), pl.col("waited_for").sum())
    for site, count, for_others in counted.sort("site").iter_rows():
        names = _names(paths, site)
        own[names[0]] = own.get(names[0], 0) + count
        waited[names[0]] = waited.get(names[0], 0) + for_others
        for name in set(names):
            whole[name] = whole.get(name, 0) + count
    functions = list(whole)
    table = pl.DataFrame(
        {
            "function": functions,
            "self_ns": [own.get(name, 0) * interval_ns for name in functions],
            "total_ns": [whole[name] * interval_ns for name in functions],
            "waited_ns": [waited.get(name, 0) * interval_ns for name in functions],
            "self_share": [own.get(name, 0) / max(1, computing.height) for name in functions],
        },
        schema={"function": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)},
    )
    return table.sort("self_ns", "total_ns", "function", descending=[True, True, False])


_NUMBERS = ("self_ns", "total_ns", "waited_ns", "self_share")


def _by_place(
    computing: pl.DataFrame,
    paths: Sequence[Sequence[Site]],
    place: str,
    named: Sequence[str],
    interval_ns: float,
) -> pl.DataFrame:
    """By the column `place` and function. Of samples that are in no such place: nothing."""
    functions = [_names(paths, site)[0] for site in range(len(paths))]
    names = {-1: UNKNOWN, **dict(enumerate(functions))}
    found = (
        computing.filter(pl.col(place) >= 0)
        .with_columns(
            pl.col("site").cast(pl.Int64).replace_strict(names, default=UNKNOWN, return_dtype=pl.String),
            pl.col(place)
            .cast(pl.Int64)
            .replace_strict(dict(enumerate(named)), default="", return_dtype=pl.String),
        )
        .group_by(place, pl.col("site").alias("function"))
        .agg((pl.len() * interval_ns).alias("self_ns"))
        .with_columns((pl.col("self_ns") / pl.col("self_ns").sum().over(place)).alias("share"))
    )
    return found.sort(
        pl.col("self_ns").sum().over(place),
        place,
        "self_ns",
        "function",
        descending=[True, False, True, False],
    )


def _names(paths: Sequence[Sequence[Site]], site: int) -> list[str]:
    """The innermost first."""
    return [one.function_name for one in paths[site]] if site >= 0 else [UNKNOWN]


# --- the tree of calls ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """A function in the tree of calls, with all that it calls there. Widths: in samples."""

    depth: int  # from 0
    left: int
    width: int
    own: int  # of the width: in the function itself
    waited: int  # of the width: while another rank waited for this one
    function: str
    module: str


def call_tree(run: Run, computing: pl.DataFrame, narrowest: float) -> list[Box]:
    """The paths of samples, merged from the outermost function on; callees of a function by width.

    Boxes narrower than `narrowest`, a share of all samples, are left out.
    """
    counted = computing.group_by("site").agg(pl.len().alias("count"), pl.col("waited_for").sum())
    root = _Node("", "")
    for site, count, waited in counted.sort("site").iter_rows():
        node = root
        node.add(count, waited)
        for one in reversed(run.sites[site].path if site >= 0 else (Site(UNKNOWN),)):
            node = node.callee(one)
            node.add(count, waited)
        node.own += count
    boxes: list[Box] = []
    root.lay_out(-1, 0, max(1.0, narrowest * root.width), boxes)
    return boxes[1:]


class _Node:
    def __init__(self, function: str, module: str) -> None:
        self.function, self.module = function, module
        self.width = self.own = self.waited = 0
        self._callees: dict[str, _Node] = {}

    def add(self, count: int, waited: int) -> None:
        self.width += count
        self.waited += waited

    def callee(self, site: Site) -> _Node:
        name = site.function_name
        return self._callees.setdefault(name, _Node(name, site.place.rpartition("+")[0] or UNKNOWN))

    def lay_out(self, depth: int, left: int, narrowest: float, boxes: list[Box]) -> None:
        boxes.append(Box(depth, left, self.width, self.own, self.waited, self.function, self.module))
        for callee in sorted(self._callees.values(), key=lambda one: (-one.width, one.function)):
            if callee.width >= narrowest:
                callee.lay_out(depth + 1, left, narrowest, boxes)
            left += callee.width


def deepest(boxes: Sequence[Box]) -> int:
    return max((box.depth for box in boxes), default=-1)
