# SPDX-License-Identifier: Apache-2.0
"""Regions by the files that programs copy: region.h in C and C++, plait_region.f90 in Fortran."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plait import _build, _launcher, read_run

_C = """
#include <mpi.h>
#include "region.h"
void help(void);
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  plait_region_begin("outer");
  help();
  plait_region_end();
  MPI_Finalize();
  return 0;
}
"""
#: A second file of the program, in C++: the weak definitions of both are one.
_HELP = """
#include "region.h"
extern "C" void help() {
  plait_region_begin("inner");
  plait_region_end();
}
"""
_FORTRAN = """
program regions
  use plait_region
  use mpi
  implicit none
  integer :: error
  call MPI_Init(error)
  call plait_region_begin("outer")
  call plait_region_begin("inner")
  call plait_region_end()
  call plait_region_end()
  call MPI_Finalize(error)
end program
"""


def build(folder: Path, *command: object) -> None:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"no {command[0]} here: tools/setup installs it")
    subprocess.run([*map(str, command)], cwd=folder, check=True, timeout=300)


def regions_of(program: Path) -> list[str]:
    """Recorded; without a recorder the program ends well, too."""
    environment = {**os.environ, **_launcher.root_environment()}
    subprocess.run([program], env=environment, check=True, timeout=60)
    run = program.parent / f"run-{program.name}"
    command = [sys.executable, "-m", "plait", "record", "--quiet", "-o", run, "--", program]
    subprocess.run(
        [*map(str, command)],
        env={**environment, "PLAIT_BUILD": str(_build.build_folder().absolute())},
        check=True,
        timeout=300,
    )
    found = read_run(run)
    inner, outer = (found.spans.row(row, named=True) for row in (0, 1))
    assert outer["start_ns"] <= inner["start_ns"] <= inner["end_ns"] <= outer["end_ns"]
    return [found.span_kinds[kind] for kind in found.spans["kind"]]


def sources() -> Path:
    root = _build.source_folder()
    if root is None:
        pytest.skip("no checkout here")
    return root / "src" / "plait"


@pytest.mark.parametrize("flags", [(), ("-no-pie", "-O2"), ("-fPIE", "-pie", "-flto")])
def test_a_header_alone_records_regions(tmp_path: Path, flags: tuple[str, ...]) -> None:
    (tmp_path / "main.c").write_text(_C)
    (tmp_path / "help.cpp").write_text(_HELP)
    strict = ("-Wall", "-Wextra", "-Werror", *flags, "-I", sources())
    build(tmp_path, "mpicc", *strict, "-std=c99", "-pedantic", "-c", "main.c")
    build(tmp_path, "g++", *strict, "-c", "help.cpp")
    build(tmp_path, "mpicc", *flags, "main.o", "help.o", "-o", "both")
    assert regions_of(tmp_path / "both") == ["inner", "outer"]


def test_a_module_alone_records_regions(tmp_path: Path) -> None:
    (tmp_path / "regions.f90").write_text(_FORTRAN)
    module = sources() / "fortran" / "plait_region.f90"
    build(tmp_path, "mpif90", "-Wall", "-std=f2008", module, "regions.f90", "-o", "regions")
    assert regions_of(tmp_path / "regions") == ["inner", "outer"]
