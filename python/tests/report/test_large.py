# SPDX-License-Identifier: Apache-2.0
"""Pages of large runs: their limits are in docs/how-to/report.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from chromium import open_page
from synthetic import Ring
from synthetic_mpi import HaloProgram

from plait import read_run, write_report
from plait.report import payload, payload_traffic
from plait.report.analysis import analyse
from plait.report.lanes import make_lanes
from plait.report.payload_traffic import CELLS_MAX, traffic_data

PAGE_BYTES_MAX = 20 << 20


def page_of(run: Path, output: Path) -> Path:
    return write_report(analyse(read_run(run), run, None), output).page


def test_a_page_of_a_thousand_ranks_is_small_and_draws_all_figures(tmp_path: Path) -> None:
    page = page_of(HaloProgram(ranks=1000, steps=10).write(tmp_path / "run"), tmp_path / "out")
    assert page.stat().st_size < PAGE_BYTES_MAX
    opened = open_page(page)
    assert opened.console == []
    assert all(opened.figures().values())
    assert "have no lane of their own" in opened.html
    for picture in page.parent.glob("*.png"):
        assert picture.stat().st_size < PAGE_BYTES_MAX


def test_a_full_matrix_of_a_thousand_ranks_is_grouped_to_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = HaloProgram(ranks=1000, steps=1).write(tmp_path / "run")
    analysis = analyse(read_run(run), run, None)
    ranks = np.arange(1000)
    pairs = pl.DataFrame(
        {
            "source": np.repeat(ranks, 1000).astype(np.int32),
            "destination": np.tile(ranks, 1000).astype(np.int32),
            "messages": np.ones(1_000_000, dtype=np.int64),
            "bytes": np.random.default_rng(1).integers(1, 1 << 30, 1_000_000),
        }
    )
    object.__setattr__(analysis.traffic, "matrix", pairs)
    data, columns = traffic_data(analysis)
    assert data["matrix"]["groups"] ** 2 <= CELLS_MAX
    assert data["matrix"]["each"] == 2
    assert sum(len(text) for text in columns.values()) < PAGE_BYTES_MAX // 2
    # Few of the pairs: each has its cell.
    object.__setattr__(analysis.traffic, "matrix", pairs.head(50_000))
    monkeypatch.setattr(payload_traffic, "CELLS_MAX", 1_000_000)
    assert traffic_data(analysis)[0]["matrix"]["each"] == 1


def test_a_page_of_a_million_tasks_is_small(tmp_path: Path) -> None:
    ring = Ring(ranks=2, workers=1, seed=4)
    ring.run(100)
    run = ring.write(tmp_path / "run", repeat=125)
    assert read_run(run).tasks.height > 1_000_000
    assert page_of(run, tmp_path / "out").stat().st_size < PAGE_BYTES_MAX


def test_counters_of_many_ranks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "COUNTER_POINTS_MAX", 100)
    ring = Ring(ranks=2, workers=1, seed=4)
    ring.run(200)
    run = ring.write(tmp_path / "run")
    analysis = analyse(read_run(run), run, None)
    counters = payload.make_payload(analysis, make_lanes(analysis.run)).data["counters"]
    points = sum(len(line["value"]) for counter in counters for line in counter["lines"])
    assert 0 < points <= 100 + sum(len(counter["lines"]) for counter in counters)
