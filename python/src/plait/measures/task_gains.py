# SPDX-License-Identifier: Apache-2.0
"""What it would gain to make a kind of task, or the network, twice as fast.

Computed by plait-predict, which schedules the run's tasks anew; so it needs that program, and the run's
folder.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from plait._build import built_program

#: Of longer runs, steps from the middle with so many tasks: a report must not take minutes.
TASKS_MAX = 200_000
_SECONDS_MAX = 60


@dataclass(frozen=True)
class Gains:
    sentence: str
    gains: tuple[tuple[str, float], ...]  # what, and the part of the time that it saves; largest first


def task_gains(folder: Path, step: int | None = None) -> Gains | None:
    """None where the program is not built, or the run cannot be scheduled."""
    program = built_program("plait-predict")
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="plait-gains-") as scratch:
        results = Path(scratch) / "gains.json"
        words = ["--tasks-max", str(TASKS_MAX), "--json", str(results)]
        words += [] if step is None else ["--step", str(step)]
        try:
            done = subprocess.run(
                [str(program), *words, str(folder)],
                capture_output=True,
                check=False,
                timeout=_SECONDS_MAX,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode != 0 or not results.exists():
            return None
        found = json.loads(results.read_text(encoding="utf-8"))
    if found.get("of") != "tasks":
        return None
    gains = tuple((str(gain["what"]), float(gain["gain"])) for gain in found.get("gains", []))
    return Gains(str(found.get("advice", "")), gains)
