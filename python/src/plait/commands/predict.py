# SPDX-License-Identifier: Apache-2.0
"""`plait predict`: finds the platform's file and runs the program that predicts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from plait._build import find_program
from plait._errors import PlaitError, Status, status_of_program
from plait.commands._part import events_of


def predict(
    platform: str, words: Sequence[str], log: Path | None = None, window: int | None = None
) -> int:
    """The program's exit status; stderr has what was wrong. `log`: what was recorded; of a profile, this
    window. A run with tasks needs no platform. Raises PlaitError for a profile without a window."""
    file = ["--platform", str(platform_file(platform))] if platform or not may_have_tasks(log) else []
    with nullcontext() if log is None else events_of(log, window) as part:
        command = [str(find_program("plait-predict")), *file, *words]
        command += [] if part is None else [str(part)]
        return status_of_program(subprocess.run(command, check=False).returncode)


def may_have_tasks(log: Path | None) -> bool:
    """Whether plait's own runtime recorded, alone or beside calls of MPI: only that records tasks."""
    if log is None:
        return False
    try:
        meta = json.loads((log / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True  # plait-predict reports what is wrong
    if not isinstance(meta, dict):
        return False
    return meta.get("recorder", "plait") == "plait" or "workers" in (meta.get("options") or {})


def platform_file(name: str) -> Path:
    """A platform file by path, or one of the shipped ones by name."""
    shipped = {path.stem: path for path in sorted(_folder().glob("*.json"))}
    known = f"shipped are {', '.join(shipped)}; docs/how-to/predict.md explains the format of others"
    if not name:
        raise PlaitError(
            f"--platform is missing: the machine to predict for; {known}", status=Status.usage
        )
    path = Path(name)
    if path.exists():
        return path
    if name in shipped:
        return shipped[name]
    raise PlaitError(f"there is no platform {name}: {known}")


def _folder() -> Path:
    return Path(__file__).resolve().parent.parent / "platforms"
