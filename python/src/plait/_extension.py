# SPDX-License-Identifier: Apache-2.0
"""Finds and loads the extension module plait_runtime: for this Python, and for the MPI that mpi4py has
loaded.

Nothing is built here: ranks of a job must not compile. `plait build python` does that.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

from plait import _mpi, _sources
from plait._errors import PlaitError

MODULE = "plait_runtime"
FILE = f"lib/{MODULE}{EXTENSION_SUFFIXES[0]}"
#: In a process of its own: MPI is loaded, not initialised, and the folders of its library have its
#: compiler.
_PROBE = """
import json, mpi4py, re
mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI
with open("/proc/self/maps") as maps:
    paths = re.findall(r"(/\\S+/libmpi\\w*\\.so[.\\d]*)$", maps.read(), re.MULTILINE)
print(json.dumps([MPI.Get_library_version(), paths[0] if paths else None]))
"""
#: What needs a library, by name: the package, the library, and its package in Debian.
PARTS = {
    "Transforms": ("plait.fft", "FFTW", "libfftw3-dev"),
    **dict.fromkeys(
        (
            *("gravity", "neighbours", "moments", "groups", "density_profile"),
            *("ParticleStore", "ParticleSystem"),
        ),
        ("plait.particles", "Highway", "libhwy-dev"),
    ),
}


@cache
def load() -> Any:
    """The module. Raises ImportError that names what to install or to build."""
    mpi = _mpi4py().MPI
    library = str(mpi.Get_library_version())
    product, version = _mpi.product_in(library)
    path = _find(_interface(product), version)
    if path is None:
        raise ImportError(
            f"plait's extension for {product} {version} and Python {sys.version_info[0]}."
            f"{sys.version_info[1]} is not built: run once, before the job: {_command()}"
        )
    module = _load(path)
    if (own := str(module.mpi_library()).rstrip("\0")) != library.rstrip("\0"):
        raise ImportError(
            f"{path} uses another MPI ({own.splitlines()[0][:60]}) than mpi4py ({product} {version}): "
            f"run {_command()}"
        )
    if module.version != _sources.version():
        raise ImportError(
            f"{path} is of plait {module.version}, this package is {_sources.version()}: run "
            f"{_command()}"
        )
    return module


def part(name: str) -> Any:
    """What the extension has only where a library was there when it was built. Raises ImportError."""
    module = load()
    if not hasattr(module, name):
        of, library, package = PARTS[name]
        raise ImportError(
            f"{of} is not in {module.__file__}, as {library} was missing when that was built: "
            f"apt-get install {package}, or load its module; delete that file, and run {_command()}"
        )
    return getattr(module, name)


def _command() -> str:
    return f"{Path(sys.executable).name} -m plait build python"


def _mpi4py() -> ModuleType:
    try:
        import_module("mpi4py.MPI")
        return import_module("mpi4py")
    except ImportError as error:
        raise ImportError(
            f"plait.Runtime needs mpi4py: pip install mpi4py, or load its module ({error})"
        ) from error


def _interface(product: str) -> str:
    return _mpi.OPEN_MPI if product == "Open MPI" else _mpi.MPICH


def _find(interface: str, version: str) -> Path | None:
    """In the build folder, if that is for this MPI; else in the cache folder, this version of MPI
    first.
    """
    build = import_module("plait._build")
    built: Path = build.build_folder() / FILE
    if built.is_file() and build.mpi_of(build.build_folder()) == interface:
        return built.resolve()
    sources = _sources.PACKAGED if _sources.PACKAGED.is_dir() else _sources.checkout()
    if sources is None:
        return None
    found = list(_sources.cache_folder(sources).glob(f"{interface}-*/{FILE}"))
    start = f"{interface}-{version}-"
    return max(
        found,
        key=lambda path: (path.parents[1].name.startswith(start), path.stat().st_mtime),
        default=None,
    )


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no extension module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mpi_of_mpi4py() -> _mpi.MpiLibrary:
    """Which MPI mpi4py uses here, for the build. Raises PlaitError. Cost: starts a process."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0:
        reason = next(reversed(done.stderr.strip().splitlines()), "")
        raise PlaitError(
            f"mpi4py cannot be imported by {sys.executable} ({reason}): pip install mpi4py, or load its "
            "module; plait.Runtime uses the MPI of mpi4py"
        )
    text, path = json.loads(done.stdout.splitlines()[-1])
    product, version = _mpi.product_in(text)
    return _mpi.MpiLibrary(_interface(product), product, version, Path(path) if path else None)
