# SPDX-License-Identifier: Apache-2.0
"""Checkpoint files as docs/how-to/checkpoints.md describes them, written here by its words alone."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from plait._errors import PlaitError
from plait.commands.checkpoint import describe, show_checkpoints
from plait.readers.checkpoints import read_checkpoint

ELEMENTS = {4: b"four", 0: b"", 9: b"nine nine"}


def write(path: Path, change: Callable[[Any], None] | None = None) -> Path:
    packed = list(ELEMENTS.values())
    with h5py.File(path, "w") as file:
        file.attrs["format"] = np.bytes_("plait checkpoint")
        file.attrs["format_version"] = np.uint64(1)
        file.attrs["program"] = np.bytes_("walk")
        file.attrs["step"] = np.uint64(12)
        file["values/time"] = 0.5
        file["values/random"] = np.frombuffer(b"abc", dtype=np.uint8)
        group = file.create_group("collections/patches")
        group.attrs["type"] = np.bytes_("Patch")
        group.attrs["shape"] = np.array([5, 2], dtype=np.uint64)
        group["id"] = np.array(list(ELEMENTS), dtype=np.uint64)
        group["rank_first"] = np.array([0, 2, 3], dtype=np.uint64)
        group["offset"] = np.cumsum([0, *map(len, packed)]).astype(np.uint64)
        group["bytes"] = np.frombuffer(b"".join(packed), dtype=np.uint8)
        sums = [zlib.crc32(i.to_bytes(8, "little") + text) for i, text in ELEMENTS.items()]
        group["checksum"] = np.array(sums, dtype=np.uint32)
        file.attrs["complete"] = np.uint64(1)
        if change is not None:
            change(file)
    return path


def test_a_whole_one_tells_what_it_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = read_checkpoint(write(tmp_path / "a.h5"))
    assert (checkpoint.program, checkpoint.step) == ("walk", 12)
    assert checkpoint.values == {"time": 0.5, "random": b"abc"}
    (patches,) = checkpoint.collections
    assert patches.shape == (5, 2)
    assert (patches.elements, patches.bytes) == (3, 13)
    assert patches.elements_of_rank == (2, 1)
    show_checkpoints([tmp_path])
    assert describe(checkpoint) in capsys.readouterr().out


def _set(path: str, place: int, value: int) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        file[path][place] = value

    return change


def _later(file: Any) -> None:
    file.attrs["format_version"] = np.uint64(2)


def _incomplete(file: Any) -> None:
    del file.attrs["complete"]


def _foreign(file: Any) -> None:
    del file.attrs["format"]


def _without_ids(file: Any) -> None:
    del file["collections/patches/id"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_set("collections/patches/bytes", 2, 0), "element 4 of collection 'patches'"),
        (_set("collections/patches/id", 1, 7), "element 7"),
        (_set("collections/patches/offset", 1, 99), "do not fit"),
        (_later, "version 2"),
        (_incomplete, "never completed"),
        (_foreign, "no checkpoint"),
        (_without_ids, "damaged"),
    ],
)
def test_one_that_is_not_whole_is_refused(
    tmp_path: Path, change: Callable[[Any], None], word: str
) -> None:
    path = write(tmp_path / "a.h5", change)
    with pytest.raises(PlaitError, match=word):
        read_checkpoint(path)
    with pytest.raises(PlaitError, match="1 of the files"):
        show_checkpoints([path])


def test_what_is_not_there_or_cut_short_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(PlaitError, match="cut short"):
        read_checkpoint(path)
    with pytest.raises(PlaitError, match="does not exist"):
        show_checkpoints([tmp_path / "b.h5"])


def test_json_has_what_is_printed_also_of_what_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.h5")
    refused = write(tmp_path / "b.h5", _incomplete)
    with pytest.raises(PlaitError, match="1 of the files"):
        show_checkpoints([tmp_path], tmp_path / "new" / "found.json")
    first, second = json.loads((tmp_path / "new" / "found.json").read_text())["checkpoints"]
    read = read_checkpoint(whole)
    assert (first["path"], first["is_whole"], first["step"]) == (str(whole), True, read.step)
    assert first["collections"][0]["elements"] == read.collections[0].elements
    assert second["path"] == str(refused) and not second["is_whole"]
    assert "never completed" in second["error"]
