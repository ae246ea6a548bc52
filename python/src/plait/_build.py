# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side was built; and builds with another MPI than the default one."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plait._errors import PlaitError
from plait._launcher import Launcher, find_launcher
from plait._preload import STANDARD_ABI

#: Lines of a failed build's output that are shown.
_TAIL = 30


def source_folder() -> Path | None:
    """The checkout that is here, else the one that this package is in."""
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
        f"(plait searches {build_folder() / 'bin'}; PLAIT_BUILD names another build folder)"
    )


def built_application(name: str) -> Path | None:
    """One of plait's applications (plait-pic and so on), where it was built."""
    return next(iter(sorted((build_folder() / "apps").glob(f"*/{name}"))), None)


def bench_folder_of(mpi: str) -> Path:
    """The build with an MPI that is not the machine's default: no process may have two."""
    root = source_folder()
    if root is None:
        raise PlaitError(f"--mpi {mpi} builds the benchmarks, and there is no checkout of plait here")
    return root / "build" / f"bench-{mpi}"


def build_bench(mpi: str, target: str) -> None:
    """Builds one in `bench_folder_of(mpi)`."""
    folder = bench_folder_of(mpi)
    _build_with(mpi, folder, ["PLAIT_BUILD_BENCH=ON", "PLAIT_BUILD_TESTS=OFF"], target)


#: What is preloaded into programs of others, below a build folder.
RECORDER = Path("lib") / "libplait-record.so"
ACCELERATOR = Path("lib") / "libplait-accelerate.so"

_ACCELERATOR_TARGETS = ["plait_accelerate", "plait_accelerate_engine"]
_WITHOUT_PROGRAMS = [f"PLAIT_BUILD_{part}=OFF" for part in ("TESTS", "APPS", "EXAMPLES")]


def recorder_of(mpi: str) -> Path:
    """The preload library of `plait record` for this MPI.

    Of the build folder, else an installed one, else one built here: once, which takes some seconds.
    """
    return _preload_library(mpi, RECORDER, "recorder", "record", ["plait_record"])


def accelerator_of(mpi: str) -> Path:
    """As `recorder_of`, of `plait accelerate`; it takes two minutes. The engine is beside it."""
    return _preload_library(mpi, ACCELERATOR, "accelerator", "accelerate", _ACCELERATOR_TARGETS)


def recorder_for(mpi: str, starter: Launcher | None) -> Path:
    """As `recorder_of`, for programs of the MPI that has the launcher `starter`.

    An MPI other than the machine's has its compiler beside its launcher; it gets a build of its own.
    """
    return _of_its_own("record", mpi, starter, RECORDER, ["plait_record"]) or recorder_of(mpi)


def accelerator_for(mpi: str, starter: Launcher | None) -> Path:
    """As `recorder_for`, of `plait accelerate`."""
    found = _of_its_own("accelerate", mpi, starter, ACCELERATOR, _ACCELERATOR_TARGETS)
    return found or accelerator_of(mpi)


def _of_its_own(
    use: str, mpi: str, starter: Launcher | None, library: Path, targets: list[str]
) -> Path | None:
    """None where the usual builds are for this MPI, or it has no compiler."""
    starter = starter if starter or mpi != STANDARD_ABI else find_launcher(None)
    root = source_folder()
    compiler = _compiler_beside(Path(starter.path), mpi) if starter else None
    if mpi == STANDARD_ABI and compiler is None:
        raise PlaitError(
            "there is no mpicc_abi beside the launcher: nothing can be built for MPI's standard ABI"
        )
    if starter is None or compiler is None or root is None or compiler in _usual_compilers(mpi):
        return None
    folder = root / "build" / f"{use}-{mpi}-{starter.version}"
    _build_with_compiler(compiler, starter.path, folder, _WITHOUT_PROGRAMS, *targets)
    return (folder / library).resolve()


