# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import polars as pl
import trace_writer as w

from plait import read_run
from plait._events import Run
from plait.writers.plait import write_run


def assert_same(a: Run, b: Run) -> None:
    for field in fields(Run):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, pl.DataFrame):
            assert one.columns == other.columns
            assert one.sort(one.columns).equals(other.sort(other.columns)), field.name
        elif field.name not in ("meta", "clock_error_ns"):
            assert one == other, field.name


def test_a_run_of_tasks_is_the_same_when_read_back(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    write_run(run, tmp_path / "copy")
    again = read_run(tmp_path / "copy")
    assert_same(run, again)
    assert again.meta["program"] == run.meta["program"]
    assert again.clock_error_ns == run.clock_error_ns


def test_a_recorded_run_is_the_same_when_read_back(tmp_path: Path) -> None:
    names = w.name(3, 0, "MPI_Isend") + w.name(3, 1, "MPI_Waitall") + w.name(4, 0, "ring+0x10")
    records = (
        names
        + w.communicator(9, [1, 0])
        + w.shares(2, [3, 4])
        + w.collective_layout(2, got=False)
        + w.recorder_costs(80, 20, 50, 40, 90)
        + w.call(1, 0, 10, 12, number=1, site=0, peer=1, given=8, communicator=9)
        + w.call(2, 1, 20, 42, communicator=w.NOTHING)
        + w.message(0, 1, 1, 8, (10, 11, 30, 40), protocol=3, flags=1, communicator=9)
        + w.message(0, 1, 2, 8, (11, 0, 0, 0), protocol=3, flags=3, communicator=9)
    )
    w.write_meta(tmp_path / "run", 2, recorder="mpi")
    w.write_rank(tmp_path / "run", 0, 2, {0: records})
    w.write_rank(
        tmp_path / "run",
        1,
        2,
        {0: names + w.message(1, 0, 1, 8, (5, 0, 0, 50), flags=1, communicator=9)},
    )
    (tmp_path / "run" / "sites.json").write_text(
        '{"ring+0x10": {"function": "f", "file": "a.c", "line": 1}}'
    )
    run = read_run(tmp_path / "run")
    write_run(run, tmp_path / "copy")
    again = read_run(tmp_path / "copy")
    assert again.calls.height == 2 and again.shares.height == 2 and again.communicators.height == 2
    assert again.collective_layouts.rows() == [(0, 2, True, False)]
    assert again.recorder_costs.rows() == [(0, 80, 20, 50, 40, 90)]
    # The copy's clocks are compared, so it has no notice about them.
    assert len(run.notices) == len(again.notices) + 1
    assert_same(Run(**{**run.__dict__, "notices": again.notices}), again)


def test_long_names_are_cut_where_they_can_be_read(tmp_path: Path) -> None:
    place = "a-library-with-a-name-longer-than-56-bytes-has-its-start-cut.so+0x1234"
    records = w.name(0, 0, "short") + w.task(0, 1, 2)
    w.write_meta(tmp_path / "run", 1)
    w.write_rank(tmp_path / "run", 0, 1, {0: records + w.call(2, 0, 1, 2, site=0)})
    run = read_run(tmp_path / "run")
    site = type(run.sites[0])(place)
    write_run(Run(**{**run.__dict__, "sites": (site,), "kinds": ("é" * 40,)}), tmp_path / "copy")
    again = read_run(tmp_path / "copy")
    assert again.sites[0].place == place[-56:]
    assert again.kinds == ("é" * 28,)


def test_many_records_cross_chunks(tmp_path: Path) -> None:
    records = b"".join(w.task(0, i, i + 1, id_=i, worker=i % 2) for i in range(1, 5001))
    w.write_meta(tmp_path / "run", 1)
    w.write_rank(tmp_path / "run", 0, 1, {0: w.name(0, 0, "a") + records})
    run = read_run(tmp_path / "run")
    write_run(run, tmp_path / "copy")
    assert_same(run, read_run(tmp_path / "copy"))


def test_a_profile_is_the_same_when_read_back(tmp_path: Path) -> None:
    w.write_meta(tmp_path / "one", 1, recorder="mpi")
    records = w.name(3, 0, "MPI_Wait") + w.profile_state(900) + w.window(0, 100, 200)
    for site in range(700):  # more than a chunk has room for
        records += w.sums(0, 0, site=site, what=2, count=site, time=7, longest=5, bins={3: site, 20: 1})
    w.write_rank(tmp_path / "one", 0, 1, {0: records})
    run = read_run(tmp_path / "one")
    write_run(run, tmp_path / "two")
    again = read_run(tmp_path / "two")
    assert again.sums.height == 700
    for table in ("sums", "windows"):
        assert getattr(again, table).equals(getattr(run, table))
