# SPDX-License-Identifier: Apache-2.0
"""`plait bench families`, with one family and one turn on this host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plait._errors import PlaitError
from plait.benches import families
from plait.commands.bench import Wishes, run_bench


def test_a_family_is_run_recorded_replayed_and_predicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "FAMILIES", ("transpose",))
    monkeypatch.setattr(families, "REPETITIONS", 3)
    monkeypatch.setattr(families, "CALIBRATION", ("--rounds", "1", "--share", "0.2"))
    try:
        families.program()
    except PlaitError as error:
        pytest.skip(str(error))
    result = tmp_path / "families.json"
    assert run_bench("families", ("--turns", "1"), json_file=result, wishes=Wishes()) == 0
    rows = {row["name"]: row for row in json.loads(result.read_text())["results"]}
    assert 1e-5 < rows["program"]["value"] < 10
    for name in ("recorded", "replayed", "predicted"):
        assert rows[f"{name}: error"]["value"] > -100
    assert rows["predicted: size of the error"]["wanted"]["value"] == 10


def test_another_mpi_is_refused() -> None:
    with pytest.raises(PlaitError, match="leave --mpi out"):
        run_bench("families", (), json_file=None, wishes=Wishes(mpi="mpich"))
