# SPDX-License-Identifier: Apache-2.0
"""`plait checkpoint`: prints what checkpoints hold."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from plait._errors import PlaitError
from plait._files import write_json
from plait.readers.checkpoints import Checkpoint, Collection, read_checkpoint


def show_checkpoints(paths: list[Path], results: Path | None = None) -> None:
    """`results`: also write what is printed there, as JSON. Raises PlaitError, after that, when one of
    the files cannot be used."""
    console = Console(highlight=False, soft_wrap=True)
    refused = 0
    found: list[dict[str, Any]] = []
    for path in _files(paths):
        try:
            checkpoint = read_checkpoint(path)
            console.print(escape(describe(checkpoint)))
            found.append(_entry(checkpoint))
        except PlaitError as error:
            refused += 1
            console.print(f"[red]{escape(str(error))}[/]")
            found.append({"path": str(path), "is_whole": False, "error": str(error)})
    if results is not None:
        write_json(results, {"checkpoints": found})
    if refused:
        raise PlaitError(f"{refused} of the files cannot be used")


def describe(checkpoint: Checkpoint) -> str:
    lines = [f"{checkpoint.path}: step {checkpoint.step} of program '{checkpoint.program}', whole"]
    for key, value in sorted(checkpoint.values.items()):
        text = f"{len(value)} bytes" if isinstance(value, bytes) else repr(value)
        lines.append(f"  value {key}: {text}")
    lines.extend(f"  {_describe(collection)}" for collection in checkpoint.collections)
    return "\n".join(lines)


def _describe(collection: Collection) -> str:
    shape = " x ".join(map(str, collection.shape)) or "irregular"
    counts = collection.elements_of_rank
    spread = f"{min(counts)} to {max(counts)} on each of {len(counts)} ranks"
    return (
        f"collection {collection.name} ({shape}): {collection.elements} elements of type "
        f"{collection.type}, {collection.bytes} bytes; {spread}"
    )


def _entry(checkpoint: Checkpoint) -> dict[str, Any]:
    """docs/reference/command-line.md describes it."""
    values = {
        key: {"size_bytes": len(value)} if isinstance(value, bytes) else _finite(value)
        for key, value in sorted(checkpoint.values.items())
    }
    return {
        "path": str(checkpoint.path),
        "is_whole": True,
        "program": checkpoint.program,
        "step": checkpoint.step,
        "values": values,
        "collections": [asdict(collection) for collection in checkpoint.collections],
    }


def _finite(value: float | str) -> float | str:
    """JSON has no infinity: such a number becomes a text."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files.extend(sorted(path.glob("*.h5")))
        elif path.exists():
            files.append(path)
        else:
            raise PlaitError(f"{path} does not exist; give checkpoint files or a folder of them")
    if not files:
        raise PlaitError("there are no files named *.h5 in the folder: no checkpoint was written")
    return files
