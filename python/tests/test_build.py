# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait import _build


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed plait for Open MPI, and no build."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/plait-predict").write_text("#!/bin/sh\n")
    (tmp_path / "bin/plait-predict").chmod(0o755)
    modules = tmp_path / "lib/x86_64-linux-gnu/pkgconfig"
    modules.mkdir(parents=True)
    (modules / "plait-core.pc").write_text("Libs: /usr/lib/openmpi/lib/libmpi.so\n")
    (modules.parent / "libplait-record.so").touch()
    (modules.parent / "libplait-accelerate.so").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path / "no build"))
    monkeypatch.setattr(_build, "source_folder", lambda: None)
    return tmp_path


def test_programs_and_the_recorder_of_an_installed_plait_are_found(prefix: Path) -> None:
    assert _build.find_program("plait-predict") == prefix / "bin/plait-predict"
    assert _build.recorder_of("openmpi") == prefix / "lib/x86_64-linux-gnu/libplait-record.so"
    assert _build.accelerator_of("openmpi") == prefix / "lib/x86_64-linux-gnu/libplait-accelerate.so"


def test_an_installed_recorder_for_another_mpi_is_not_used(prefix: Path) -> None:
    with pytest.raises(_build.PlaitError, match="there is no recorder for mpich"):
        _build.recorder_of("mpich")
