# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import polars as pl
from halo_run import Halo

from plait import read_run
from plait._events import Run
from plait.export.swift import write_swift
from plait.readers._swift_files import read_names
from plait.readers.swift import read_swift
from plait.readers.swift_run import run_of_swift
from plait.writers.plait import write_run

_SIDE = ["rank", "received", "source", "destination", "communicator", "tag", "size_bytes"]


def back(run: Run, folder: Path) -> Run:
    write_swift(run, folder)
    return run_of_swift(read_swift([folder], names=read_names(folder / "swift-names.txt")))


def sides(run: Run) -> list[tuple[object, ...]]:
    """Of each message: what it is, when it was posted since the first, how long it took."""
    first = pl.col("posted_ns") - pl.col("posted_ns").min()
    took = pl.col("completed_ns") - pl.col("posted_ns")
    return sorted(run.messages.select(*_SIDE, first.alias("since"), took.alias("took")).rows())


def test_a_tasks_run_comes_back(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    found = back(run, tmp_path / "logs")
    assert sides(found) == sides(run)
    assert found.notices == ()
    own = run.tasks.filter(pl.col("role") == 0)
    again = found.tasks.filter(pl.col("end_ns") > pl.col("start_ns"))
    assert again.height == own.height
    names = [found.kinds[kind] for kind in again["kind"]]
    assert sorted(names) == sorted(run.kinds[kind] for kind in own["kind"])
    assert again["step"].n_unique() == own["step"].n_unique() == 30


def test_a_recorded_program_comes_back_with_its_calls_as_tasks(tmp_path: Path) -> None:
    run = Halo().run()
    found = back(run, tmp_path / "logs")
    assert sides(found) == sides(run)
    assert {"MPI_Waitall", "MPI_Isend"} <= set(found.kinds)
    real = run.calls.filter(pl.col("class") != 10)
    assert found.tasks.height == real.height


def test_what_came_from_swift_goes_back_as_it_was(tmp_path: Path) -> None:
    once = back(Halo().run(), tmp_path / "once")
    write_run(once, tmp_path / "run")
    write_swift(read_run(tmp_path / "run"), tmp_path / "twice")
    names = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "twice").iterdir())
    first, second = (
        (tmp_path / folder / "mpiuse_report-rank1-step1.dat").read_text().splitlines()
        for folder in ("once", "twice")
    )
    # All but etic and the time since the step's start, which begins with the first that was recorded.
    assert [line.split()[2:] for line in first] == [line.split()[2:] for line in second]


def test_the_text_is_that_of_the_format(tmp_path: Path) -> None:
    write_swift(Halo(ranks=2, steps=1, bytes_=1000).run(), tmp_path)
    lines = (tmp_path / "mpiuse_report-rank0-step1.dat").read_text().splitlines()
    head = "# stic etic dtic step rank otherrank type itype subtype isubtype activation tag size sum"
    assert lines[0] == head
    rows = [line.split() for line in lines if not line.startswith("#")]
    assert all(len(row) == 14 for row in rows)
    begins, ends = ([row for row in rows if row[10] == kind] for kind in "10")
    assert len(begins) == len(ends) == 5
    assert all(int(row[12]) > 0 and row[2] == "0" for row in begins)
    assert all(int(row[12]) < 0 and int(row[2]) > 0 for row in ends)
    assert rows[-1][13] == "0"
    assert max(int(row[13]) for row in rows) == 4000
    assert "## Number of requests: 5" in lines
    dump = [line.split() for line in (tmp_path / "thread_info_MPI-step1.dat").read_text().splitlines()]
    assert all(len(row) == 13 for row in dump)
    assert [row[0] for row in dump if row[12] == "1000000000"] == ["0", "1"]
