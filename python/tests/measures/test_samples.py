# SPDX-License-Identifier: Apache-2.0
"""What was computed, from made-up samples."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sampled_run import KERNEL, MAIN, MS, SOLVE, table

from plait._events import CALLS, ROLE_SEND, SAMPLES, SPANS, TASKS, Run, Site
from plait.measures.samples import call_tree, measure_samples
from plait.measures.wait_states import WAITS
from plait.readers.plait import read_run
from plait.writers.plait import write_run


def made_up() -> tuple[Run, pl.DataFrame]:
    """Rank 0 waits in a call from 2 to 5 ms for rank 1, which computes from 0 to 5 ms."""
    samples = table(
        SAMPLES,
        rank=[0, 0, 1, 1, 1, 1, 1],
        time_ns=[MS // 2, 3 * MS, MS // 2, 3 * MS // 2, 5 * MS // 2, 7 * MS // 2, 9 * MS // 2],
        site=[2, 2, 1, 2, 2, 2, -1],
        interval_ns=[MS] * 7,
    )
    calls = table(CALLS, rank=[0], start_ns=[2 * MS], end_ns=[5 * MS], **{"class": [4]})
    spans = table(
        SPANS, rank=[1, 1], start_ns=[0, 3 * MS], end_ns=[5 * MS, 4 * MS], kind=[0, 1], step=[0, 0]
    )
    waits = table(WAITS, rank=[0], start_ns=[2 * MS], lost_ns=[3 * MS], peer=[1])
    run = Run(
        meta={},
        ranks=2,
        ranks_present=(0, 1),
        samples=samples,
        calls=calls,
        spans=spans,
        functions=("MPI_Barrier",),
        span_kinds=("step", "inner"),
        sites=(MAIN, SOLVE, KERNEL),
    )
    return run, waits


def test_counts_what_is_outside_of_calls_by_function() -> None:
    run, waits = made_up()
    measures = measure_samples(run, run.calls, waits)
    assert measures.samples["in_call"].to_list() == [False, True, *[False] * 5]
    rows = {row[0]: row[1:] for row in measures.by_function.iter_rows()}
    assert rows["app+0x30"] == pytest.approx((4 * MS, 4 * MS, 2 * MS, 4 / 6))
    assert rows["solve"] == pytest.approx((MS, 5 * MS, 0, 1 / 6))
    assert rows["main"] == pytest.approx((0, 5 * MS, 0, 0))
    assert rows["unknown code"] == pytest.approx((MS, MS, MS, 1 / 6))
    assert "__libc_start_main" not in rows


def test_without_calls_a_caller_shows_what_is_in_mpi() -> None:
    run, waits = made_up()
    wait = Site("libmpi.so+0x9", "PMPI_Wait", callers=(MAIN,))
    progress = Site("mca.so+0x1", "progress", callers=(wait, MAIN))
    samples = run.samples.with_columns(pl.Series("site", [3, 4, 0, 1, 2, 2, -1], dtype=pl.Int32))
    run = dataclasses.replace(
        run, samples=samples, calls=run.calls.clear(), sites=(*run.sites, wait, progress)
    )
    measures = measure_samples(run, run.calls, waits)
    assert measures.samples["in_call"].to_list() == [True, True, *[False] * 5]
    assert measures.by_function["self_ns"].sum() == pytest.approx(5 * MS)


def test_gives_each_sample_to_the_innermost_region() -> None:
    run, waits = made_up()
    found = measure_samples(run, run.calls, waits).by_region
    rows = {row[:2]: row[2:] for row in found.iter_rows()}
    assert rows["inner", "app+0x30"] == pytest.approx((MS, 1.0))
    assert rows["step", "app+0x30"] == pytest.approx((2 * MS, 0.5))
    assert rows["step", "solve"] == pytest.approx((MS, 0.25))


def test_gives_each_sample_to_the_task_that_its_thread_ran() -> None:
    run, waits = made_up()
    # Rank 1 runs two tasks; a send task and a task of another worker are under way meanwhile.
    tasks = table(
        TASKS,
        rank=[1, 1, 1, 1],
        worker=[0, 0, 0, 1],
        kind=[1, 0, 1, 1],
        role=[0, 0, ROLE_SEND, 0],
        start_ns=[0, 2 * MS, 4 * MS, 4 * MS],
        end_ns=[2 * MS, 3 * MS, 5 * MS, 5 * MS],
    )
    run = dataclasses.replace(run, tasks=tasks, kinds=("force", "push"))
    measures = measure_samples(run, run.calls, waits)
    assert measures.samples["task"].to_list() == [-1, -1, 1, 1, 0, -1, -1]
    rows = {row[:2]: row[2:] for row in measures.by_task.iter_rows()}
    assert rows["push", "app+0x30"] == pytest.approx((MS, 0.5))
    assert rows["push", "solve"] == pytest.approx((MS, 0.5))
    assert rows["force", "app+0x30"] == pytest.approx((MS, 1.0))
    assert len(rows) == 3


def test_merges_paths_to_a_tree_whose_boxes_add_up() -> None:
    run, waits = made_up()
    measures = measure_samples(run, run.calls, waits)
    boxes = {(box.depth, box.function): box for box in call_tree(run, measures.computing, 0.0)}
    assert set(boxes) == {(0, "main"), (1, "solve"), (2, "app+0x30"), (0, "unknown code")}
    solve, kernel = boxes[1, "solve"], boxes[2, "app+0x30"]
    assert (solve.width, solve.own, solve.left, solve.waited) == (5, 1, 0, 2)
    assert (kernel.width, kernel.own, kernel.left, kernel.module) == (4, 4, 0, "app")
    assert boxes[0, "unknown code"].left == 5
    assert not [b for b in call_tree(run, measures.computing, 0.5) if b.function == "unknown code"]


def test_has_nothing_of_a_run_without_samples() -> None:
    run = Run(meta={}, ranks=1, ranks_present=(0,))
    measures = measure_samples(run, run.calls, pl.DataFrame(schema=WAITS))
    assert not measures.by_function.height and not measures.by_region.height
    assert not measures.by_task.height
    assert call_tree(run, measures.computing, 0.0) == []


def test_samples_and_their_paths_are_written_and_read(tmp_path: Path) -> None:
    run, _ = made_up()
    write_run(run, tmp_path)
    again = read_run(tmp_path)
    waits = pl.DataFrame(schema=WAITS)
    first, second = (measure_samples(one, one.calls, waits) for one in (run, again))
    assert first.by_function.equals(second.by_function)
    assert first.by_region.equals(second.by_region)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_samples_are_left_out_or_read(tmp_path: Path, seed: int) -> None:
    run, _ = made_up()
    write_run(run, tmp_path)
    random = np.random.default_rng(seed)
    for path in tmp_path.glob("rank-*.plt"):
        data = np.fromfile(path, dtype=np.uint8)
        at = random.integers(4096, data.size, 40)
        data[at] = random.integers(0, 256, at.size)
        data.tofile(path)
    sites = (tmp_path / "sites.json").read_bytes()
    cut = int(random.integers(0, len(sites)))
    (tmp_path / "sites.json").write_bytes(sites[:cut] if seed % 2 else sites.replace(b"~01", b"~02"))
    found = read_run(tmp_path)
    measures = measure_samples(found, found.calls, pl.DataFrame(schema=WAITS))
    assert measures.by_function["self_ns"].sum() == measures.computing.height * measures.interval_ns
