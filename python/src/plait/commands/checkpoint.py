# SPDX-License-Identifier: Apache-2.0
"""`plait checkpoint`: prints what checkpoints hold."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from plait._errors import PlaitError
from plait.readers.checkpoints import Checkpoint, Collection, read_checkpoint


def show_checkpoints(paths: list[Path]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    refused = 0
    for path in _files(paths):
        try:
            console.print(escape(describe(read_checkpoint(path))))
        except PlaitError as error:
            refused += 1
            console.print(f"[red]{escape(str(error))}[/]")
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
