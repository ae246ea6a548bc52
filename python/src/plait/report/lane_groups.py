# SPDX-License-Identifier: Apache-2.0
"""Lanes of groups of neighbouring ranks, where a run has more ranks than a page has lanes for.

A lane of a group shows its mean rank: in each of many equal parts of time, one bar for each kind, as
long as the mean thread of the group spent in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait.measures.idle import covered_until
from plait.measures.rank_groups import group_size

#: Groups at most, and parts of time.
GROUPS_MAX = 64
PARTS = 400
#: A bar below this share of its part of time cannot be seen, and is left out.
_LEAST = 0.002


@dataclass(frozen=True)
class GroupLane:
    first_rank: int
    last_rank: int
    bars: pl.DataFrame  # start_ns, end_ns, kind; by start


def group_lanes(
    table: pl.DataFrame, ranks: list[int], window_ns: tuple[int, int], groups_max: int = GROUPS_MAX
) -> Iterator[GroupLane]:
    """`table`: rank, worker, kind, start_ns, end_ns. `ranks`: all that there are, rising."""
    each = group_size(len(ranks), groups_max)
    edges = np.linspace(*window_ns, PARTS + 1)
    numbers = np.asarray(ranks)
    group = np.searchsorted(numbers, table["rank"].to_numpy()) // each
    parts = table.with_columns(pl.Series("group", group)).partition_by("group", as_dict=True)
    for at in range(0, len(ranks), each):
        members = ranks[at : at + each]
        own = parts.get((at // each,))
        if own is not None:
            yield GroupLane(members[0], members[-1], _bars(own, edges))


def _bars(own: pl.DataFrame, edges: npt.NDArray[np.float64]) -> pl.DataFrame:
    threads = own.select("rank", "worker").unique().height
    width = edges[1] - edges[0]
    kinds, shares = [], []
    for (kind,), part in own.sort("kind").partition_by("kind", as_dict=True).items():
        until = covered_until(part["start_ns"].to_numpy(), part["end_ns"].to_numpy(), edges)
        kinds.append(int(str(kind)))
        shares.append(np.clip(np.diff(until) / (threads * width), 0.0, 1.0))
    length = np.asarray(shares)
    begin = np.cumsum(length, axis=0) - length
    part_of_time, row = np.nonzero((length > _LEAST).T)
    start = edges[part_of_time] + width * begin[row, part_of_time]
    end = start + width * length[row, part_of_time]
    return pl.DataFrame(
        {
            "start_ns": np.rint(start).astype(np.int64),
            "end_ns": np.rint(end).astype(np.int64),
            "kind": np.asarray(kinds, dtype=np.int32)[row],
        }
    )
