# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side was built; and builds for the MPIs that programs use.

What is built at first use goes into the user's cache folder, never beside the sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from plait import _extension, _mpi, _sources
from plait._errors import PlaitError, Status
from plait._launcher import Launcher, find_launcher

#: Lines of a failed build's output that are shown.
_TAIL = 30
_GCC_MIN = 12


def source_folder() -> Path | None:
    """The checkout that is here, else the one that this package is in."""
    return _sources.checkout()


def build_folder() -> Path:
    """PLAIT_BUILD, else build/release of the checkout."""
    told = os.environ.get("PLAIT_BUILD")
    return Path(told) if told else (source_folder() or Path()) / "build" / "release"


def built_program(name: str) -> Path | None:
    """One of the programs (plait-replay and so on), where it is built already."""
    folders = [build_folder()]
    if "PLAIT_BUILD" not in os.environ and (root := source_folder()):
        folders.append(root / "build" / "dev")
    for folder in folders:
        if (program := folder / "bin" / name).is_file():
            return program
    found = shutil.which(name)
    return Path(found) if found else None


def find_program(name: str) -> Path:
    """One of the programs: built, on the path, or built now."""
    if program := built_program(name):
        return program
    if _sources.PACKAGED.is_dir() and name in PROGRAMS:
        return _built_program(PROGRAMS[name])
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
    wrapper, starter = shutil.which(f"mpicc.{mpi}"), shutil.which(f"mpiexec.{mpi}")
    if wrapper is None or starter is None:
        raise PlaitError(f"there is no mpicc.{mpi} or no mpiexec.{mpi}: {_install(mpi)}")
    folder = bench_folder_of(mpi)
    options = ["PLAIT_BUILD_BENCH=ON", "PLAIT_BUILD_TESTS=OFF", f"MPI_C_COMPILER={wrapper}"]
    options += [f"MPIEXEC_EXECUTABLE={starter}"]
    with _alone(folder):
        _compile(folder.parents[1], folder, options, [target])


# --- what is built from the sources ---------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """What one command needs."""

    name: str
    files: tuple[str, ...]  # below a build folder; the first is what the command uses
    targets: tuple[str, ...]
    takes: str
    uses_mpi: bool = True
    parts: tuple[str, ...] = ()  # optional libraries of plait that it has, where their needs are found
    options: tuple[str, ...] = ()  # of CMake
    work: str = "work"  # the folder in which it is compiled


RECORDER = Product("record", ("lib/libplait-record.so",), ("plait_record",), "a minute")
ACCELERATOR = Product(
    "accelerate",
    ("lib/libplait-accelerate.so", "lib/libplait-accelerate-engine.so"),
    ("plait_accelerate", "plait_accelerate_engine"),
    "some minutes",
)
#: What `plait simulate` preloads.
SIMULATION = Product(
    "simulate", ("lib/libplait-simulate.so",), ("plait_preloaded_simulate",), "a minute"
)
#: What `import plait` loads for `plait.Runtime`; made for this Python.
EXTENSION = Product(
    "python",
    (_extension.FILE,),
    ("plait_python",),
    "some minutes",
    parts=("FFT", "PARTICLES"),
    options=("PLAIT_WITH_PYTHON=ON", f"PLAIT_PYTHON={sys.executable}"),
    work=f"work-{sys.implementation.cache_tag}",
)
#: Programs that the plait command starts.
PROGRAMS = {
    f"plait-{name}": Product(
        name, (f"bin/plait-{name}",), (f"plait_program_{name}",), "some minutes", uses_mpi
    )
    for name, uses_mpi in (
        *(("replay", True), ("measure", True)),
        *(("predict", False), ("schedule", False), ("balance", False), ("export", False)),
    )
}


@dataclass(frozen=True)
class WantedMpi:
    """The MPI of the programs for which something is built; `library` and `starter` as far as known."""

    interface: str
    library: _mpi.MpiLibrary | None = None
    starter: Launcher | None = None

    def __str__(self) -> str:
        return str(self.library) if self.library is not None else self.interface


def recorder_of(mpi: str) -> Path:
    """As `library_for`: the preload library of `plait record` for the MPI of this name."""
    return library_for(RECORDER, WantedMpi(mpi))


def accelerator_of(mpi: str) -> Path:
    """As `library_for`: that of `plait accelerate`. The engine is beside it."""
    return library_for(ACCELERATOR, WantedMpi(mpi))


def library_for(product: Product, mpi: WantedMpi) -> Path:
    """What is to be preloaded into programs of this MPI.

    Of the build folder or an installed plait, if made for the same MPI; else of the user's cache folder,
    where it is built once. Raises PlaitError with what to install.
    """
    starter = mpi.starter
    if mpi.interface == _mpi.STANDARD_ABI and starter is None:
        starter = find_launcher(None)
    compiler = _mpi.compiler_for(mpi.interface, mpi.library, starter.path if starter else None)
    if mpi.interface == _mpi.STANDARD_ABI and compiler is None:
        raise PlaitError(
            "there is no mpicc_abi beside the launcher: nothing can be built for MPI's standard ABI"
        )
    if compiler is None or compiler.path.resolve() in _usual_compilers(mpi.interface):
        built = build_folder() / product.files[0]
        complete = all((build_folder() / file).is_file() for file in product.files)
        if complete and mpi_of(build_folder()) == mpi.interface:
            return built.resolve()
        if installed := _installed(mpi.interface, built.name):
            return installed
    if compiler is None:
        raise PlaitError(
            f"what plait {product.name} preloads has to be built for {mpi}, and there is no mpicc of it "
            f"near its library, beside its launcher, or on the path: {_install(mpi.interface)}, or load "
            "its module"
        )
    return _cached_build(product, compiler)


