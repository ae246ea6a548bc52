# SPDX-License-Identifier: Apache-2.0
"""How the ranks' computing time differs, and how that changes over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.calls import calls_within
from plait.measures.idle import union_until

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Balance:
    """Computing time of each rank in bins of equal length."""

    edges_ns: Floats  # one more than there are bins
    ranks: tuple[int, ...]
    computing_ns: Floats  # [rank, bin]

    @property
    def imbalance(self) -> Floats:
        """Of each bin: most over mean, less 1. 0 is perfect; 0 where no rank computed."""
        return _imbalance(self.computing_ns)

    def whole(self) -> float:
        """That of the whole time: ranks that take turns in being slow count as balanced."""
        return float(_imbalance(self.computing_ns.sum(axis=1)[:, None])[0]) if self.ranks else 0.0


def _imbalance(computing_ns: Floats) -> Floats:
    if not computing_ns.shape[0]:
        return np.zeros(computing_ns.shape[1])
    mean = computing_ns.mean(axis=0)
    found: Floats = np.where(mean > 0, computing_ns.max(axis=0) / np.maximum(mean, 1e-300) - 1.0, 0.0)
    return found


def balance_over_time(run: Run, window_ns: tuple[int, int], bins: int) -> Balance:
    """Computing is being in a task, or, in a program recorded from outside, being in no call of the
    library.

    Of a rank with several workers or calling threads: the sum over them.
    """
    low, high = window_ns
    edges = np.rint(np.linspace(low, max(high, low + 1), bins + 1))
    tasks = run.tasks.filter(pl.col("role") == events.ROLE_TASK)
    is_by_tasks = tasks.height > 0
    table = tasks if is_by_tasks else calls_within(run, window_ns, "rank")
    sums = {rank: np.zeros(bins) for rank in run.ranks_present}
    times = table.select("rank", "worker", "start_ns", "end_ns")
    for (rank, _), lane in times.group_by("rank", "worker"):
        until = union_until(lane["start_ns"].to_numpy(), lane["end_ns"].to_numpy())
        inside = np.diff(until(edges.astype(np.int64)))
        sums[int(str(rank))] += inside if is_by_tasks else np.maximum(np.diff(edges) - inside, 0.0)
    ranks = tuple(sums) if table.height else ()
    computing = np.stack([sums[rank] for rank in ranks]) if ranks else np.zeros((0, bins))
    return Balance(edges, ranks, computing)


def waiting_shares(balance: Balance) -> Floats:
    """[rank, bin]: the share of the time in which the rank did not compute, 0 to 1.

    Of a rank with several workers or threads, as many count as computed at once in any bin.
    """
    length = np.diff(balance.edges_ns)[None, :]
    at_once = (balance.computing_ns / length).max(axis=1, initial=0.0)
    lanes = np.maximum(1.0, np.ceil(at_once - 1e-6))[:, None]
    found: Floats = np.clip(1.0 - balance.computing_ns / (lanes * length), 0.0, 1.0)
    return found
