# SPDX-License-Identifier: Apache-2.0
"""`plait predict`: the platform that is meant, and the arguments of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait._errors import PlaitError
from plait.commands.predict import platform_file


def test_a_shipped_platform_is_found_by_name() -> None:
    assert platform_file("torus").name == "torus.json"


def test_a_file_comes_before_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torus").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert platform_file("torus") == Path("torus")


@pytest.mark.parametrize("name", ["", "no-such-machine"])
def test_an_unknown_platform_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(PlaitError, match=r"shipped are dragonfly, fat-tree, gigabit, torus"):
        platform_file(name)
