# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side is found."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from plait import _build, _mpi
from plait._launcher import Launcher


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed plait for Open MPI, and no build."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/plait-predict").write_text("#!/bin/sh\n")
    (tmp_path / "bin/plait-predict").chmod(0o755)
    modules = tmp_path / "lib/x86_64-linux-gnu/pkgconfig"
    modules.mkdir(parents=True)
    (modules / "plait-mpi.pc").write_text("mpi=/usr/lib/openmpi/lib/libmpi.so\n")
    (modules.parent / "libplait-record.so").touch()
    (modules.parent / "libplait-accelerate.so").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path / "no build"))
    return tmp_path


def test_programs_and_the_recorder_of_an_installed_plait_are_found(prefix: Path) -> None:
    assert _build.find_program("plait-predict") == prefix / "bin/plait-predict"
    assert _build.recorder_of("openmpi") == prefix / "lib/x86_64-linux-gnu/libplait-record.so"
    assert _build.accelerator_of("openmpi") == prefix / "lib/x86_64-linux-gnu/libplait-accelerate.so"


def test_an_installed_recorder_for_another_mpi_is_not_used(prefix: Path) -> None:
    with pytest.raises(_build.PlaitError, match="built for mpich, and there is no mpicc of it"):
        _build.recorder_of("mpich")


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is built in the cache folder: product, compiler."""
    built: list[tuple[str, str]] = []

    def build(product: _build.Product, compiler: _mpi.MpiCompiler | None) -> Path:
        built.append((product.name, str(compiler.path if compiler else "")))
        return tmp_path / "cached"

    monkeypatch.setattr(_build, "_cached_build", build)
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path / "no build"))
    return built


def make_compiler(path: Path, *macros: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "".join(f"echo '#define {macro}'\n" for macro in macros))
    path.chmod(0o755)
    return path


OPEN_MPI = ("OPEN_MPI 1", "OMPI_MAJOR_VERSION 5", "OMPI_MINOR_VERSION 0", "OMPI_RELEASE_VERSION 2")
MPICH = ('MPICH_VERSION "5.0.2"',)


def test_the_compiler_near_the_library_comes_before_the_one_beside_the_launcher(
    tmp_path: Path, built: list[tuple[str, str]]
) -> None:
    library = tmp_path / "prefix/lib/release/libmpi.so.40"
    library.parent.mkdir(parents=True)
    library.touch()
    starter = Launcher(str(tmp_path / "launchers/mpiexec"), "Open MPI", "5.0.2")
    beside = make_compiler(tmp_path / "launchers/mpicc", *OPEN_MPI)
    program = _mpi.MpiLibrary("openmpi", "Open MPI", "5.0.2", library)
    wanted = _build.WantedMpi("openmpi", program, starter)
    _build.library_for(_build.RECORDER, wanted)
    make_compiler(tmp_path / "prefix/bin/mpicc", *MPICH)  # another MPI's
    _build.library_for(_build.RECORDER, wanted)
    near = make_compiler(tmp_path / "prefix/bin/mpicc", *OPEN_MPI)
    _build.library_for(_build.ACCELERATOR, wanted)
    assert built == [
        ("record", str(beside)),
        ("record", str(beside)),
        ("accelerate", str(near)),
    ]


def test_the_standard_abi_needs_its_own_compiler(tmp_path: Path, built: list[tuple[str, str]]) -> None:
    starter = Launcher(str(tmp_path / "mpiexec"), "MPICH", "5.0.2")
    make_compiler(tmp_path / "mpicc", *MPICH)
    with pytest.raises(_build.PlaitError, match="there is no mpicc_abi beside the launcher"):
        _build.library_for(_build.ACCELERATOR, _build.WantedMpi("abi", None, starter))
    own = make_compiler(tmp_path / "mpicc_abi", "MPI_ABI_VERSION 1")
    _build.library_for(_build.ACCELERATOR, _build.WantedMpi("abi", None, starter))
    assert built == [("accelerate", str(own))]


def test_the_usual_mpi_by_its_path_is_the_usual_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[tuple[str, str]]
) -> None:
    make_compiler(tmp_path / "mpicc", *OPEN_MPI)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libplait-record.so").touch()
    (tmp_path / "CMakeCache.txt").write_text(
        f"MPI_C_COMPILER:FILEPATH={tmp_path}/mpicc\nMPI_C_LIBRARIES:STRING=/usr/lib/libmpi.so\n"
    )
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path))
    usual = _build.WantedMpi("openmpi", None, Launcher(str(tmp_path / "mpirun"), "Open MPI", "5.0.2"))
    assert _build.library_for(_build.RECORDER, usual) == tmp_path / "lib/libplait-record.so"
    assert not built
    (tmp_path / "lib/libplait-accelerate.so").touch()  # and not yet its engine
    assert _build.library_for(_build.ACCELERATOR, usual) == tmp_path / "cached"
    assert built == [("accelerate", str(tmp_path / "mpicc"))]


@pytest.mark.parametrize(
    ("header", "interface"),
    [
        ("#define OPEN_MPI 1", "openmpi"),
        ('#define I_MPI_VERSION "2021.18"', "mpich"),
        ('#define MPICH_VERSION "4.0.2"', "mpich"),
        ("#define MPI_ABI_VERSION 1", "abi"),
        ("int MPI_Init(int*, char***);", "openmpi"),  # which leaves the library's name
        (None, "openmpi"),
    ],
)
def test_the_mpi_of_a_build_folder_is_that_of_its_header(
    tmp_path: Path, header: str | None, interface: str
) -> None:
    if header is not None:
        (tmp_path / "mpi.h").write_text(f"{header}\n")
    (tmp_path / "CMakeCache.txt").write_text(
        f"MPI_C_HEADER_DIR:PATH={tmp_path}\nMPI_mpi_LIBRARY:FILEPATH={tmp_path}/libmpi.so\n"
    )
    assert _build.mpi_of(tmp_path) == interface


def test_intel_mpi_is_recognised_by_the_path_of_its_library(tmp_path: Path) -> None:
    (tmp_path / "CMakeCache.txt").write_text(
        "MPI_mpi_LIBRARY:FILEPATH=/opt/intel/oneapi/mpi/2021.18/lib/libmpi.so\n"
    )
    assert _build.mpi_of(tmp_path) == "mpich"


def test_what_is_missing_for_a_build_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = _mpi.MpiCompiler(tmp_path / "mpicc", "openmpi", "5.0.2", "/include/mpi.h")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(_build.PlaitError, match=r"no C\+\+ compiler .*apt-get install g"):
        _build._cached_build(_build.RECORDER, compiler)
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho 'g++ (GCC) 8.5.0 20210514'\n")
    old.chmod(0o755)
    monkeypatch.setenv("CXX", str(old))
    with pytest.raises(_build.PlaitError, match=r"is too old .*plait needs GCC 12"):
        _build._cached_build(_build.RECORDER, compiler)
    monkeypatch.delenv("CXX")
    monkeypatch.setattr(_build, "_tool", lambda name: None)
    with pytest.raises(_build.PlaitError, match="there is no cmake: pip install"):
        _build._cached_build(_build.RECORDER, compiler)
    (tmp_path / "cache").rename(tmp_path / "moved")
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(_build.PlaitError, match=r"cannot be written .*XDG_CACHE_HOME"):
        _build._cached_build(_build.RECORDER, compiler)


def test_a_build_that_waits_for_another_one_prints_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    with (tmp_path / ".building").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        def end_other(text: str) -> None:
            lines.append(text)
            fcntl.flock(other, fcntl.LOCK_UN)

        monkeypatch.setattr(_build, "_notify", end_other)
        with _build._alone(tmp_path):
            pass
    with _build._alone(tmp_path):
        pass
    assert lines == [f"waiting for another plait, which builds in {tmp_path}"]
