# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict-programs`: HPCC's input, and what is refused. HPCC itself runs where it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plait._errors import PlaitError
from plait.benches import families, predict_programs
from plait.commands.bench import Wishes, run_bench


def test_the_input_has_the_size_and_the_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "input.txt"
    given.write_text("1000         Ns\n2            Ps\n2            Qs\n", encoding="utf-8")
    monkeypatch.setattr(predict_programs, "_INPUT", given)
    monkeypatch.setattr(predict_programs.shutil, "which", lambda name: f"/bin/{name}")
    expected = "600         Ns\n1            Ps\n4            Qs\n"
    assert predict_programs.input_of(600, 4) == expected


def test_an_input_without_a_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "input.txt"
    given.write_text("nothing\n", encoding="utf-8")
    monkeypatch.setattr(predict_programs, "_INPUT", given)
    monkeypatch.setattr(predict_programs.shutil, "which", lambda name: f"/bin/{name}")
    with pytest.raises(PlaitError, match="0 lines of Ns"):
        predict_programs.input_of(600, 2)


def test_without_hpcc_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_programs.shutil, "which", lambda _: None)
    with pytest.raises(PlaitError, match="install Debian's package hpcc"):
        predict_programs.input_of(600, 2)


@pytest.mark.parametrize("wishes", [Wishes(mpi="mpich"), Wishes(hosts=2)])
def test_other_places_are_refused(wishes: Wishes) -> None:
    with pytest.raises(PlaitError, match="leave --mpi"):
        run_bench("predict-programs", (), json_file=None, wishes=wishes)


def test_parts_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "CALIBRATION", ("--rounds", "1", "--share", "0.2"))
    machine = families.Machine(2, is_lab=False)
    try:
        hpcc = predict_programs.Hpcc(machine, 300, tmp_path)
    except PlaitError as error:
        pytest.skip(str(error))
    platform = tmp_path / "platform.json"
    families.calibrate(machine, platform)
    found = hpcc.turn(0, platform)
    assert set(found) == {"PTRANS", "MPIFFT", "HPL"}
    for seconds, others in found.values():
        assert 1e-5 < seconds < 100
        assert set(others) == {"recorded", "replayed", "predicted"}
        assert all(1e-5 < other < 100 for other in others.values())
    assert json.loads(platform.read_text(encoding="utf-8"))["format"] == "plait-platform"
