# SPDX-License-Identifier: Apache-2.0
"""Text tables of numbers between blanks, with `#` lines beside; reports which line is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from plait._errors import PlaitError

#: Lines held as text at a time: a report of a long step has millions.
_LINES = 50_000
_SHOWN_MAX = 60

Ints = npt.NDArray[np.int64]


@dataclass
class TextTable:
    """The columns of one file: those named `words` as text, the others as int64."""

    path: Path
    columns: dict[str, Ints] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    line: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # number in the file, from 1
    comments: list[str] = field(default_factory=list)
    #: What is in a last line that was cut off, and was left out.
    cut_off: str | None = None

    @property
    def height(self) -> int:
        return int(self.line.size)


def read_columns(
    path: Path, names: Sequence[str], words: frozenset[str], optional: int = 0
) -> TextTable:
    """Reads a table whose last `optional` columns may be missing, in all lines alike; those are then 0.

    A last line without its end is left out, as its last number may be cut. Any other line that does not
    fit raises PlaitError with its number. Cost: about 6 µs a line.
    """
    table = TextTable(path)
    parts: list[_Part] = []
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            _read_parts(file, table, _Shape(names, words, optional), parts)
    except OSError as error:
        raise PlaitError(f"{path} cannot be read ({error.strerror})") from error
    for name in names:
        if name in words:
            table.texts[name] = [word for part in parts for word in part.texts[name]]
        else:
            found = [part.columns[name] for part in parts]
            table.columns[name] = np.concatenate(found) if found else np.zeros(0, np.int64)
    lines = [part.line for part in parts]
    table.line = np.concatenate(lines) if lines else np.zeros(0, np.int64)
    return table


@dataclass(frozen=True)
class _Shape:
    names: Sequence[str]
    words: frozenset[str]
    optional: int


@dataclass(frozen=True)
class _Part:
    columns: dict[str, Ints]
    texts: dict[str, list[str]]
    line: Ints


def _read_parts(file: IO[str], table: TextTable, shape: _Shape, parts: list[_Part]) -> None:
    width = 0
    first = 1
    while lines := list(islice(file, _LINES)):
        rows, numbers = [], []
        for number, line in enumerate(lines, first):
            words = line.split()
            if not words:
                continue
            if words[0].startswith("#"):
                table.comments.append(line.strip())
                continue
            if not line.endswith("\n"):
                table.cut_off = line
                break
            width = width or _width(words, shape)
            if len(words) != width:
                wanted = f"{width} belong ({' '.join(shape.names[:width])})"
                raise _wrong(table.path, number, line, f"has {len(words)} columns where {wanted}")
            rows.append(words)
            numbers.append(number)
        if rows:
            parts.append(_convert(table.path, rows, numbers, shape))
        first += len(lines)


def _width(words: list[str], shape: _Shape) -> int:
    """Of the whole file, from its first row; one that does not fit is found out by its own check."""
    least = len(shape.names) - shape.optional
    return len(words) if least <= len(words) <= len(shape.names) else least


def _convert(path: Path, rows: list[list[str]], numbers: list[int], shape: _Shape) -> _Part:
    columns: dict[str, Ints] = {}
    texts: dict[str, list[str]] = {}
    by_column = list(zip(*rows, strict=True))
    for at, (name, words) in enumerate(zip(shape.names, by_column, strict=False)):
        if name in shape.words:
            texts[name] = list(words)
            continue
        try:
            columns[name] = np.array(words, dtype=np.int64)
        except (ValueError, OverflowError):
            raise _first_wrong_number(path, rows, numbers, name, at) from None
    for name in shape.names[len(by_column) :]:
        columns[name] = np.zeros(len(rows), np.int64)
    return _Part(columns, texts, np.array(numbers, dtype=np.int64))


def _first_wrong_number(
    path: Path, rows: list[list[str]], numbers: list[int], name: str, column: int
) -> PlaitError:
    for row, number in zip(rows, numbers, strict=True):
        try:
            np.int64(int(row[column]))
        except (ValueError, OverflowError):
            return _wrong(path, number, " ".join(row), f"its {name} {row[column]!r} is no whole number")
    return PlaitError(f"{path}: column {name} holds something that is no whole number")


def _wrong(path: Path, number: int, line: str, what: str) -> PlaitError:
    text = line.strip()
    shown = text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
    return PlaitError(f"{path}: line {number}: {what}: {shown!r}; is it the file that it seems to be?")
