# SPDX-License-Identifier: Apache-2.0
"""The MPI of a program: which library it is linked with, and which compiler is that library's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Names of binary interfaces, the values of `--mpi`. MPICH's is also that of Intel MPI, MVAPICH and Cray
#: MPICH.
OPEN_MPI, MPICH, STANDARD_ABI = "openmpi", "mpich", "abi"

_LIBRARY = re.compile(
    r"^\s*(libmpi(?:ch|_abi|_(?:cray|gnu|intel|nvidia|amd|aocc)\w*)?\.so([.\d]*))(?: => (\S+))?",
    re.MULTILINE,
)
#: In a process of its own: what a library does when it is loaded must not end this one.
_PROBE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
text, length = ctypes.create_string_buffer(1 << 16), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
print("openmpi" if hasattr(library, "ompi_mpi_comm_world") else "mpich")
print(text.value.decode(errors="replace"))
"""
#: For a Python, whose extension for MPI selects a library when it is imported; as ldd would print it.
_PROBE_PYTHON = """
import mpi4py, os
mpi4py.rc.initialize = False
from mpi4py import MPI
for path in sorted({line.split()[-1] for line in open("/proc/self/maps") if "/libmpi" in line}):
    print(f"{os.path.basename(path)} => {path}")
"""
_PYTHON = re.compile(r"python[\d.]*t?")
_PRODUCTS = {
    "Open MPI": r"Open MPI v(\S+?),",
    "Intel MPI": r"Intel\(R\) MPI Library (\S+)",
    "MVAPICH": r"MVAPICH\S*\s+Version\s*:?\s*(\S+)",
    "Cray MPICH": r"CRAY MPICH version (\S+)",
    "MPICH": r"MPICH Version:\s*(\S+)",
}
_PROBE_S = 20
#: Levels above a library that can have its compiler: /opt/x/lib, /usr/lib/x86_64-linux-gnu/openmpi/lib.
_LEVELS = 5


@dataclass(frozen=True)
class MpiLibrary:
    interface: str  # OPEN_MPI, MPICH or STANDARD_ABI
    product: str
    version: str
    path: Path | None  # None where the loader does not find it now

    def __str__(self) -> str:
        return f"{self.product} {self.version}".strip()


def library_of(program: str) -> MpiLibrary | None:
    """The MPI that a program's file is linked with; of Python, the one that mpi4py loads there.

    None if there is none. Cost: starts ldd, or the Python; and where there is such a library a process
    that loads it.
    """
    python = _python_of(program)
    listed = (
        _output_of(["ldd", program]) if python is None else _output_of([*python, "-c", _PROBE_PYTHON])
    )
    for name, number, path in sorted(_LIBRARY.findall(listed), key=lambda one: "_abi" not in one[0]):
        place = Path(path) if path.startswith("/") else _beside(name, listed)
        if "_abi" in name:
            return MpiLibrary(STANDARD_ABI, *(_described(place)[1:] if place else ("MPI 5", "")), place)
        asked = _described(place) if place else None
        if asked and asked[0]:
            return MpiLibrary(*asked, place)
        # Open MPI counts from 20 on, since its version 2.
        major = int(number.strip(".").split(".")[0] or 0)
        is_open = name.startswith("libmpi.so") and major >= 20
        return MpiLibrary(*((OPEN_MPI, "Open MPI") if is_open else (MPICH, "MPICH")), "", place)
    return None


def _output_of(command: list[str]) -> str:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _python_of(program: str) -> list[str] | None:
    """The Python that a file is, or whose script it is; None for others."""
    if _PYTHON.fullmatch(Path(program).name):
        return [program]
    try:
        with Path(program).open("rb") as file:
            words = (
                file.readline(256).removeprefix(b"#!").decode().split()
                if file.peek(2)[:2] == b"#!"
                else []
            )
    except (OSError, UnicodeDecodeError):
        return None
    return words if any(_PYTHON.fullmatch(Path(word).name) for word in words[:2]) else None


def _beside(name: str, listed: str) -> Path | None:
    """What the loader does not find now, beside another library of its MPI, such as that for Fortran."""
    for other in re.findall(r"=> (/\S+/libmpi[^/\s]*)", listed):
        for folder in (Path(other).parent, Path(other).parent / "release"):
            if (folder / name).is_file():
                return folder / name
    return None


