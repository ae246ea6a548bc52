# SPDX-License-Identifier: Apache-2.0
"""The MPI that a program is linked with, by its libraries and their answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plait import _mpi
from plait._preload import Target

LIBRARY = """
#include <string.h>
int MPI_Get_library_version(char* text, int* length) {
  strcpy(text, VERSION);
  *length = (int)strlen(text);
  return 0;
}
int MPI_Init(int* count, char*** words) { return 0; }
#ifdef MARK
int ompi_mpi_comm_world;
#endif
"""
PROGRAM = "int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }"

# The package reads and reports without a compiler, so its tests run where there is none, too.
needs_compiler = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="no gcc here: apt-get install gcc"
)


def link(folder: Path, soname: str, version: str, *flags: str) -> Path:
    """A program linked with a made-up MPI."""
    (folder / "mpi.c").write_text(LIBRARY)
    (folder / "main.c").write_text(PROGRAM)
    library = ["gcc", "-shared", "-fPIC", f'-DVERSION="{version}"', *flags, f"-Wl,-soname,{soname}"]
    subprocess.run([*library, "-o", soname, "mpi.c"], cwd=folder, check=True)
    program = ["gcc", "-o", "program", "main.c", f"./{soname}", f"-Wl,-rpath,{folder}"]
    subprocess.run(program, cwd=folder, check=True)
    return folder / "program"


@needs_compiler
@pytest.mark.parametrize(
    ("soname", "version", "flags", "expected"),
    [
        (
            *("libmpi.so.40", "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", ("-DMARK",)),
            ("openmpi", "Open MPI", "4.1.4"),
        ),
        (
            *("libmpi.so.12", "Intel(R) MPI Library 2021.18.1 for Linux* OS", ()),
            ("mpich", "Intel MPI", "2021.18.1"),
        ),
        ("libmpich.so.12", "MPICH Version:      4.0.2", (), ("mpich", "MPICH", "4.0.2")),
        ("libmpi_abi.so.0", "MPICH Version:      5.0.2", (), ("abi", "MPICH", "5.0.2")),
        (
            *("libmpi_cray.so.12", "MPI VERSION    : CRAY MPICH version 8.1.29", ()),
            ("mpich", "Cray MPICH", "8.1.29"),
        ),
        # Open MPI's interface by its symbols, whatever its name.
        ("libmpi.so.40", "IBM Spectrum MPI", ("-DMARK",), ("openmpi", "IBM Spectrum MPI", "")),
    ],
)
def test_a_program_shows_its_mpi(
    tmp_path: Path, soname: str, version: str, flags: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    found = _mpi.library_of(str(link(tmp_path, soname, version, *flags)))
    assert found is not None
    assert (found.interface, found.product, found.version) == expected
    assert found.path == tmp_path / soname


@needs_compiler
def test_a_library_that_is_not_found_is_known_by_its_number(tmp_path: Path) -> None:
    for soname, interface in (("libmpi.so.12", "mpich"), ("libmpi.so.80", "openmpi")):
        program = link(tmp_path, soname, "")
        (tmp_path / soname).unlink()
        found = _mpi.library_of(str(program))
        assert found is not None
        assert (found.interface, found.path) == (interface, None)


@needs_compiler
def test_the_program_decides_and_not_its_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program = link(tmp_path, "libmpi.so.12", "Intel(R) MPI Library 2021.18.1 for Linux* OS")
    command = ["mpirun", "-n", "2", "env", "A=1", str(program)]
    target = Target.of(command, None)
    assert (target.mpi, str(target.library)) == ("mpich", "Intel MPI 2021.18.1")
    assert Target.of(command, "openmpi").mpi == "openmpi"
    assert Target.of(["mpirun", "-n", "2", "sh", "script"], None).mpi == "openmpi"


def test_programs_without_mpi_and_scripts_have_none(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert _mpi.library_of(str(tmp_path / "script")) is None
    assert _mpi.library_of("/bin/sh") is None


@needs_compiler
def test_a_library_that_is_not_found_is_searched_beside_that_for_fortran(tmp_path: Path) -> None:
    """Fortran programs of Intel MPI, without its setvars.sh."""
    program = link(tmp_path, "libmpi.so.12", "Intel(R) MPI Library 2021.18.1 for Linux* OS")
    (tmp_path / "release").mkdir()
    (tmp_path / "libmpi.so.12").rename(tmp_path / "release/libmpi.so.12")
    fortran = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libmpifort.so.12", "-o", "libmpifort.so.12"]
    subprocess.run([*fortran, "mpi.c", '-DVERSION=""'], cwd=tmp_path, check=True)
    words = ["gcc", "-o", "program", "main.c", "-Wl,--no-as-needed", "release/libmpi.so.12"]
    subprocess.run([*words, "./libmpifort.so.12", f"-Wl,-rpath,{tmp_path}"], cwd=tmp_path, check=True)
    found = _mpi.library_of(str(program))
    assert found is not None
    assert (str(found), found.path) == ("Intel MPI 2021.18.1", tmp_path / "release/libmpi.so.12")


@needs_compiler
@pytest.mark.parametrize("name", ["python3", "script"])
def test_python_shows_the_mpi_of_its_mpi4py(tmp_path: Path, name: str) -> None:
    """The one that is loaded when mpi4py is imported, here a package made up of ctypes."""
    link(tmp_path, "libmpi.so.40", "Open MPI v5.0.11, package: pip", "-DMARK")
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py/__init__.py").write_text("class rc: pass\n")
    load = f"import ctypes\nctypes.CDLL('{tmp_path}/libmpi.so.40')\n"
    (tmp_path / "mpi4py/MPI.py").write_text(load)
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "script").write_text(f"#!{python}\n")
    found = _mpi.library_of(str(tmp_path / name))
    assert found is not None
    assert (str(found), found.path) == ("Open MPI 5.0.11", tmp_path / "libmpi.so.40")


def test_python_without_mpi4py_has_no_mpi(tmp_path: Path) -> None:
    python = tmp_path / "python3.11"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    python.chmod(0o755)
    assert _mpi.library_of(str(python)) is None


def test_compilers_of_intel_get_the_prefix_that_they_need(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "include/mpi.h").touch()
    for name in ("mpicc", "mpigcc"):
        path = tmp_path / "bin" / name
        path.write_text('#!/bin/sh\necho "#define I_MPI_VERSION \\"of $I_MPI_ROOT\\""\n')
        path.chmod(0o755)
    found = _mpi.compiler_at(tmp_path / "bin/mpicc")
    assert found is not None
    assert (found.version, found.environment) == (f"of {tmp_path}", {"I_MPI_ROOT": str(tmp_path)})
