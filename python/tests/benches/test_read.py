# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from plait import match_messages, read_run
from plait.benches import read
from plait.benches.made_up import write_halo_run
from plait.commands.bench import JSON_KEYS
from plait.report.analysis import analyse


def test_the_made_up_run_is_whole(tmp_path: Path) -> None:
    written = write_halo_run(tmp_path, 4, 30_000)
    run = read_run(tmp_path)
    assert run.event_count == written == 4 * (750 * 10 + 2)
    assert run.notices == ()
    assert match_messages(run.messages).height == 4 * 750 * 2
    assert (run.messages["function"] >= 0).all()
    assert analyse(run, tmp_path, None).run.notices == ()


@pytest.mark.parametrize("ranks", [1, 2])
def test_few_ranks_have_neighbours_too(tmp_path: Path, ranks: int) -> None:
    write_halo_run(tmp_path, ranks, 2000)
    assert match_messages(read_run(tmp_path).messages).height == 2000 // 10 * 2


def test_prints_a_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_EVENTS", 20_000)
    monkeypatch.setattr(read, "_NOTEBOOK_EVENTS", 10_000)
    monkeypatch.setattr(read, "_REPORT_EVENTS", 10_000)
    read.main(["--json", str(tmp_path / "r.json")])
    result = json.loads((tmp_path / "r.json").read_text())
    assert all(key in result for key in JSON_KEYS)
    rows = {row["name"]: row for row in result["results"]}
    assert rows["seconds"]["wanted"] == {
        **{"limit": "at most", "value": 10, "basis": None},
        **{"reached": rows["seconds"]["value"] <= 10},
    }
    assert 0 < rows["memory"]["value"] < 4
    printed = capsys.readouterr().out
    assert "events=20016" in printed
    assert "of 5 wanted figures reached" in printed
    assert rows["notebook_seconds"]["wanted"]["value"] == 3


def test_describes_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        read.main(["--describe"])
    assert json.loads(capsys.readouterr().out)["bench"] == "read"
