# SPDX-License-Identifier: Apache-2.0
"""The calls of each thread as columns, for walks that go backwards through millions of them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait.measures.calls import lane_of

Thread = tuple[int, int]  # rank, worker
Ints = npt.NDArray[np.int64]


def _view(column: Any) -> memoryview:
    return memoryview(column)


class CallLanes:
    """Calls by their rows. Single values are read through memory views, which are as quick as lists."""

    def __init__(self, calls: pl.DataFrame, causes: pl.DataFrame, low_ns: int) -> None:
        """`calls`: `calls_within`; `causes`: `call_causes`; `low_ns`: the begin of the window."""
        self._calls = calls
        late_rank = np.full(calls.height, -1, dtype=np.int64)
        came_ns = np.zeros(calls.height, dtype=np.int64)
        late_rank[causes["call"].to_numpy()] = causes["rank"].to_numpy()
        came_ns[causes["call"].to_numpy()] = causes["came_ns"].to_numpy()
        lane = lane_of(calls["rank"], calls["worker"])
        firsts = np.flatnonzero(np.diff(lane, prepend=-1))
        #: Rows of each thread: the first, and the one after the last.
        self.rows: dict[Thread, tuple[int, int]] = {
            (int(lane[first]) >> 17, int(lane[first]) & 0x1FFFF): (int(first), int(last))
            for first, last in pairwise(np.r_[firsts, lane.size])
        }
        start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
        #: Where the thread's call before each had ended; of the first, the begin of the window. Only in
        #: a damaged trace that is after the begin of this one.
        self._previous_end = np.r_[np.int64(low_ns), end[:-1]][: end.size]
        self._previous_end[firsts] = low_ns
        self._previous_end = np.minimum(self._previous_end, start)
        at = np.arange(calls.height)
        waited = np.maximum.accumulate(np.where(late_rank >= 0, at, -1)) if calls.height else at
        self.start_ns, self.end_ns = _view(start), _view(end)
        self.function = _view(calls["function"].to_numpy())
        self.late_rank, self.came_ns = _view(late_rank), _view(came_ns)
        self.previous_end = _view(self._previous_end)
        self._waited = _view(waited)

    def before(self, thread: Thread, time_ns: int) -> int:
        """The thread's last call that began before a time; -1: none."""
        first, last = self.rows.get(thread, (0, 0))
        at = bisect_left(self.start_ns, time_ns, first, last) - 1
        return at if at >= first else -1

    def waited_before(self, thread: Thread, row: int) -> int:
        """The thread's last call, up to this one, that waited for another rank; -1: none."""
        found: int = self._waited[row]
        return found if found >= self.rows[thread][0] else -1

    def stretches(self, ranges: list[tuple[int, int]]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The calls of ranges of rows (first, last), and the times between each and the call before it:
        rank, worker, function (of calls), start_ns, end_ns."""
        if not ranges:
            columns = ("rank", "worker", "function", "start_ns", "end_ns")
            nothing = self._calls.head(0).select(columns)
            return nothing, nothing
        bounds = np.asarray(ranges)
        counts = bounds[:, 1] - bounds[:, 0] + 1
        before = np.repeat(bounds[:, 0] - (np.cumsum(counts) - counts), counts)
        rows = before + np.arange(before.size)
        calls = self._calls[rows].select("rank", "worker", "function", "start_ns", "end_ns")
        between = calls.with_columns(
            pl.Series("start_ns", self._previous_end[rows]), pl.col("start_ns").alias("end_ns")
        )
        return calls, between