def _built_program(product: Product) -> Path:
    """A program of plait's own, with the MPI of the machine's launcher if it needs one."""
    if not product.uses_mpi:
        return _cached_build(product, None)
    starter = find_launcher(None)
    told = shutil.which("mpicc")
    interfaces = {"Open MPI": [_mpi.OPEN_MPI], "MPICH": [_mpi.MPICH], "Intel MPI": [_mpi.MPICH]}
    near = interfaces.get(starter.family, [])
    found = [_mpi.compiler_for(interface, None, starter.path) for interface in near]
    compiler = found[0] if found else (_mpi.compiler_at(Path(told)) if told else None)
    if compiler is None:
        raise PlaitError(
            f"plait-{product.name} has to be built, and there is no mpicc for {starter.path}: "
            f"{_install(*near)}, or load the module of your MPI"
        )
    return _cached_build(product, compiler)


def build_ahead(product: Product, mpi: str | None) -> Path:
    """`plait build`: as at first use."""
    if product is EXTENSION:
        return extension(mpi)
    if f"plait-{product.name}" in PROGRAMS:
        return _built_program(product)
    return library_for(product, WantedMpi(mpi or default_mpi()))


def extension(mpi: str | None = None) -> Path:
    """The extension module for this Python and the MPI of mpi4py, or that of the name. Builds it if
    needed.
    """
    if find_spec("nanobind") is None:
        raise PlaitError("the extension is built with nanobind: pip install 'plait-hpc[build]'")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        raise PlaitError(
            f"there is no Python.h of {sys.executable}: apt-get install python3-dev, or use a "
            f"Python that has it"
        )
    library = _extension.mpi_of_mpi4py() if mpi is None else None
    return library_for(EXTENSION, WantedMpi(library.interface if library else mpi or "", library))


def default_mpi() -> str:
    """The MPI of mpicc on the path, else that of the launcher there. Raises PlaitError."""
    told = shutil.which("mpicc")
    if told and (compiler := _mpi.compiler_at(Path(told))):
        return compiler.interface
    starter = find_launcher(None)
    by_family = {"Open MPI": _mpi.OPEN_MPI, "MPICH": _mpi.MPICH, "Intel MPI": _mpi.MPICH}
    if starter.family not in by_family:
        raise PlaitError(
            f"{starter.path} does not show which MPI is meant; name it with --mpi", status=Status.usage
        )
    return by_family[starter.family]


def _install(interface: str = "") -> str:
    package = "mpich libmpich-dev" if interface == _mpi.MPICH else "libopenmpi-dev openmpi-bin"
    return f"apt-get install {package}"


def _usual_compilers(mpi: str) -> set[Path]:
    """Those for which a build folder or an installed plait serves."""
    found = (shutil.which(f"mpicc.{mpi}"), "".join(_cached(build_folder(), "MPI_C_COMPILER")))
    return {Path(path).resolve() for path in found if path}


def mpi_of(folder: Path) -> str:
    """The interface of the MPI that a folder was built with, by its mpi.h; empty if none is found."""
    for place in _cached(folder, "MPI_C_HEADER_DIR"):
        if found := _mpi.interface_in(Path(place) / "mpi.h"):
            return found
    return _mpi_in(" ".join(_cached(folder, r"MPI_(?:C_\w+|\w+_LIBRARY)")))


