#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/setup_user.py: what tools/setup --user does once .venv exists. It changes nothing outside of .venv and build/.

The compiler, MPI, HDF5, FFTW and libfabric are the machine's: modules or packages. What is small and missing comes
from Python's package index, as pinned below: CMake and Ninja, MPICH where there is no MPI, and into .venv/headers the
headers of fmt, nlohmann-json, Boost, cereal and CLI11, with Highway's sources. Programs go to .venv/toolchain,
which the tools and the Makefile put in front of the path. Without a network, the packages are those in offline/.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
TOOLCHAIN, HEADERS = VENV / "toolchain", VENV / "headers"
STAMP = TOOLCHAIN / ".made-from"
sys.path.insert(0, str(ROOT / "python"))
from bundle import boost_headers  # noqa: E402

CMAKE_MIN = (3, 25)
#: Programs of the package index, for machines that have none or an older one.
TOOLS = {"cmake": "cmake>=3.25,<4", "ninja": "ninja>=1.11"}
#: Packages that contain headers. The wheels hold no code that runs here, so one platform's serves all.
WHEELS = {
    "pgm-build-deps==2026.10.26.92": "fe18d1004aa8630c5dd2c82a33b2f6b561a7c60da1d4f2484cbc39dc5236f772",
    "cmeel-fmt==12.2.0": "81f0ea1df41d81bfa097c552bc2adf3a5df49978b91555f7883fd3b89bb7ba61",
    "cmeel-cereal==1.3.2": "4252620a305eaaa921b9a8cf209a313953d4b88d19f65f9a8568963a09077333",
}
#: Folders in them, each the parent of what is included.
FOLDERS = {
    "fmt": "cmeel.prefix/include",
    "cereal": "cmeel.prefix/include",
    "nlohmann": "pgm_build_deps/nlohmann_json/include",
    "CLI": "pgm_build_deps/cli11/include",
}
BOOST = "pgm_build_deps/boost/include"
#: Highway is a part of NumPy's source package.
NUMPY = "2.2.6"
NUMPY_SHA256 = "e29554e2bef54a90aa5cc07da6ce955accb83f21ab5de01a62c8478897b264fd"
HIGHWAY = f"numpy-{NUMPY}/numpy/_core/src/highway"
MPI = "mpich==5.0.2"
#: In the place of NumPy's build system, which pip would call to learn the name of the package that it downloads.
STUB = f"""import pathlib
def prepare_metadata_for_build_wheel(folder, *_):
    place = pathlib.Path(folder, "numpy-{NUMPY}.dist-info")
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\\nName: numpy\\nVersion: {NUMPY}\\n")
    return place.name
"""
CPP = """#include <concepts>
#include <source_location>
#include <span>
#include <stop_token>
int main() { return std::span<const int>{}.size() == 0 ? 0 : 1; }
"""


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def fail(text: str) -> None:
    raise SystemExit(f"setup: {text}")


def output(*command: str) -> str:
    """What the command prints; empty if it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def pip(*arguments: str, **environment: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr[-3000:], file=sys.stderr)
        fail(f"pip {arguments[0]} failed, see above. Without a network: docs/how-to/install.md, section Offline")


def outside_path() -> str:
    """The user's path, without what earlier set-ups put in front of it."""
    parts = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(part for part in parts if pathlib.Path(part) not in (TOOLCHAIN, VENV / "bin"))


def find(name: str) -> str | None:
    return shutil.which(name, path=outside_path())


def compiler() -> str:
    """The C++ compiler, which CMake finds in the same way, tried on C++20."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    path = next((found for name in names if (found := find(name))), None)
    advice = "load the module of GCC 12 or newer, or of Clang 16 or newer, or name it in CXX (and the C compiler in CC)"
    if path is None:
        fail(f"there is no C++ compiler ({', '.join(names)}): {advice}")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "cxx20.cpp")
        source.write_text(CPP)
        if (
            not output(path, "-std=c++20", str(source), "-o", f"{folder}/a.out")
            and not pathlib.Path(folder, "a.out").exists()
        ):
            first = (output(path, "--version").splitlines() or ["?"])[0]
            fail(f"{path} ({first}) does not compile C++20: {advice}")
    return path


def is_new_enough(cmake: str | None) -> bool:
    found = re.search(r"version (\d+)\.(\d+)", output(cmake, "--version")) if cmake else None
    return bool(found) and (int(found[1]), int(found[2])) >= CMAKE_MIN


def link(name: str, target: pathlib.Path) -> None:
    (TOOLCHAIN / name).unlink(missing_ok=True)
    (TOOLCHAIN / name).symlink_to(target)


def bring_tools() -> None:
    """CMake and Ninja, where the machine has none that will do."""
    cmake, ninja = find("cmake"), find("ninja")
    if not is_new_enough(cmake):
        say(f"installing CMake into .venv ({f'{cmake} is older than 3.25' if cmake else 'there is none'})")
        pip("install", "--quiet", TOOLS["cmake"])
        programs = pathlib.Path(output(sys.executable, "-c", "import cmake; print(cmake.CMAKE_BIN_DIR)").strip())
        for name in ("cmake", "ctest"):
            link(name, programs / name)
    if ninja is None:
        say("installing Ninja into .venv")
        pip("install", "--quiet", TOOLS["ninja"])
        link("ninja", pathlib.Path(output(sys.executable, "-c", "import ninja; print(ninja.BIN_DIR)").strip(), "ninja"))


def bring_mpi() -> None:
    """MPICH, where no MPI is on the path: for one machine, as it knows nothing of a cluster's network."""
    if find("mpicc") or os.environ.get("MPI_HOME"):
        return
    say("there is no mpicc on the path. On a cluster, load the module of its MPI and start again.")
    say("For this machine alone, MPICH is installed into .venv")
    pip("install", "--quiet", MPI)
    for name in ("mpicc", "mpicxx", "mpiexec", "mpirun"):
        (TOOLCHAIN / name).write_text(f'#!/bin/sh\nexec "{VENV}/bin/{name}" "$@"\n')
        (TOOLCHAIN / name).chmod(0o755)


