# SPDX-License-Identifier: Apache-2.0
"""Which calls of a recorded program messages belong to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run

Ints = npt.NDArray[np.int64]


def posting_calls(run: Run) -> Ints:
    """For each message the row, in `run.calls`, of the call that posted it; -1 where that is not known.

    A call that posts several messages has the number of the first.
    """
    posts = (events.CALL_BEGINS, events.CALL_MESSAGE)
    calls = run.calls.with_row_index("row").filter(pl.col("class").is_in(posts) & (pl.col("number") > 0))
    messages = run.messages
    found = np.full(messages.height, -1, dtype=np.int64)
    if not calls.height:
        return found
    key = _key(calls)
    order = np.argsort(key, kind="stable")
    wanted = _key(messages)
    place = np.searchsorted(key[order], wanted, side="right") - 1
    at = np.maximum(place, 0)
    same = calls["rank"].to_numpy()[order][at] == messages["rank"].to_numpy()
    known = (place >= 0) & same & (messages["number"].to_numpy() > 0)
    found[known] = calls["row"].to_numpy()[order][at][known]
    return found


def _key(table: pl.DataFrame) -> Ints:
    """By rank, then by number, which is below 2^32."""
    key: Ints = (table["rank"].to_numpy().astype(np.int64) << 32) | table["number"].to_numpy()
    return key


def calls_at(run: Run, ranks: Ints, threads: Ints, times: Ints) -> Ints:
    """The row, in `run.calls`, of the call in which each thread was at each time; -1 where in none."""
    found = np.full(times.size, -1, dtype=np.int64)
    real = run.calls.with_row_index("row").filter(pl.col("class") != events.CALL_BEGUN_COLLECTIVE)
    for (rank, thread), part in real.partition_by(["rank", "worker"], as_dict=True).items():
        where = np.flatnonzero((ranks == rank) & (threads == thread))
        if not where.size:
            continue
        part = part.sort("start_ns", maintain_order=True)
        place = np.searchsorted(part["start_ns"].to_numpy(), times[where], side="right") - 1
        at = np.maximum(place, 0)
        inside = (place >= 0) & (part["end_ns"].to_numpy()[at] >= times[where])
        found[where[inside]] = part["row"].to_numpy()[at[inside]]
    return found
