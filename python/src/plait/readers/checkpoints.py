# SPDX-License-Identifier: Apache-2.0
"""Checkpoint files (docs/how-to/checkpoints.md), with all that they promise checked."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from plait._errors import PlaitError

FORMAT = "plait checkpoint"
VERSION = 1
#: Of elements that are read at once.
_PIECE_BYTES = 64 << 20


@dataclass(frozen=True)
class Collection:
    name: str
    type: str
    shape: tuple[int, ...]
    elements: int
    bytes: int
    elements_of_rank: tuple[int, ...]


@dataclass(frozen=True)
class Checkpoint:
    path: Path
    program: str
    step: int
    values: dict[str, int | float | str | bytes]
    collections: tuple[Collection, ...]


def read_checkpoint(path: Path) -> Checkpoint:
    """Reads all but the elements, and checks those. Raises PlaitError for what is not whole."""
    try:
        with h5py.File(path, "r") as file:
            return _read(path, file)
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        raise PlaitError(f"{path}: is no HDF5 file, or is cut short or damaged: {error}") from error


def _read(path: Path, file: Any) -> Checkpoint:
    if _text(file.attrs.get("format", "")) != FORMAT:
        raise PlaitError(f"{path}: is an HDF5 file, but no checkpoint of plait's")
    version = int(file.attrs["format_version"])
    if version != VERSION:
        raise PlaitError(
            f"{path}: is a checkpoint of format version {version}, and this plait reads {VERSION}"
        )
    if "complete" not in file.attrs:
        raise PlaitError(f"{path}: was never completed: its writing was interrupted")
    return Checkpoint(
        path,
        _text(file.attrs["program"]),
        int(file.attrs["step"]),
        {key: _value(data) for key, data in file["values"].items()},
        tuple(_collection(path, name, group) for name, group in file["collections"].items()),
    )


def _collection(path: Path, name: str, group: Any) -> Collection:
    ids, offsets = group["id"][:], group["offset"][:]
    first = group["rank_first"][:]
    total = int(group["bytes"].shape[0])
    is_whole = (
        offsets.shape[0] == ids.shape[0] + 1
        and group["checksum"].shape == ids.shape
        and int(offsets[0]) == 0
        and int(offsets[-1]) == total
        and bool((np.diff(offsets.astype(np.int64)) >= 0).all())
        and first.shape[0] >= 2
        and int(first[-1]) == ids.shape[0]
    )
    if not is_whole:
        raise PlaitError(f"{path}: the tables of collection '{name}' do not fit together")
    expected = group["checksum"][:]
    for place, packed in enumerate(_elements(group["bytes"], offsets)):
        key = int(ids[place]).to_bytes(8, "little")
        if zlib.crc32(packed, zlib.crc32(key)) != int(expected[place]):
            raise PlaitError(
                f"{path}: element {int(ids[place])} of collection '{name}' is damaged: its bytes do "
                "not have their checksum"
            )
    return Collection(
        name,
        _text(group.attrs["type"]),
        tuple(int(extent) for extent in np.ravel(group.attrs["shape"])),
        int(ids.shape[0]),
        total,
        tuple(int(count) for count in np.diff(first.astype(np.int64))),
    )


def _elements(data: Any, offsets: Any) -> Iterator[bytes]:
    """The bytes of each, read many at a time."""
    count, first = offsets.shape[0] - 1, 0
    while first < count:
        limit = int(offsets[first]) + _PIECE_BYTES
        end = max(first + 1, int(np.searchsorted(offsets, limit, side="right")) - 1)
        begin = int(offsets[first])
        piece = data[begin : int(offsets[end])].tobytes()
        for place in range(first, end):
            yield piece[int(offsets[place]) - begin : int(offsets[place + 1]) - begin]
        first = end


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _value(data: Any) -> int | float | str | bytes:
    value = data[()]
    if data.shape:
        return bytes(value.tobytes())
    if isinstance(value, bytes):
        return value.decode()
    return float(value) if data.dtype.kind == "f" else int(value)