def _cached(folder: Path, names: str) -> list[str]:
    """The values of CMake's entries whose names match; none where nothing was configured."""
    try:
        cache = (folder / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return []
    return re.findall(rf"^{names}(?::\w+)?=(.*)$", cache, re.MULTILINE)


def _mpi_in(flags: str) -> str:
    """By the paths alone; Intel's library has the name of Open MPI's."""
    if re.search("mpich|/intel/|impi", flags):
        return "mpich"
    return "openmpi" if "openmpi" in flags or "libmpi." in flags else ""


def _installed(mpi: str, library: str) -> Path | None:
    """Beside the installed programs, if it was built for this MPI."""
    program = shutil.which("plait-predict")
    if program is None:
        return None
    prefix = Path(program).resolve().parents[1]
    for found in (*prefix.glob(f"lib*/{library}"), *prefix.glob(f"lib/*/{library}")):
        flags = found.parent / "pkgconfig" / "plait-mpi.pc"
        if flags.is_file() and _mpi_in(flags.read_text()) == mpi:
            return found
    return None


# --- builds in the cache folder -------------------------------------------------------------------


def _cached_build(product: Product, compiler: _mpi.MpiCompiler | None) -> Path:
    """The product, built if it is not there; of a checkout, again where its sources have changed."""
    packaged = _sources.PACKAGED.is_dir()
    sources = _sources.PACKAGED if packaged else source_folder()
    if sources is None:
        raise PlaitError(f"plait {product.name} has to be built, and there are no sources of plait here")
    interface, version = (compiler.interface, compiler.version) if compiler else ("without-mpi", "")
    header = compiler.header if compiler else ""
    label = _sources.label(interface, version, header, _cxx_version(_cxx()))
    folder = _sources.cache_folder(sources) / label
    wanted = folder / product.files[0]
    if packaged and wanted.is_file():
        return wanted
    with _alone(folder):
        if packaged and wanted.is_file():  # by another process, meanwhile
            return wanted
        if not wanted.is_file():
            what = f"{interface} {version}" if compiler else "this machine"
            _notify(f"building plait {product.name} for {what} into {folder}: once, {product.takes}")
        _build_into(sources, folder, product, compiler)
    return wanted


def _build_into(
    sources: Path, folder: Path, product: Product, compiler: _mpi.MpiCompiler | None
) -> None:
    options = [f"PLAIT_BUILD_{part}=OFF" for part in ("TESTS", "APPS", "EXAMPLES")]
    options += ["CMAKE_UNITY_BUILD=ON"]  # as the presets: many files as one take less than half the time
    without = {"HDF5", "FFT", "PARTICLES", "ZOLTAN", "FORTRAN", "PYTHON"} - set(product.parts)
    options += [f"PLAIT_WITH_{part}=OFF" for part in sorted(without)] + list(product.options)
    options += [f"Python3_EXECUTABLE={sys.executable}", f"CMAKE_CXX_COMPILER={_cxx()}"]
    options += [f"MPI_C_COMPILER={compiler.path}"] if compiler else ["PLAIT_WITH_MPI=OFF"]
    if sources == _sources.PACKAGED:
        options += [f"PLAIT_HEADERS={sources / 'headers'}"]
    work = folder / product.work
    environment = {**os.environ, **(compiler.environment if compiler else {})}
    _compile(sources, work, options, list(product.targets), environment)
    for name in product.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        partial = (folder / name).with_suffix(".partial")
        shutil.copy2(work / name, partial)
        partial.replace(folder / name)
    if sources == _sources.PACKAGED:
        shutil.rmtree(work)


def _cxx() -> str:
    """The C++ compiler: CXX, else the system's. Raises PlaitError where it is missing or too old."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        raise PlaitError(
            f"there is no C++ compiler ({', '.join(names)}): apt-get install g++, load its module, "
            "or name it in CXX"
        )
    first = _cxx_version(path)
    number = re.search(r"(\d+)\.\d+\.\d+", first)
    if number and "clang" not in first.lower() and int(number.group(1)) < _GCC_MIN:
        raise PlaitError(
            f"{path} is too old ({first}); plait needs GCC {_GCC_MIN}: load a newer one, or set CXX"
        )
    return path


def _cxx_version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return next(iter(done.stdout.splitlines()), "")


def _tool(name: str) -> str | None:
    """A program on the path, or beside this Python, where pip puts those of packages."""
    return shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))


def _compile(
    sources: Path,
    folder: Path,
    options: list[str],
    targets: list[str],
    environment: Mapping[str, str] | None = None,
) -> None:
    """`environment`: that of this process if None."""
    cmake, ninja = _tool("cmake"), _tool("ninja")
    if cmake is None or (ninja is None and _tool("make") is None):
        missing = "cmake" if cmake is None else "ninja and no make"
        raise PlaitError(f"there is no {missing}: pip install 'plait-hpc[build]', or load its module")
    if not (folder / "CMakeCache.txt").is_file() or not any(
        (folder / name).is_file() for name in ("build.ninja", "Makefile")
    ):
        generator = (
            ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else ["-G", "Unix Makefiles"]
        )
        defines = [f"-D{option}" for option in ("CMAKE_BUILD_TYPE=Release", *options)]
        _quietly([cmake, "-S", str(sources), "-B", str(folder), *generator, *defines], environment)
    build = [cmake, "--build", str(folder), "-j", str(os.cpu_count() or 1)]
    _quietly([*build, "--target", *targets], environment)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: another would start programs with what is half written."""
    fcntl = import_module("fcntl")  # not everywhere, and only builds need it
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".building").open("w")
    except OSError as error:
        raise PlaitError(
            f"{folder} cannot be written ({error.strerror}); name another cache folder in XDG_CACHE_HOME"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            _notify(f"waiting for another plait, which builds in {folder}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _notify(text: str) -> None:
    print(f"plait: {text}", file=sys.stderr, flush=True)


def _quietly(command: list[str], environment: Mapping[str, str] | None) -> None:
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError as error:
        raise PlaitError(f"{command[0]} cannot be started: {error}") from error
    if done.returncode != 0:
        raise PlaitError(
            "\n".join([*done.stdout.splitlines()[-_TAIL:], f"{command[0]} failed; see above"])
        )
