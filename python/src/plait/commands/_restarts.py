# SPDX-License-Identifier: Apache-2.0
"""Which failed runs `plait run --restart` starts again, on how many ranks, and what it keeps of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from plait._errors import PlaitError, Status

#: Folders of earlier attempts, in that of the run: attempt-1, attempt-2, ...
FOLDERS = "attempt-*"
#: A program that ends so would end so again.
_FINAL = (Status.usage, Status.not_executable, Status.not_found)


@dataclass(frozen=True)
class Restarts:
    most: int = 0
    fewer_ranks: bool = False

    def require_consistent(self) -> None:
        if self.fewer_ranks and self.most == 0:
            raise PlaitError("--fewer-ranks is of restarts; give --restart, too", status=Status.usage)

    def ranks(self, before: int) -> int:
        """Of the next attempt."""
        return max(1, before - 1) if self.fewer_ranks else before

    def follow(self, restarts: int, exit_status: int, was_stopped: bool) -> bool:
        """Whether another attempt follows one that failed, of which `restarts` came before."""
        return restarts < self.most and not was_stopped and exit_status not in _FINAL


def keep_attempt(folder: Path, number: int, own_files: Sequence[str]) -> None:
    """Moves the trace of a failed attempt out of the way of the next, to RUN/attempt-N. Results stay."""
    kept = folder / f"attempt-{number}"
    try:
        for pattern in own_files:
            for old in sorted(folder.glob(pattern)):
                new = kept / old.relative_to(folder)
                new.parent.mkdir(parents=True, exist_ok=True)
                old.replace(new)
    except OSError as error:
        raise PlaitError(
            f"the trace of a failed run cannot be moved to {kept} ({error.strerror})"
        ) from error


def remove_attempts(folder: Path, own_files: Sequence[str]) -> None:
    """Removes the kept traces of an earlier run, and the folders that are empty then."""
    for kept in folder.glob(FOLDERS):
        for pattern in own_files:
            for old in kept.glob(pattern):
                old.unlink()
        for place in (kept / "engine", kept):
            with suppress(OSError):
                place.rmdir()
