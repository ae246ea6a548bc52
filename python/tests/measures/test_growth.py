# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
import trace_writer as w

from plait.measures import growth
from plait.readers.plait import read_run


def test_a_message_belongs_to_the_task_that_posts_it(tmp_path: Path) -> None:
    names = w.name(0, 1, "walk") + w.name(0, 2, "halo")
    tasks = w.task(1, 100, 300, id_=1) + w.task(2, 400, 450, flags=1, id_=2)
    sent = w.message(0, 1, 0, 8, (200, 210, 0, 220)) + w.message(0, 1, 1, 16, (350, 360, 0, 370))
    w.write_rank(tmp_path, 0, 2, {0: names + tasks + sent})
    received = w.message(1, 0, 0, 8, (200, 210, 215, 220)) + w.message(1, 0, 1, 16, (350, 360, 365, 370))
    w.write_rank(tmp_path, 1, 2, {0: names + w.task(1, 100, 200, id_=1) + received})
    w.write_meta(tmp_path, 2)
    rows = {row["phase"]: row for row in growth.phases(read_run(tmp_path)).to_dicts()}
    assert rows["walk"]["tasks"] == 1.0
    assert rows["walk"]["time_ns"] == 150.0
    assert rows["walk"]["messages"] == 0.5
    assert rows["walk"]["size_bytes"] == 4.0
    assert rows["halo (send)"]["time_ns"] == 25.0
    assert rows["halo (send)"]["messages"] == 0.0
    assert rows[growth.OUTSIDE]["messages"] == 0.5
    assert rows[growth.OUTSIDE]["size_bytes"] == 8.0


def test_the_exponent_is_the_slope_of_the_logarithms() -> None:
    assert growth.exponent({64: 3.0, 256: 12.0, 1024: 48.0}) == pytest.approx(1.0)
    assert growth.exponent({64: 5.0, 256: 5.0}) == pytest.approx(0.0)
    assert growth.exponent({64: 8.0, 256: 4.0, 1024: 0.0}) == pytest.approx(-0.5)
    assert growth.exponent({64: 3.0}) is None
    assert growth.exponent({64: 0.0, 256: 0.0}) is None
