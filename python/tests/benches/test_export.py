# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from both_ways import program

from plait.benches import export
from plait.commands.bench import JSON_KEYS


def test_prints_a_table_and_writes_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program()
    pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
    monkeypatch.setattr(export, "_RECORDS", 1000)
    monkeypatch.setattr(export, "_PYTHON_RECORDS", 1000)
    export.main(["--json", str(tmp_path / "r.json")])
    result = json.loads((tmp_path / "r.json").read_text())
    assert all(key in result for key in JSON_KEYS)
    names = ["perfetto_rate", "perfetto_memory", "otf2_rate", "otf2_memory"]
    assert [row["name"] for row in result["results"]] == 2 * names
    rates = [row for row in result["results"] if row["name"] == "otf2_rate"]
    # Of ten records six are calls, four messages: two events each, and a collective has two more.
    assert [row["params"]["events"] for row in rates] == [
        str(8 * 100 * 22 + 8 * 4),
        str(32 * 100 * 22 + 32 * 4),
    ]
    assert all(row["value"] > 0 and row["peer_value"] > 0 for row in rates)
