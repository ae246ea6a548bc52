# SPDX-License-Identifier: Apache-2.0
"""Measures on tables made by hand, small enough to check with a pencil."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from plait import _events as events
from plait.measures import critical_path as cp
from plait.measures.idle import covered_ns, idle_by_lane, idle_by_rank, overlap_ns
from plait.measures.messages import (
    count_unmatched,
    data_rate,
    in_flight,
    match_messages,
    since_step_start,
)
from plait.measures.phases import phase_times
from plait.measures.steps import step_bounds


def tasks(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows with defaults: rank 0, worker 0, kind 0, ready at the start, ids in order from 1."""
    whole = []
    for number, row in enumerate(rows):
        whole.append(
            {
                **{"rank": 0, "worker": 0, "kind": 0, "role": 0, "object": 0, "step": 0},
                **{"ready_ns": row["start_ns"], "id": number + 1, "released_by": 0, "place": 0},
                **row,
            }
        )
    return pl.DataFrame(whole, schema=events.TASKS)


def message(
    received: bool, source: int, to: int, size: int, *times: int, number: int = 1
) -> dict[str, Any]:
    return {
        "rank": to if received else source,
        "received": received,
        "protocol": 0,
        "source": source,
        "destination": to,
        "communicator": 0,
        "sequence": number,
        "tag": 0,
        "size_bytes": size,
        "posted_ns": times[0],
        "handed_ns": times[1],
        "arrived_ns": times[2],
        "completed_ns": times[3],
        **{
            "unfinished": False,
            "non_contiguous": False,
            "worker": 0,
            "number": 0,
            "function": -1,
            "site": -1,
        },
    }


def messages(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=events.MESSAGES)


def test_covered_time_counts_overlap_once() -> None:
    start, end = np.array([0, 5, 20, 21]), np.array([10, 8, 30, 25])
    assert covered_ns(start, end) == 20


def test_overlap_counts_what_both_cover() -> None:
    start, end = np.array([0, 50, 0]), np.array([10, 60, 100])
    gaps = np.array([5, 7, 55]), np.array([20, 9, 58])
    assert overlap_ns(start, end, *gaps) == 5 + 3 + 18


def test_idle_is_what_no_task_covers() -> None:
    table = tasks(
        {"start_ns": 10, "end_ns": 30},
        {"start_ns": 50, "end_ns": 60},
        {"start_ns": 0, "end_ns": 100, "role": events.ROLE_RECEIVE},
        {"start_ns": 0, "end_ns": 100, "worker": 1},
    )
    lanes = idle_by_lane(table, (0, 100))
    assert lanes["idle_ns"].to_list() == [70, 0]
    assert idle_by_rank(lanes)["idle_share"].to_list() == pytest.approx([0.35])


def test_messages_match_by_source_destination_communicator_and_number() -> None:
    table = messages(
        message(False, 0, 1, 100, 10, 11, 12, 13, number=1),
        message(False, 0, 1, 200, 20, 21, 22, 23, number=2),
        message(True, 0, 1, 200, 5, 24, 25, 26, number=2),
        message(True, 1, 0, 300, 5, 24, 25, 26, number=1),
    )
    matched = match_messages(table)
    assert matched.select("size_bytes", "sent_ns", "arrived_ns", "received_ns").rows() == [
        (200, 20, 25, 26)
    ]
    assert count_unmatched(table, matched).sends == 1
    assert count_unmatched(table, matched).receives == 1


def test_data_in_flight_rises_at_posting_and_falls_at_completion() -> None:
    matched = match_messages(
        messages(
            message(False, 0, 1, 100, 10, 11, 12, 13, number=1),
            message(False, 0, 1, 50, 20, 21, 22, 23, number=2),
            message(True, 0, 1, 100, 0, 12, 28, 30, number=1),
            message(True, 0, 1, 50, 0, 22, 38, 40, number=2),
        )
    )
    curve = in_flight(matched)[0]
    assert curve.time_ns.tolist() == [10, 20, 30, 40]
    assert curve.value.tolist() == [100, 150, 50, 0]
    assert curve.peak() == 150
    assert curve.mean() == 100


def test_rates_keep_the_bytes() -> None:
    matched = match_messages(
        messages(
            message(False, 0, 1, 1000, 10, 11, 12, 13),
            message(True, 0, 1, 1000, 0, 12, 90, 95),
        )
    )
    edges, rates = data_rate(matched, (0, 100), 10)
    received = rates[1] * np.diff(edges) * 1e-9
    assert received.sum() == pytest.approx(1000)
    assert received[0] == 0
    assert received[5] == pytest.approx(125)


def test_times_count_from_the_start_of_their_step() -> None:
    times = np.array([15, 115, 130])
    assert since_step_start(times, times, np.array([10, 110])).tolist() == [5, 5, 20]


def test_steps_begin_when_their_first_task_is_ready() -> None:
    table = tasks(
        {"start_ns": 10, "end_ns": 30, "ready_ns": 4},
        {"start_ns": 40, "end_ns": 45, "step": 1, "rank": 1},
    )
    assert step_bounds(table).rows() == [(0, 4, 30, 26), (1, 40, 45, 5)]


def test_phases_count_a_rank_that_did_nothing_as_zero() -> None:
    table = tasks(
        {"start_ns": 0, "end_ns": 30},
        {"start_ns": 40, "end_ns": 50},
        {"start_ns": 0, "end_ns": 8, "kind": 1},
        {"start_ns": 0, "end_ns": 12, "kind": 1, "rank": 1},
    )
    rows = phase_times(table, ["force", "kick"], [0, 1]).to_dicts()
    assert [
        (r["phase"], r["count"], r["total_ns"], r["mean_ns"], r["min_ns"], r["max_ns"]) for r in rows
    ] == [
        ("force", 2, 40, 20.0, 0, 40),
        ("kick", 2, 20, 10.0, 8, 12),
    ]
    assert rows[0]["imbalance"] == 2.0


