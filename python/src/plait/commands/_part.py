# SPDX-License-Identifier: Apache-2.0
"""The part of a run that a command takes: a window of a profile, as a run of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plait._errors import PlaitError
from plait.readers.plait import read_run
from plait.writers.plait import write_run


@contextmanager
def events_of(folder: Path, window: int | None) -> Iterator[Path]:
    """The folder itself, or one with the events of a window for as long as the context lasts.

    Raises PlaitError for a profile without a window, which has no events, and for a window that is not
    there.
    """
    if window is None:
        require_events(folder)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="plait-window-") as place:
        part = Path(place) / f"window-{window}"
        write_run(read_run(folder, window=window), part)
        yield part


def require_events(folder: Path) -> None:
    """Raises PlaitError for a profile."""
    if not is_profile(folder):
        return
    numbers = read_run(folder).windows["number"].unique().sort().to_list()
    which = (
        f"choose one of its windows with --window ({numbers[0]} to {numbers[-1]})"
        if numbers
        else "record without --profile, or with --profile --window LENGTH/PERIOD and choose one here"
    )
    raise PlaitError(f"{folder} is a profile: it has sums, and not the events that this needs; {which}")


def is_profile(folder: Path) -> bool:
    """As its meta.json has it."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    options = meta.get("options") if isinstance(meta, dict) else None
    return isinstance(options, dict) and options.get("profile") == "on"
