# SPDX-License-Identifier: Apache-2.0
"""Writes files so that no reader ever sees half of one: to a temporary name, then renamed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
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
        raise PlaitError(
            f"{path} cannot be written ({error.strerror}); is the disk full, or the folder read-only?"
        ) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write(text.encode("utf-8")))


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Its numbers must be finite; its folder is made when it is not there."""
    make_folder(path.parent)
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
