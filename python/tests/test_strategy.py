# SPDX-License-Identifier: Apache-2.0
"""The file of a strategy, as the command writes and reads it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plait._errors import PlaitError
from plait._strategy import Row, Strategy, age_in_words, in_words, now, read_strategy, write_strategy

SYSTEM: dict[str, Any] = {"processor": "P", "cores": 2, "mpi": "Open MPI 4.1.4", "plait": "0.2.0"}
ROW = Row("packing", "shm", "immediate", -0.1, -0.2, -0.05, "a: -20 %", "b: +1 %")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "plait" / "one.json"
    written = Strategy(SYSTEM, now(), {"packing": "immediate"}, (ROW,))
    write_strategy(path, written)
    assert read_strategy(path, SYSTEM) == written
    assert [file.name for file in path.parent.iterdir()] == ["one.json"]


def test_no_file_is_no_error(tmp_path: Path) -> None:
    assert read_strategy(tmp_path / "none.json", SYSTEM) is None


@pytest.mark.parametrize("size", [0, 1, 40, 200, -2])
def test_truncated_files_are_refused_in_a_sentence(tmp_path: Path, size: int) -> None:
    path = tmp_path / "one.json"
    write_strategy(path, Strategy(SYSTEM, now(), {"packing": "immediate"}, (ROW,)))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(PlaitError, match="measure again"):
        read_strategy(path, SYSTEM)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "plait-trace", "version": 1}', "\xff"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "one.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(PlaitError, match="measure again"):
        read_strategy(path, SYSTEM)


def test_another_system_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    write_strategy(path, Strategy({**SYSTEM, "cores": 64}, now()))
    with pytest.raises(PlaitError, match="another system"):
        read_strategy(path, SYSTEM)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlaitError):
        write_strategy(tmp_path / "file" / "one.json", Strategy(SYSTEM, now()))


def test_age_and_choices_in_words() -> None:
    before = datetime.now(UTC) - timedelta(days=12, hours=1)
    assert age_in_words(before.isoformat()) == "12 days ago"
    assert age_in_words(now()) == "today"
    assert in_words({"shm_packet_bytes": 16384, "packing": "x"}) == "shm_packet_bytes 16384, packing x"
    assert "defaults" in in_words({})
