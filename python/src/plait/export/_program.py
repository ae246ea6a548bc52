# SPDX-License-Identifier: Apache-2.0
"""The program plait-export, which writes long runs as Perfetto traces and OTF2 archives: rank by rank,
at millions of events a second. Short ones are written in Python, which needs no compiler.
"""

from __future__ import annotations

import ctypes.util
import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from plait._build import built_program, find_program
from plait._errors import PlaitError
from plait._files import write_json
from plait.readers._calls import read_sites
from plait.readers.plait import require_run

PROGRAM = "plait-export"
#: Of the ranks' files. Below the first, Python takes a few seconds; from the second on, a minute.
_SHORT_BYTES = 16 << 20
_LONG_BYTES = 256 << 20


class ProgramMissingError(PlaitError):
    """The program can neither be found nor built; the text has the reason."""


#: Called with the rank that is written, and the number of ranks.
Progress = Callable[[int, int], None]


def program_for(folder: Path) -> Path | None:
    """The program, where it is worth it for this run. Builds it for a long run. None: Python writes it.

    Raises ProgramMissingError for a long run where the program can neither be found nor built.
    """
    paths = require_run(folder)
    size = sum(path.stat().st_size for path in paths)
    if size < _SHORT_BYTES or _is_accelerated(folder):
        return None
    if size < _LONG_BYTES:
        return built_program(PROGRAM)
    try:
        return find_program(PROGRAM)
    except PlaitError as error:
        raise ProgramMissingError(str(error)) from error


def _is_accelerated(folder: Path) -> bool:
    """Whether plait's engine recorded, too: Python joins its messages with those of the calls."""
    try:
        meta = json.loads((folder / "meta.json").read_text())
        of_engine = meta["options"].get("accelerate") == "on"
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        of_engine = False
    return of_engine or (folder / "engine").is_dir()


def otf2_library() -> str | None:
    """OTF2's C library: that of the Python package otf2, else that of the system, else None."""
    package = find_spec("_otf2")
    for folder in package.submodule_search_locations or () if package else ():
        for suffix in EXTENSION_SUFFIXES:
            if (found := Path(folder) / f"_otf2{suffix}").is_file():
                return str(found)
    return ctypes.util.find_library("otf2") or ctypes.util.find_library("open-trace-format2")


def perfetto_by_program(program: Path, folder: Path, file: Path, progress: Progress) -> list[str]:
    """Writes the run as a Perfetto trace. Returns what the program noticed. Raises PlaitError."""
    with tempfile.TemporaryDirectory(prefix="plait-export-") as scratch:
        labels = Path(scratch) / "labels.json"
        write_json(labels, _texts(folder / "sites.json"))
        command = [str(program), str(folder), "--perfetto", str(file), "--labels", str(labels)]
        return _run(command, progress)


def otf2_by_program(program: Path, folder: Path, output: Path, progress: Progress) -> list[str]:
    """Writes the run as an OTF2 archive into a folder that has none. As above."""
    library = otf2_library()
    if library is None:
        raise PlaitError(
            "OTF2 is written with its C library, which is not here: pip install otf2, or apt-get "
            "install libotf2-trace-dev"
        )
    with tempfile.TemporaryDirectory(prefix="plait-export-") as scratch:
        labels = Path(scratch) / "labels.json"
        write_json(labels, _texts(folder / "sites.json"))
        command = [str(program), str(folder), "--otf2", str(output), "--otf2-library", library]
        return _run([*command, "--labels", str(labels)], progress)


def _texts(sites: Path) -> dict[str, dict[str, str | int | list[str]]]:
    """Of each place: its label, the functions of its call path, and its file and line where known."""
    try:
        places = json.loads(sites.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = read_sites(sites, tuple(places), []) if isinstance(places, dict) else ()
    texts: dict[str, dict[str, str | int | list[str]]] = {}
    for site in found:
        text = texts[site.place] = {
            "label": str(site),
            "path": [one.function_name for one in site.path],
        }
        if site.file is not None:
            text |= {"file": site.file, "line": site.line or 0}
    return texts


def _run(command: list[str], progress: Progress) -> list[str]:
    count = 0
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.fullmatch(r"rank (\d+) of (\d+): (\d+)\n", line):
                rank, ranks, count = (int(number) for number in found.groups())
                progress(rank, ranks)
        status = process.wait()
        told, other = _lines(errors)
    if status != 0:
        why = f" ({other[0].rpartition('error: ')[2]})" if other else ""
        raise PlaitError("\n".join(told) or f"{PROGRAM} ended with status {status}{why}")
    if count == 0:
        raise PlaitError(f"{command[1]} holds no events: there is nothing to export")
    return told


def _lines(file: IO[str]) -> tuple[list[str], list[str]]:
    """The program's own, and those of OTF2, which may end the process when the disk is full."""
    file.seek(0)
    lines = file.read().splitlines()
    own = f"{PROGRAM}: "
    told = [line.removeprefix(own) for line in lines if line.startswith(own)]
    return told, [line for line in lines if not line.startswith(own)]