def bring_headers() -> None:
    """The pinned headers into .venv/headers, complete or not at all."""
    wanted = "".join(f"{name} {digest}\n" for name, digest in WHEELS.items()) + f"numpy {NUMPY_SHA256}\n"
    if (HEADERS / ".made-from").is_file() and (HEADERS / ".made-from").read_text() == wanted:
        return
    say("fetching the headers of fmt, nlohmann-json, Boost, cereal and CLI11, and Highway's sources (55 MB, once)")
    partial = HEADERS.with_name("headers.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        fetch_packages(place)
        for wheel in sorted(place.glob("*.whl")):
            zipfile.ZipFile(wheel).extractall(place / "wheels")
        for name, parent in FOLDERS.items():
            shutil.copytree(place / "wheels" / parent / name, partial / name)
        for name in boost_headers(place / "wheels" / BOOST):
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place / "wheels" / BOOST / name, partial / name)
        with tarfile.open(place / f"numpy-{NUMPY}.tar.gz") as archive:
            for member in archive.getmembers():
                below = member.name.removeprefix(f"{HIGHWAY}/")
                if below.startswith("hwy/") and member.isfile() and ".." not in below:
                    (partial / below).parent.mkdir(parents=True, exist_ok=True)
                    (partial / below).write_bytes(archive.extractfile(member).read())
    (partial / ".made-from").write_text(wanted)
    shutil.rmtree(HEADERS, ignore_errors=True)
    partial.replace(HEADERS)


def fetch_packages(place: pathlib.Path) -> None:
    """The pinned packages into a folder, by pip, which checks their hashes."""
    listed = place / "requirements.txt"
    listed.write_text("".join(f"{name} --hash=sha256:{digest}\n" for name, digest in WHEELS.items()))
    fetch = ("download", "--quiet", "--no-deps", "--dest", str(place), "--require-hashes", "-r", str(listed))
    pip(*fetch, "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64")
    # pip runs the build system of a source package even to download it: a stub answers in the place of NumPy's.
    (place / "stub").mkdir()
    (place / "stub/mesonpy.py").write_text(STUB)
    listed.write_text(f"numpy=={NUMPY} --hash=sha256:{NUMPY_SHA256}\n")
    pip(*fetch, "--no-binary=numpy", "--no-build-isolation", PYTHONPATH=str(place / "stub"))


def report() -> None:
    """What CMake finds, as it prints it, and what is left out."""
    (ROOT / "build").mkdir(exist_ok=True)
    environment = {**os.environ, "PATH": f"{TOOLCHAIN}{os.pathsep}{outside_path()}"}
    command = ["cmake", "--preset", "release"]
    log = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if log.returncode != 0:
        print((log.stdout + log.stderr)[-4000:], file=sys.stderr)
        STAMP.unlink(missing_ok=True)
        fail("CMake cannot configure plait with what is here; its message is above")
    for line in re.findall(r"^-- (plait.*|Found MPI_C: .*)$", log.stdout, re.MULTILINE):
        say(line)


def state() -> str:
    """What decides on the result: this file, and the programs that the path and the variables name."""
    parts = [hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()]
    parts += [f"{name}={find(name)}" for name in ("c++", "g++", "clang++", "mpicc", "cmake", "ninja", "h5pcc", "h5cc")]
    parts += [f"{name}={os.environ.get(name, '')}" for name in ("CC", "CXX", "MPI_HOME", "CMAKE_PREFIX_PATH")]
    return "\n".join(parts)


def packages() -> list[str]:
    """What pip installs into .venv on a machine that has nothing: for tools/offline."""
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())
    return [*project["build-system"]["requires"], *project["project"]["dependencies"], *TOOLS.values(), MPI]


def main() -> None:
    if sys.argv[1:2] == ["--packages"]:
        print("\n".join(packages()))
        return
    if sys.argv[1:2] == ["--download"]:
        with tempfile.TemporaryDirectory() as folder:
            fetch_packages(pathlib.Path(folder))
            for package in (*pathlib.Path(folder).glob("*.whl"), *pathlib.Path(folder).glob("*.tar.gz")):
                shutil.move(package, sys.argv[2])
        return
    TOOLCHAIN.mkdir(parents=True, exist_ok=True)
    wanted = state()
    if STAMP.is_file() and STAMP.read_text() == wanted and (ROOT / "build").is_dir():
        return
    # Another compiler or MPI than before: what CMake found is out of date.
    if STAMP.is_file():
        for name in ("cmake", "ctest", "ninja", "mpicc", "mpicxx", "mpiexec", "mpirun"):
            (TOOLCHAIN / name).unlink(missing_ok=True)
        (ROOT / "build/release/CMakeCache.txt").unlink(missing_ok=True)
    say(f"the C++ compiler is {compiler()}")
    bring_tools()
    bring_mpi()
    bring_headers()
    STAMP.write_text(wanted)
    report()
    say(f"done. For commands of your own:  export PATH={TOOLCHAIN}:$PATH")


if __name__ == "__main__":
    main()
