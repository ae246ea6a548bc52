# SPDX-License-Identifier: Apache-2.0
"""The extension is found by MPI, and what is missing is named; reading runs needs nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import plait
from plait import _build, _extension, _mpi, _sources

SOURCE = str(Path(plait.__file__).resolve().parents[1])
OPEN_MPI = "Open MPI v5.0.2, package: Debian OpenMPI"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, no build, and mpi4py with Open MPI 5.0.2."""
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path / "no build"))
    monkeypatch.setattr(_sources, "cache_folder", lambda sources: tmp_path)
    fake = SimpleNamespace(MPI=SimpleNamespace(Get_library_version=lambda: OPEN_MPI))
    monkeypatch.setattr(_extension, "_mpi4py", lambda: fake)
    monkeypatch.setattr(_extension, "load", _extension.load.__wrapped__)  # without what was loaded
    return tmp_path


def add(cache: Path, label: str) -> Path:
    path = cache / label / _extension.FILE
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_the_command_that_builds_it_is_named(cache: Path) -> None:
    add(cache, "mpich-4.3.0-01234567")
    with pytest.raises(
        ImportError, match=r"Open MPI 5\.0\.2 .* is not built: .* -m plait build python$"
    ):
        _extension.load()


def test_this_version_of_mpi_comes_before_newer_builds(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = add(cache, "openmpi-5.0.2-01234567")
    os.utime(own, (1, 1))
    add(cache, "openmpi-4.1.4-01234567")
    loaded: list[Path] = []

    def load(path: Path) -> Any:
        loaded.append(path)
        return SimpleNamespace(mpi_library=lambda: OPEN_MPI, version=_sources.version(), __file__=path)

    monkeypatch.setattr(_extension, "_load", load)
    module = _extension.load()
    assert loaded == [own]
    monkeypatch.setattr(_extension, "load", lambda: module)
    with pytest.raises(ImportError, match=r"plait.fft is not in .*, as FFTW was missing .*libfftw3-dev"):
        _extension.part("Transforms")


def test_another_mpi_or_version_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(cache, "openmpi-5.0.2-01234567")
    module = SimpleNamespace(mpi_library=lambda: "MPICH Version: 4.3.0", version=_sources.version())
    monkeypatch.setattr(_extension, "_load", lambda path: module)
    with pytest.raises(ImportError, match=r"uses another MPI \(MPICH Version: 4.3.0\) than mpi4py"):
        _extension.load()
    module.mpi_library, module.version = lambda: OPEN_MPI, "0.0.1"
    with pytest.raises(ImportError, match=r"is of plait 0\.0\.1, this package is"):
        _extension.load()


def test_the_build_is_for_the_mpi_of_mpi4py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = _mpi.MpiLibrary("mpich", "MPICH", "4.3.0", tmp_path / "libmpi.so")
    monkeypatch.setattr(_extension, "mpi_of_mpi4py", lambda: library)
    monkeypatch.setattr(_build, "find_spec", lambda name: name)
    wanted: list[_build.WantedMpi] = []
    monkeypatch.setattr(_build, "library_for", lambda product, mpi: wanted.append(mpi) or tmp_path)
    _build.build_ahead(_build.EXTENSION, None)
    _build.build_ahead(_build.EXTENSION, "openmpi")
    assert [(each.interface, each.library) for each in wanted] == [("mpich", library), ("openmpi", None)]
    monkeypatch.setattr(_build, "find_spec", lambda name: None)
    with pytest.raises(_build.PlaitError, match=r"pip install 'plait-hpc\[build\]'"):
        _build.extension()


def run(text: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": SOURCE, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_imports_without_mpi4py() -> None:
    text = """
import sys
sys.modules["mpi4py"] = None  # its import fails
import plait, plait.fft, plait.particles
with plait.region("solve"):
    pass
try:
    plait.Runtime()
except ImportError as error:
    print(error)
"""
    assert run(text).startswith("plait.Runtime needs mpi4py: pip install mpi4py")


def test_regions_reach_a_preloaded_recorder(tmp_path: Path) -> None:
    source, library = tmp_path / "recorder.c", tmp_path / "recorder.so"
    source.write_text(
        "#include <stdio.h>\n"
        'void plait_region_begin(const char* name) { printf("begin %s\\n", name); fflush(stdout); }\n'
        'void plait_region_end(void) { printf("end\\n"); fflush(stdout); }\n'
    )
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no C compiler for a recorder")
    text = """
import plait

@plait.region("outer")
def outer(depth):
    with plait.region("größer"):
        return depth if depth == 0 else outer(depth - 1)

outer(1)
"""
    printed = run(text, LD_PRELOAD=str(library)).splitlines()
    assert printed == ["begin outer", "begin größer", "begin outer", "begin größer", *["end"] * 4]


def test_regions_have_names() -> None:
    with pytest.raises(TypeError, match="the name of a region is text, not int"):
        plait.region(3)  # type: ignore[arg-type]


def test_a_region_ends_with_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """In reverse order, by exceptions too, for each runtime that records."""
    noted: list[tuple[str, int]] = []
    times = iter(range(10))
    recorder = SimpleNamespace(
        trace_time=lambda: next(times), record_region=lambda name, start: noted.append((name, start))
    )
    monkeypatch.setattr("plait._region.recorders", [recorder])
    with pytest.raises(KeyError), plait.region("outer"), plait.region("inner"):
        raise KeyError
    assert noted == [("inner", 1), ("outer", 0)]
