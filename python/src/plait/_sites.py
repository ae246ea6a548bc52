# SPDX-License-Identifier: Apache-2.0
"""Names, files and lines of the places in a program that a recording has as addresses."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plait._elf import Code, read_code

#: Names of places are cut at the left to this many bytes (docs/reference/trace-format.md).
_SITE_BYTES = 56
_RESOLVE_S = 120

#: function, file, line, caller, start: see `resolve_sites`.
Told = dict[str, str | int | None]


@dataclass(frozen=True)
class _Line:
    """A line of sites-NNNN.tsv."""

    module: str
    offset: str  # of a line of Python, in the file `module`: a colon and the line
    symbol: str
    name: str
    caller: str | None

    @property
    def is_python(self) -> bool:
        return self.offset.startswith(":")

    def of_python(self) -> Told:
        number = int(self.offset[1:]) if self.offset[1:].isdigit() else None
        return {"function": self.symbol or None, "file": self.module or None, "line": number}


def resolve_sites(folder: Path) -> dict[str, Told]:
    """Of the name of each place in a run: function, file and line, as far as they can be found out.

    `caller`, of a call path: the name of its caller. `start`, of a function without a name:
    where it starts.
    Lines need debug information in the program (-g); functions a symbol that has the place
    within its size.
    A file that is not the one that ran, by its build id, is not asked: then there are the
    symbols that the loader knew.
    """
    lines = [line for path in sorted(folder.glob("sites-*.tsv")) for line in _read_lines(path)]
    ids = _build_ids(folder)
    by_module: dict[str, dict[str, str]] = {}
    for line in lines:
        if not line.is_python:
            by_module.setdefault(line.module, {})[line.offset] = line.symbol
    places = {
        (module, offset): told
        for module, symbols in by_module.items()
        for offset, told in _resolve(module, symbols, ids.get(module, "")).items()
    }
    sites: dict[str, Told] = {}
    for line in lines:
        told = line.of_python() if line.is_python else places[line.module, line.offset]
        sites[line.name] = {**told, **({"caller": line.caller} if line.caller is not None else {})}
    return sites


def _read_lines(path: Path) -> list[_Line]:
    """Older recordings have no names and callers in their lines, which follow from the rest."""
    names: dict[str, str] = {}
    lines = []
    for text in path.read_text(errors="replace").splitlines():
        words = text.split("\t")
        if len(words) not in (4, 6) or not words[2].startswith(("0x", ":")):
            continue
        number, module, offset, symbol = words[:4]
        plain = f"{Path(module).name}+{offset}".encode()[-_SITE_BYTES:].decode(errors="replace")
        name, caller = (words[4], words[5]) if len(words) == 6 else (plain, "")
        names[number] = name
        lines.append(_Line(module, offset, symbol, name, names.get(caller)))
    return lines


def _build_ids(folder: Path) -> dict[str, str]:
    ids = {}
    for path in sorted(folder.glob("modules-*.tsv")):
        for line in path.read_text(errors="replace").splitlines():
            words = line.split("\t")
            if len(words) == 3:
                ids[words[0]] = words[2]
    return ids


def _resolve(module: str, symbols: dict[str, str], build_id: str) -> dict[str, Told]:
    """Of each offset in a module."""
    code = read_code(Path(module))
    is_same = not build_id or not code.build_id or code.build_id == build_id
    if not is_same:
        code = Code()
    lines = _lines_of(module, list(symbols)) if is_same else {}
    functions = []
    for offset, symbol in symbols.items():
        function, file, _ = lines.get(offset, ("", None, None))
        # Without a line, the tool names the nearest symbol, however far away.
        functions.append((function if file else "") or code.function_at(_number(offset)) or symbol)
    told: dict[str, Told] = {}
    for offset, function in zip(symbols, _demangled(functions), strict=True):
        _, file, number = lines.get(offset, ("", None, None))
        told[offset] = {"function": function or None, "file": file, "line": number}
        start = code.start_of(_number(offset))
        if not function and start is not None:
            told[offset]["start"] = f"{Path(module).name}+0x{start:x}"
    return told


def _number(offset: str) -> int:
    try:
        return int(offset, 16)
    except ValueError:
        return -1


def _lines_of(module: str, offsets: list[str]) -> dict[str, tuple[str, str | None, int | None]]:
    """Of each offset: the function's symbol or "", the file, the line."""
    found: dict[str, tuple[str, str | None, int | None]] = dict.fromkeys(offsets, ("", None, None))
    told = _filtered(["addr2line", "-f", "-e", module], offsets)
    for offset, function, place in zip(offsets, told[::2], told[1::2], strict=False):
        file, _, number = place.partition(" (")[0].rpartition(":")
        found[offset] = (
            "" if function == "??" else function,
            None if file in ("", "??") else file,
            int(number) if number.isdigit() and number != "0" else None,
        )
    return found


def _demangled(names: Sequence[str]) -> list[str]:
    told = _filtered(["c++filt"], names)
    return told if len(told) == len(names) else list(names)


def _filtered(command: list[str], lines: Iterable[str]) -> list[str]:
    """What a program makes of lines; nothing when there is no such program, or it fails."""
    try:
        done = subprocess.run(
            command,
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=_RESOLVE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
