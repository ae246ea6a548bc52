# SPDX-License-Identifier: Apache-2.0
"""Writes files so that no reader ever sees half of one: to a temporary name, then renamed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from plait._errors import PlaitError


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlaitError(
            f"{folder} cannot be made ({error.strerror}); choose another folder with --output"
        ) from error


def write_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """`write` fills the file; when it or the disk fails, what was at `path` before is still there."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise cannot_be_written(path, error) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name of a file to write in place of `path`, which it replaces at the end; when writing fails,
    nothing has changed. For writers that want a name; others use `write_file`.
    """
    make_folder(path.parent)
    with _scratch(path) as scratch:
        yield scratch / path.name
        (scratch / path.name).replace(path)


@contextmanager
def whole_folder(folder: Path, replaced: Iterable[Path] = ()) -> Iterator[Path]:
    """A folder to fill in place of `folder`. Its entries move there at the end, after what is `replaced`
    was removed; when filling fails, nothing has changed.
    """
    make_folder(folder.parent)
    with _scratch(folder) as scratch:
        yield scratch
        make_folder(folder)
        for path in replaced:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        for path in sorted(scratch.iterdir()):
            path.replace(folder / path.name)


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """A folder beside `path`, which is removed at the end."""
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
            yield Path(scratch)
    except OSError as error:
        raise cannot_be_written(path, error) from error
    except PlaitError as error:
        # Users know the name that they chose.
        text = str(error).replace(f"{scratch}/{path.name}", str(path)).replace(str(scratch), str(path))
        raise PlaitError(text, status=error.status) from error


def cannot_be_written(path: Path, error: OSError) -> PlaitError:
    why = error.strerror or str(error)
    return PlaitError(f"{path} cannot be written ({why}); is the disk full, or the folder read-only?")


def write_text(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write(text.encode("utf-8")))


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Its numbers must be finite; its folder is made when it is not there."""
    make_folder(path.parent)
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
