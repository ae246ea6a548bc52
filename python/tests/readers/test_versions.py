# SPDX-License-Identifier: Apache-2.0
"""Runs of every version of the trace format, and of later ones (docs/reference/formats.md)."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from plait import read_run
from plait._errors import PlaitError
from plait._events import Run

VERSIONS = Path(__file__).parents[3] / "tests/trace/versions"
ARCHIVES = sorted(VERSIONS.glob("*.tar.xz"))
_NAMES = {
    **{
        "tasks": {"kind": "kinds"},
        "spans": {"kind": "span_kinds"},
        "counters": {"kind": "counter_kinds"},
    },
    **{"calls": {"function": "functions", "site": "sites"}, "graph_tasks": {"kind": "kinds"}},
}


def extracted(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.xz")


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return extracted(request.param, tmp_path)


def expected_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    told: dict[str, list[dict[str, Any]]] = json.loads((folder / "expected.json").read_text())
    return told


def found_rows(run: Run, table: str, columns: list[str]) -> list[dict[str, Any]]:
    """Rows with texts in place of the numbers of names."""
    rows = list(getattr(run, table).select(columns).iter_rows(named=True))
    for column, names in _NAMES.get(table, {}).items():
        for row in rows:
            if column in row:
                row[column] = str(getattr(run, names)[row[column]])
    return rows


def test_there_is_a_run_of_every_released_version() -> None:
    released = json.loads((VERSIONS / "released.json").read_text())
    since = {record["since"] for record in released["records"].values()}
    since |= {
        field.get("since", "1.0") for one in released["records"].values() for field in one["fields"]
    }
    assert {path.name.removesuffix(".tar.xz") for path in ARCHIVES} == since


@pytest.mark.parametrize(
    "table", ["tasks", "spans", "gaps", "counters", "calls", "graph_tasks", "graph_runs"]
)
def test_its_tables_are_what_was_written(folder: Path, table: str) -> None:
    run, expected = read_run(folder), expected_of(folder)
    assert run.notices == ()
    rows = expected.get(table, [])
    assert getattr(run, table).height == len(rows)
    for row in rows:
        for beside in ("later", "count") if table == "graph_tasks" else ():
            row.pop(beside)
    if rows:
        assert found_rows(run, table, list(rows[0])) == rows


def test_its_messages_have_both_sides(folder: Path) -> None:
    run, expected = read_run(folder), expected_of(folder)["messages"]
    columns = [
        "rank",
        "tag",
        "size_bytes",
        "posted_ns",
        "handed_ns",
        "arrived_ns",
        "completed_ns",
        "protocol",
    ]
    assert found_rows(run, "messages", columns) == [
        {name: row[name] for name in columns} for row in expected
    ]
    assert run.messages["received"].to_list() == [bool(row["direction"]) for row in expected]
    key = ["source", "destination", "communicator", "sequence"]
    assert run.messages.group_by(key).len()["len"].to_list() == [2] * (len(expected) // 2)


def test_its_lists_are_whole(folder: Path) -> None:
    run, expected = read_run(folder), expected_of(folder)
    graphs = expected.get("graph_tasks", [])
    assert run.dependencies.height == sum(len(row["later"]) for row in graphs)
    members = next((row["members"] for row in expected.get("communicators", [])), [])
    assert run.communicators.sort("index")["rank"].to_list() == members
    shares = [given for row in expected.get("shares", []) for given in row["bytes"]]
    assert run.shares["bytes_given"].to_list() == shares


def test_a_later_minor_version_opens_with_a_sentence(folder: Path) -> None:
    before = read_run(folder)
    path = folder / "rank-0001.plt"
    records = path.read_bytes().rstrip(b"\0")
    records = records.ljust(-(-len(records) // 64) * 64, b"\0")
    later = bytes([60]).ljust(64, b"\1") * 3 + bytes([61]).ljust(64, b"\1")
    path.write_bytes((records + later).ljust(path.stat().st_size, b"\0"))  # in the room of its chunk
    run = read_run(folder)
    assert run.notices == (
        "4 records of kinds 60, 61 are not known to this plait, and were left out: a newer plait made "
        "the run; update to see them",
    )
    assert run.event_count == before.event_count
    assert run.calls.equals(before.calls)


def test_a_later_major_version_is_refused_with_what_to_do(folder: Path) -> None:
    for path in folder.glob("*.plt"):
        data = bytearray(path.read_bytes())
        data[8] = 2
        path.write_bytes(data)
    with pytest.raises(
        PlaitError, match=r"was made by a newer plait \(format 2\): update plait, as with pip"
    ):
        read_run(folder)


def test_one_file_of_a_later_major_version_is_left_out(folder: Path) -> None:
    path = folder / "rank-0001.plt"
    data = bytearray(path.read_bytes())
    data[8] = 2
    path.write_bytes(data)
    run = read_run(folder)
    assert run.ranks_present == (0,)
    assert any("rank-0001.plt was made by a newer plait (format 2)" in notice for notice in run.notices)
