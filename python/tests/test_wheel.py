# SPDX-License-Identifier: Apache-2.0
"""The package as a wheel, in an environment of its own, without the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
READ = """
import sys, plait
run = plait.read_run(__import__("pathlib").Path(sys.argv[1]))
print(len(run.calls))
"""


def run(*command: object, cwd: Path, more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PLAIT_", "PYTHON"))
    }
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**kept, **more},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = run(ROOT / "tools/wheel", folder, cwd=ROOT, more={})
    if "No matching distribution" in done.stderr or "Connection" in done.stderr:
        pytest.skip("the registry of Python packages cannot be reached, which building a wheel needs")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("plait_hpc-*.whl"))


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel alone; what it depends on is this environment's."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv/bin/python"
    pip = (python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check")
    done = run(*pip, wheel, cwd=folder, more={})
    assert done.returncode == 0, done.stderr
    site = next((folder / "venv/lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_a_wheel_brings_its_sources_and_licences(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if not name.startswith(("plait/", "plait_hpc-"))]
    for name in ("CMakeLists.txt", "LICENSE", "src/plait/record/session.cpp", "headers/fmt/format.h"):
        assert f"plait/_project/{name}" in names
    assert "plait/_plait_runtime.pyi" in names
    assert "plait/py.typed" in names
    licences = [name for name in names if "/headers/licences/" in name]
    assert len(licences) == 5


def test_a_wheel_in_an_empty_environment_records_and_reads(place: Path) -> None:
    """The recorder is built once, into the cache folder; the package itself stays as it is."""
    if shutil.which("mpicc.openmpi") is None or shutil.which("mpiexec.openmpi") is None:
        pytest.skip("no Open MPI here: tools/setup installs it")
    (place / "hello.c").write_text(PROGRAM)
    subprocess.run(["mpicc.openmpi", "-o", "hello", "hello.c"], cwd=place, check=True)
    site = next((place / "venv/lib").glob("python*/site-packages/plait"))
    before = sorted(path for path in site.rglob("*") if "__pycache__" not in path.parts)
    objects = os.environ.get("CCACHE_DIR", str(Path.home() / ".cache/ccache"))
    more = {"XDG_CACHE_HOME": str(place / "cache"), "CCACHE_DIR": objects}
    plait = place / "venv/bin/plait"
    command = ("mpiexec.openmpi", "--oversubscribe", "-n", 2, "./hello")
    first = run(plait, "record", "--name", "first", "--", *command, cwd=place, more=more)
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("building plait record for openmpi") == 1
    second = run(plait, "record", "--name", "second", "--", *command, cwd=place, more=more)
    assert "building" not in second.stderr
    ahead = run(plait, "build", "--mpi", "openmpi", cwd=place, more=more)
    (built,) = (place / "cache/plait").glob("*/openmpi-*/lib/libplait-record.so")
    assert ahead.stdout.strip() == str(built)
    assert before == sorted(path for path in site.rglob("*") if "__pycache__" not in path.parts)
    read = run(place / "venv/bin/python", "-c", READ, "runs/first", cwd=place, more=more)
    assert int(read.stdout) > 0, read.stderr


def test_without_compiler_and_mpi_each_command_names_what_to_do(place: Path) -> None:
    """The path has a shell and nothing else."""
    (place / "bin").mkdir()
    (place / "bin/sh").symlink_to("/bin/sh")
    more = {"PATH": str(place / "bin"), "XDG_CACHE_HOME": str(place / "none")}
    plait = place / "venv/bin/plait"
    told = {
        ("build", "--mpi", "mpich"): "there is no mpicc of it",
        ("build", "predict"): "there is no C++ compiler (c++, g++, clang++): apt-get install g++",
        ("record", "--", "sh", "-c", "true"): "no MPI is linked into the program",
    }
    for words, sentence in told.items():
        done = run(plait, *words, cwd=place, more=more)
        assert done.returncode != 0
        assert sentence in " ".join(done.stderr.split()), done.stderr
    assert not (place / "none").exists()
