# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait import _build
from plait._launcher import Launcher


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


def test_the_mpi_of_a_launcher_with_a_compiler_beside_it_gets_a_build_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[Path, Path]] = []
    monkeypatch.setattr(_build, "source_folder", lambda: tmp_path)
    monkeypatch.setattr(_build, "accelerator_of", lambda mpi: Path("usual"))
    monkeypatch.setattr(
        _build,
        "_build_with_compiler",
        lambda compiler, launcher, folder, *_: built.append((compiler, folder)),
    )
    other = Launcher(str(tmp_path / "mpiexec.hydra"), "MPICH", "5.0.2")
    assert _build.accelerator_for("mpich", other) == Path("usual")  # there is no compiler
    assert _build.accelerator_for("mpich", None) == Path("usual")
    (tmp_path / "mpicc").touch()
    folder = tmp_path / "build/accelerate-mpich-5.0.2"
    assert _build.accelerator_for("mpich", other) == folder / "lib/libplait-accelerate.so"
    recorded = tmp_path / "build/record-mpich-5.0.2"
    assert _build.recorder_for("mpich", other) == recorded / "lib/libplait-record.so"
    assert built == [(tmp_path / "mpicc", folder), (tmp_path / "mpicc", recorded)]


def test_the_standard_abi_needs_its_own_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[Path, Path]] = []
    monkeypatch.setattr(_build, "source_folder", lambda: tmp_path)
    monkeypatch.setattr(
        _build,
        "_build_with_compiler",
        lambda compiler, launcher, folder, *_: built.append((compiler, folder)),
    )
    starter = Launcher(str(tmp_path / "mpiexec"), "MPICH", "5.0.2")
    (tmp_path / "mpicc").touch()
    with pytest.raises(_build.PlaitError, match="there is no mpicc_abi beside the launcher"):
        _build.accelerator_for("abi", starter)
    (tmp_path / "mpicc_abi").touch()
    _build.accelerator_for("abi", starter)
    assert built == [(tmp_path / "mpicc_abi", tmp_path / "build/accelerate-abi-5.0.2")]


def test_the_usual_mpi_by_its_path_is_the_usual_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpicc").touch()
    (tmp_path / "CMakeCache.txt").write_text(f"MPI_C_COMPILER:FILEPATH={tmp_path}/mpicc\n")
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path))
    monkeypatch.setattr(_build, "source_folder", lambda: tmp_path)
    monkeypatch.setattr(_build, "accelerator_of", lambda mpi: Path("usual"))
    usual = Launcher(str(tmp_path / "mpirun"), "Open MPI", "4.1.4")
    assert _build.accelerator_for("openmpi", usual) == Path("usual")
