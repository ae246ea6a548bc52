# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side was built; and a build of the benchmarks with another MPI than the default one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from plait._errors import PlaitError

#: Lines of a failed build's output that are shown.
_TAIL = 30


def source_folder() -> Path | None:
    """The checkout that is here, else the one that this package stands in."""
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        if (root / "CMakePresets.json").is_file():
            return root
    return None


def build_folder() -> Path:
    """PLAIT_BUILD, else build/release of the checkout."""
    told = os.environ.get("PLAIT_BUILD")
    return Path(told) if told else (source_folder() or Path()) / "build" / "release"


def find_program(name: str) -> Path:
    """One of the built programs (plait-replay and so on): of the build, else on the path."""
    for folder in (build_folder(), (source_folder() or Path()) / "build" / "dev"):
        if (program := folder / "bin" / name).is_file():
            return program
    if found := shutil.which(name):
        return Path(found)
    raise PlaitError(
        f"the program {name} is not built: cmake --preset release && cmake --build --preset release "
        f"(it is looked for in {build_folder() / 'bin'}; PLAIT_BUILD names another build folder)"
    )


def bench_folder_of(mpi: str) -> Path:
    """The build with an MPI that is not the machine's default: no process may have two."""
    root = source_folder()
    if root is None:
        raise PlaitError(f"--mpi {mpi} builds the benchmarks, and there is no checkout of plait here")
    return root / "build" / f"bench-{mpi}"


def build_bench(mpi: str, target: str) -> None:
    """Builds one in `bench_folder_of(mpi)`; mpicc.MPI is what Debian and Ubuntu call its compiler."""
    folder = bench_folder_of(mpi)
    wrapper, launcher = shutil.which(f"mpicc.{mpi}"), shutil.which(f"mpiexec.{mpi}")
    if wrapper is None or launcher is None:
        package = "mpich libmpich-dev" if mpi == "mpich" else "libopenmpi-dev openmpi-bin"
        raise PlaitError(f"there is no mpicc.{mpi} or no mpiexec.{mpi}: apt-get install {package}")
    options = ["CMAKE_BUILD_TYPE=Release", "PLAIT_BUILD_BENCH=ON", "PLAIT_BUILD_TESTS=OFF"]
    options += [f"MPI_C_COMPILER={wrapper}", f"MPIEXEC_EXECUTABLE={launcher}"]
    defines = [f"-D{option}" for option in options]
    _quietly(["cmake", "-S", str(folder.parents[1]), "-B", str(folder), "-G", "Ninja", *defines])
    _quietly(["cmake", "--build", str(folder), "--target", target, "-j", str(os.cpu_count() or 1)])


def _quietly(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise PlaitError(f"{command[0]} cannot be started: {error}") from error
    if done.returncode != 0:
        raise PlaitError(
            "\n".join([*done.stdout.splitlines()[-_TAIL:], f"{command[0]} failed; see above"])
        )
