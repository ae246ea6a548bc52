# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from halo_run import Halo

from plait import match_messages, read_run
from plait.export.parquet import write_parquet
from plait.measures.event_tables import COLUMNS


def test_tables_read_back(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    written = write_parquet(run, tmp_path / "tables")
    read = {path.stem: pl.read_parquet(path) for path in written}
    assert {"tasks", "messages", "message_sides", "steps", "poll_gaps", "counters"} <= set(read)
    times = ["start_ns", "end_ns", "id", "step"]
    assert read["tasks"].select(times).equals(run.tasks.select(times))
    kinds = [run.kinds[kind] for kind in run.tasks["kind"]]
    assert read["tasks"]["kind"].cast(pl.String).to_list() == kinds
    assert read["messages"].height == match_messages(run.messages).height
    assert read["counters"]["kind"].unique().cast(pl.String).to_list() == ["energy drift"]


def test_calls_have_names_and_places(tmp_path: Path) -> None:
    run = Halo().run()
    paths = {path.stem: path for path in write_parquet(run, tmp_path)}
    calls = pl.read_parquet(paths["calls"])
    counted = dict(calls.group_by("function").len().iter_rows())
    assert counted["MPI_Waitall"] == 4 * 5
    sites = calls.filter(pl.col("function") == "MPI_Isend")["site"].unique().cast(pl.String)
    assert sites.to_list() == ["post_sends (halo+0xc0)"]
    assert "tasks" not in paths


def test_metadata_tells_the_run_and_the_columns(tmp_path: Path) -> None:
    path = write_parquet(Halo().run(), tmp_path)[0]
    found = pl.read_parquet_metadata(path)
    assert json.loads(found["plait.run"])["program"] == "halo"
    assert json.loads(found["plait.columns"]) == COLUMNS


def test_every_column_says_its_unit_or_is_explained(ring_folder: Path, tmp_path: Path) -> None:
    plain = {"rank", "source", "destination", "communicator", "tag", "received", "step", "id", "index"}
    plain |= {"graph", "earlier", "later", "active", "value"}
    for run in (read_run(ring_folder), Halo().run()):
        for path in write_parquet(run, tmp_path):
            for column in pl.read_parquet_schema(path):
                known = column in COLUMNS or column.endswith("_ns") or "bytes" in column
                assert known or column in plain, f"{path.stem}: {column}"