def path_of(table: pl.DataFrame, matched: pl.DataFrame | None = None) -> list[tuple[int, int, int, int]]:
    """(rank, what, start, end)"""
    matched = match_messages(messages()) if matched is None else matched
    return cp.critical_paths(table, matched).select("rank", "what", "start_ns", "end_ns").rows()


def test_the_path_goes_back_along_released_by() -> None:
    table = tasks(
        {"start_ns": 0, "end_ns": 10},
        {"start_ns": 12, "end_ns": 20, "released_by": 1, "ready_ns": 11, "worker": 1},
        {"start_ns": 0, "end_ns": 5, "worker": 2},
    )
    assert path_of(table) == [
        (0, cp.RUN, 0, 10),
        (0, cp.RELEASE, 10, 11),
        (0, cp.WORKER_WAIT, 11, 12),
        (0, cp.RUN, 12, 20),
    ]


def test_the_path_goes_along_the_worker_that_was_busy() -> None:
    table = tasks(
        {"start_ns": 0, "end_ns": 10},
        {"start_ns": 10, "end_ns": 30, "released_by": 0, "ready_ns": 1},
    )
    assert path_of(table) == [(0, cp.RUN, 0, 10), (0, cp.RUN, 10, 30)]


def crossing(posted: int) -> pl.DataFrame:
    """Rank 0 computes and sends; rank 1 has posted its receive at `posted`, then computes."""
    return tasks(
        {"start_ns": 0, "end_ns": 10, "id": 1},
        {"start_ns": 10, "end_ns": 14, "id": 2, "role": 1, "object": 1 << 32 | 7, "released_by": 1},
        {"start_ns": 0, "end_ns": posted, "id": 3, "rank": 1},
        {"start_ns": posted, "end_ns": 30, "id": 4, "rank": 1, "role": 2, "object": 7, "released_by": 3},
        {
            "start_ns": 31,
            "end_ns": 40,
            "id": 5,
            "rank": 1,
            "released_by": 4,
            "ready_ns": 30,
            "worker": 1,
        },
    )


def test_the_path_crosses_to_the_sender() -> None:
    assert path_of(crossing(posted=2)) == [
        (0, cp.RUN, 0, 10),
        (1, cp.TRANSFER, 10, 30),
        (1, cp.WORKER_WAIT, 30, 31),
        (1, cp.RUN, 31, 40),
    ]


def test_the_path_stays_with_a_receive_that_was_posted_late() -> None:
    matched = match_messages(
        messages(
            message(False, 0, 1, 8, 10, 11, 12, 13, number=7),
            message(True, 0, 1, 8, 28, 28, 15, 30, number=7),
        )
    )
    assert path_of(crossing(posted=28), matched)[:2] == [(1, cp.RUN, 0, 28), (1, cp.NOTICE, 28, 30)]


def test_the_path_tells_when_a_message_was_through_but_not_noticed() -> None:
    matched = match_messages(
        messages(
            message(False, 0, 1, 8, 10, 11, 12, 13, number=7),
            message(True, 0, 1, 8, 2, 15, 18, 30, number=7),
        )
    )
    path = path_of(crossing(posted=2), matched)
    assert path[1:3] == [(1, cp.TRANSFER, 10, 18), (1, cp.NOTICE, 18, 30)]


def test_by_rendezvous_the_path_goes_to_the_side_that_posted_later() -> None:
    table = messages(
        message(False, 0, 1, 8, 10, 11, 29, 30, number=7),
        message(True, 0, 1, 8, 20, 21, 30, 30, number=7),
    ).with_columns(pl.lit(1, dtype=pl.Int8).alias("protocol"))
    path = path_of(crossing(posted=20), match_messages(table))
    assert path[:2] == [(1, cp.RUN, 0, 20), (1, cp.TRANSFER, 20, 30)]


def test_of_two_messages_of_one_number_the_tasks_own_counts() -> None:
    other = (
        message(False, 0, 1, 8, 900, 901, 902, 903, number=7),
        message(True, 0, 1, 8, 900, 901, 990, 991, number=7),
    )
    own = (
        message(False, 0, 1, 8, 10, 11, 12, 13, number=7),
        message(True, 0, 1, 8, 2, 15, 18, 30, number=7),
    )
    table = messages(*({**m, "communicator": 5} for m in other), *own)
    path = path_of(crossing(posted=2), match_messages(table))
    assert (1, cp.NOTICE, 18, 30) in path


def test_a_path_covers_its_step_without_gaps() -> None:
    path = path_of(crossing(posted=2))
    assert [a[3] for a in path[:-1]] == [b[2] for b in path[1:]]


def test_tasks_that_release_each_other_do_not_hang_the_walk() -> None:
    table = tasks(
        {"start_ns": 0, "end_ns": 10, "released_by": 2},
        {"start_ns": 0, "end_ns": 10, "released_by": 1, "worker": 1},
    )
    assert path_of(table) == [(0, cp.RUN, 0, 10)]


def test_shares_of_the_path_sum_to_one() -> None:
    paths = cp.critical_paths(crossing(posted=2), match_messages(messages()))
    shares = cp.path_shares(paths, ("force",))
    assert shares["share"].sum() == pytest.approx(1.0)
    assert dict(shares.select("name", "time_ns").rows())["message under way"] == 20
