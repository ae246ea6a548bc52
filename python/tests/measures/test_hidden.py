# SPDX-License-Identifier: Apache-2.0
"""What of messages is hidden behind computing, on times that can be checked by hand."""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait.measures.hidden import hidden_times

_MESSAGE = {"source": 1, "destination": 0, "sent_ns": 100, "expected_ns": 0, "received_ns": 200}


def _tasks(*times: tuple[int, int, int, int]) -> pl.DataFrame:
    """(worker, step, start, end) of tasks of rank 0."""
    rows = [
        {
            "rank": 0,
            "worker": w,
            "role": events.ROLE_TASK,
            "step": s,
            "ready_ns": a,
            "start_ns": a,
            "end_ns": b,
        }
        for w, s, a, b in times
    ]
    return pl.DataFrame(
        rows, schema_overrides={"rank": pl.Int32(), "role": pl.Int8(), "step": pl.Int64()}
    )


def test_one_worker_that_computes_half_of_the_time() -> None:
    times = hidden_times(_tasks((0, 1, 50, 150), (0, 1, 190, 300)), pl.DataFrame([_MESSAGE]))
    assert times.rows() == [(0, 1, 100, 60)]


def test_workers_count_by_their_mean_and_steps_apart() -> None:
    tasks = _tasks((0, 1, 0, 150), (1, 1, 0, 120), (0, 2, 150, 250), (1, 2, 240, 250))
    times = hidden_times(tasks, pl.DataFrame([_MESSAGE]))
    assert times.rows() == [(0, 1, 50, 35), (0, 2, 50, 25)]


def test_messages_to_oneself_do_not_count() -> None:
    own = {**_MESSAGE, "source": 0}
    assert hidden_times(_tasks((0, 1, 0, 300)), pl.DataFrame([own])).height == 0