def _described(path: Path) -> tuple[str, str, str]:
    """Interface, product and version by the library itself; empty strings where it cannot be asked."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, str(path)],
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "", "", ""
    if done.returncode != 0:
        return "", "", ""
    interface, _, text = done.stdout.partition("\n")
    return interface, *product_in(text)


def product_in(text: str) -> tuple[str, str]:
    """Name and version in the answer of MPI_Get_library_version."""
    for product, pattern in _PRODUCTS.items():
        if found := re.search(pattern, text):
            return product, found.group(1)
    line = text.strip().splitlines()
    return (line[0][:60] if line else "an unknown MPI"), ""


# --- compilers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MpiCompiler:
    path: Path
    interface: str
    version: str
    header: str  # the path of its mpi.h, which is one for all its names
    environment: Mapping[str, str] = field(default_factory=dict, compare=False)  # what it needs


def interface_in(header: Path) -> str:
    """Whose mpi.h a file is; empty if it cannot be read. Ranks call it: it starts no process."""
    try:
        defined = set(re.findall(r"^#\s*define (\w+)", header.read_text(errors="replace"), re.MULTILINE))
    except OSError:
        return ""
    if "OPEN_MPI" in defined:
        return OPEN_MPI
    if defined & {"MPICH_VERSION", "I_MPI_VERSION"}:
        return MPICH
    return STANDARD_ABI if "MPI_ABI_VERSION" in defined else ""


def compiler_at(path: Path) -> MpiCompiler | None:
    """Whose mpi.h it compiles with; None if it cannot be asked."""
    command = [str(path), "-E", "-dD", "-include", "mpi.h", "-x", "c", "/dev/null"]
    needed = _environment_of(path)
    environment = {**os.environ, **needed}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PROBE_S, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    defined = dict(re.findall(r"^#define (\w+) (.*)$", done.stdout, re.MULTILINE))
    marked = re.search(r'^# \d+ "([^"\n]*mpi\.h)"', done.stdout, re.MULTILINE)
    header = str(Path(marked.group(1)).resolve()) if marked else str(path.resolve())
    if "OPEN_MPI" in defined:
        parts = (defined.get(f"OMPI_{part}_VERSION", "") for part in ("MAJOR", "MINOR", "RELEASE"))
        return MpiCompiler(path.absolute(), OPEN_MPI, ".".join(parts), header)
    if "MPI_ABI_VERSION" in defined:
        return MpiCompiler(path.absolute(), STANDARD_ABI, defined["MPI_ABI_VERSION"], header)
    version = defined.get("I_MPI_VERSION") or defined.get("MPICH_VERSION") or ""
    return MpiCompiler(path.absolute(), MPICH, version.strip('"'), header, needed)


def _environment_of(path: Path) -> dict[str, str]:
    """Intel's compilers need the prefix of their MPI, which its setvars.sh sets, and pip does not."""
    prefix = path.absolute().parents[1]
    is_intel = path.with_name("mpigcc").is_file() and (prefix / "include/mpi.h").is_file()
    return {"I_MPI_ROOT": str(prefix)} if is_intel else {}


def compiler_for(interface: str, library: MpiLibrary | None, launcher: str | None) -> MpiCompiler | None:
    """The compiler of an MPI: near its library, else beside its launcher, else on the path.

    One of another MPI is passed over.
    """
    for path in _candidates(interface, library, launcher):
        found = compiler_at(path) if path.is_file() else None
        if found is not None and found.interface == interface:
            return found
    return None


def _candidates(interface: str, library: MpiLibrary | None, launcher: str | None) -> list[Path]:
    names = ["mpicc_abi"] if interface == STANDARD_ABI else [f"mpicc.{interface}", "mpicc"]
    folders: list[Path] = []
    if library is not None and library.path is not None:
        folders += [parent / "bin" for parent in list(library.path.resolve().parents)[1 : 1 + _LEVELS]]
    if launcher is not None:
        started, own = Path(launcher), Path(launcher).resolve()
        suffix = started.suffix if started.suffix.strip(".").isalpha() else ""
        names = [*([f"mpicc{suffix}"] if suffix and interface != STANDARD_ABI else []), *names]
        folders += [started.parent, own.parent]
    found = [folder / name for folder in folders for name in names]
    return [*found, *(Path(path) for name in names if (path := shutil.which(name)))]