def _compiler_beside(starter: Path, mpi: str) -> Path | None:
    """mpicc.X beside mpiexec.X, else mpicc there; for the standard ABI mpicc_abi."""
    names = ("mpicc_abi",) if mpi == STANDARD_ABI else (f"mpicc{starter.suffix}", "mpicc")
    return next((path.resolve() for name in names if (path := starter.with_name(name)).is_file()), None)


def _usual_compilers(mpi: str) -> set[Path]:
    """Those of builds that bear no version in their name."""
    found = (shutil.which(f"mpicc.{mpi}"), _compiler_of(build_folder()))
    return {Path(path).resolve() for path in found if path}


def _compiler_of(folder: Path) -> str:
    return "".join(_cached(folder, "MPI_C_COMPILER"))


def _preload_library(mpi: str, library: Path, what: str, use: str, targets: list[str]) -> Path:
    built = build_folder() / library
    if built.is_file() and mpi_of(build_folder()) == mpi:
        return built.resolve()
    if installed := _installed(mpi, library):
        return installed
    root = source_folder()
    if root is None:
        raise PlaitError(
            f"there is no {what} for {mpi} in {build_folder()} or beside installed programs; "
            "build plait with this MPI and name the folder in PLAIT_BUILD"
        )
    folder = root / "build" / f"{use}-{mpi}"
    _build_with(mpi, folder, _WITHOUT_PROGRAMS, *targets)
    return (folder / library).resolve()


def mpi_of(folder: Path) -> str:
    """The name of the MPI that a folder was built with; empty if it is none that has a name."""
    return _mpi_in(" ".join(_cached(folder, r"MPI_(?:C_\w+|\w+_LIBRARY)")))


def _cached(folder: Path, names: str) -> list[str]:
    """The values of CMake's entries whose names match; none where nothing was configured."""
    try:
        cache = (folder / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return []
    return re.findall(rf"^{names}(?::\w+)?=(.*)$", cache, re.MULTILINE)


def _mpi_in(flags: str) -> str:
    if "mpich" in flags:
        return "mpich"
    return "openmpi" if "openmpi" in flags or "libmpi." in flags else ""


def _installed(mpi: str, library: Path) -> Path | None:
    """Beside the installed programs, if it was built for this MPI."""
    program = shutil.which("plait-predict")
    if program is None:
        return None
    prefix = Path(program).resolve().parents[1]
    for found in (*prefix.glob(f"lib*/{library.name}"), *prefix.glob(f"lib/*/{library.name}")):
        flags = found.parent / "pkgconfig" / "plait-core.pc"
        if flags.is_file() and _mpi_in(flags.read_text()) == mpi:
            return found
    return None


def _build_with(mpi: str, folder: Path, options: list[str], *targets: str) -> None:
    """mpicc.MPI is what Debian and Ubuntu call the compiler of an MPI that need not be the machine's."""
    wrapper, launcher = shutil.which(f"mpicc.{mpi}"), shutil.which(f"mpiexec.{mpi}")
    if wrapper is None or launcher is None:
        package = "mpich libmpich-dev" if mpi == "mpich" else "libopenmpi-dev openmpi-bin"
        raise PlaitError(f"there is no mpicc.{mpi} or no mpiexec.{mpi}: apt-get install {package}")
    _build_with_compiler(Path(wrapper), launcher, folder, options, *targets)


def _build_with_compiler(
    wrapper: Path, launcher: str, folder: Path, options: list[str], *targets: str
) -> None:
    options = ["CMAKE_BUILD_TYPE=Release", *options]
    options += [f"MPI_C_COMPILER={wrapper}", f"MPIEXEC_EXECUTABLE={launcher}"]
    defines = [f"-D{option}" for option in options]
    with _alone(folder):
        if not (folder / "build.ninja").is_file():
            _quietly(["cmake", "-S", str(folder.parents[1]), "-B", str(folder), "-G", "Ninja", *defines])
        _quietly(["cmake", "--build", str(folder), "-j", str(os.cpu_count() or 1), "--target", *targets])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: another would start programs with what is half written."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
