# SPDX-License-Identifier: Apache-2.0
"""The records of flows: each task and message once, and what wrote the data of each message."""

from __future__ import annotations

from pathlib import Path

import trace_writer as w

from plait import _events as events
from plait import read_run

READS, WRITES, ANY_ORDER = 0, 1, 2
COMM = 1 << 30


def written_by(folder: Path, *records: bytes) -> dict[int, int]:
    """Of each message its writer."""
    w.write_meta(folder, 1)
    w.write_rank(folder, 0, 1, {0: w.name(0, 1, "add") + b"".join(records)})
    run = read_run(folder)
    assert not run.notices
    messages = run.flow_tasks.filter(run.flow_tasks["role"] != events.ROLE_TASK)
    return dict(messages.select("id", "written_by").rows())


def send(id_: int, place: int) -> bytes:
    return w.flow_task(id_, id_, [(place, READS)], part=1, communicator=COMM, tag=id_)


def test_reads_every_field_of_a_message(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 1)
    records = w.name(0, 1, "add") + w.task(1, 100, 200, id_=4, step=3)
    records += w.flow_task(4, 90, [(1, WRITES)])
    records += w.flow_task(5, 95, [(1, READS)], part=1, communicator=COMM, tag=77)
    w.write_rank(tmp_path, 0, 1, {0: records})
    table = read_run(tmp_path).flow_tasks
    assert table.columns == list(events.FLOW_TASKS)
    assert table.rows()[1] == (0, 5, events.ROLE_SEND, COMM, 77, 95, 3, 4)


def test_a_message_has_the_last_writer_before_it(tmp_path: Path) -> None:
    found = written_by(
        tmp_path,
        *(w.flow_task(1, 1, [(1, WRITES)]), w.flow_task(2, 2, [(2, WRITES), (1, READS)])),
        *(send(3, 1), w.flow_task(4, 4, [(1, WRITES)]), send(5, 1), send(6, 2), send(7, 3)),
    )
    assert found == {3: 1, 5: 4, 6: 2, 7: 0}


def test_of_writers_in_any_order_the_one_counts_that_ended_last(tmp_path: Path) -> None:
    found = written_by(
        tmp_path,
        *(w.task(1, 10, 90, id_=1), w.task(1, 10, 50, id_=2), w.task(1, 10, 95, id_=4)),
        *(w.flow_task(number, number, [(1, ANY_ORDER)]) for number in (1, 2)),
        *(send(3, 1), w.flow_task(4, 4, [(1, ANY_ORDER)]), send(5, 1)),
    )
    assert found == {3: 1, 5: 4}


def test_a_task_with_many_accesses_is_one_row(tmp_path: Path) -> None:
    many = [(place, WRITES) for place in range(1, 9)]
    w.write_meta(tmp_path, 1)
    records = w.flow_task(1, 1, many[:6]) + w.flow_task(1, 1, many[6:]) + send(2, 8)
    w.write_rank(tmp_path, 0, 1, {0: records})
    table = read_run(tmp_path).flow_tasks
    assert table.select("id", "written_by").rows() == [(1, 0), (2, 1)]


def test_places_of_two_flows_with_one_number_are_two(tmp_path: Path) -> None:
    other = COMM + 1
    found = written_by(
        tmp_path,
        w.flow_task(1, 1, [(1, WRITES)], communicator=COMM),
        w.flow_task(2, 2, [(1, WRITES)], communicator=other),
        *(send(3, 1), w.flow_task(4, 4, [(1, READS)], part=1, communicator=other, tag=4)),
    )
    assert found == {3: 1, 4: 2}
