# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import polars as pl
import trace_writer as w

from plait import read_run
from plait.measures.dead_time import PARTS, dead_time_totals, dead_times
from plait.measures.kinds import kind_statistics
from plait.report.analysis import analyse


def run_of(folder: Path, records: bytes, workers: int = 2) -> Path:
    w.write_meta(folder, 1, workers)
    w.write_rank(folder, 0, 1, {0: w.name(0, 1, "work") + w.name(0, 2, "other") + records})
    return folder


def test_a_workers_time_falls_into_before_between_and_after(tmp_path: Path) -> None:
    records = (
        w.graph_run(1, 0, 100)
        + w.task(1, 150, 250, id_=1, ready=120)
        + w.task(1, 400, 500, id_=2, ready=350)  # 100 nothing was ready, then 50 it was
        + w.task(1, 600, 900, id_=3, ready=600, worker=1)
    )
    run = read_run(run_of(tmp_path, records))
    rows = dead_times(run).select("worker", "tasks", "length_ns", *PARTS[:-1]).rows()
    assert rows == [(0, 2, 800, 200, 50, 50, 100, 400), (1, 1, 800, 300, 500, 0, 0, 0)]
    totals = dead_time_totals(dead_times(run), (100, 1000))
    assert totals["outside_ns"].to_list() == [100, 100]
    assert totals.select(pl.sum_horizontal(PARTS)).to_series().to_list() == [900, 900]


def test_a_worker_without_a_task_waited_before_its_first(tmp_path: Path) -> None:
    run = read_run(run_of(tmp_path, w.task(1, 100, 300, id_=1), workers=2))
    rows = dead_times(run).select("worker", "tasks", "busy_ns", "before_ns", "after_ns").rows()
    assert rows == [(0, 1, 200, 0, 0), (1, 0, 0, 200, 0)]


def test_nested_tasks_count_once(tmp_path: Path) -> None:
    records = w.task(1, 100, 500, id_=1) + w.task(1, 200, 300, id_=2) + w.task(1, 600, 700, id_=3)
    row = dead_times(read_run(run_of(tmp_path, records, 1))).row(0, named=True)
    assert (row["busy_ns"], row["held_ns"] + row["starved_ns"], row["length_ns"]) == (500, 100, 600)


def test_parts_add_up_in_a_whole_run(ring_folder: Path) -> None:
    analysis = analyse(read_run(ring_folder), ring_folder, None)
    inner = analysis.dead_steps.select(pl.sum_horizontal(PARTS[:-1])).to_series()
    assert (inner == analysis.dead_steps["length_ns"]).all()
    assert (analysis.dead_steps.select(PARTS[:-1]).to_numpy() >= 0).all()
    window = analysis.working_ns[1] - analysis.working_ns[0]
    assert (analysis.dead.select(pl.sum_horizontal(PARTS)).to_series() == window).all()


def test_kinds_have_lengths_queues_and_shares(tmp_path: Path) -> None:
    lengths = [10, 20, 30, 40, 100]
    records = b"".join(
        w.task(1, 1000 * i, 1000 * i + length, id_=i, ready=1000 * i - 5)
        for i, length in enumerate(lengths, 1)
    )
    records += w.task(2, 9000, 9200, id_=9)
    table = kind_statistics(read_run(run_of(tmp_path, records)))
    work = table.row(by_predicate=pl.col("name") == "work", named=True)
    assert (work["count"], work["min_ns"], work["median_ns"], work["max_ns"]) == (5, 10, 30, 100)
    assert (work["mean_ns"], work["sum_ns"], work["share"], work["queued_ns"]) == (40, 200, 0.5, 5)
    assert table["name"].to_list() == ["work", "other"]
