# SPDX-License-Identifier: Apache-2.0
"""The file of a strategy: what was measured on a machine, and what was better than the defaults there.

docs/reference/formats.md describes it; src/plait/runtime/strategy.cpp reads it when a program starts.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plait._build import find_program
from plait._errors import PlaitError
from plait._files import make_folder, write_text

FORMAT, VERSION = "plait-strategy", 1
PROGRAM = "plait-measure"


@dataclass(frozen=True)
class Row:
    """How much time a setting takes, compared with the default: -0.1 is 10 % less."""

    choice: str  # packet_bytes, packing, progress or copiers
    driver: str  # shm, mpi or between_hosts
    setting: str
    change: float  # the median over rounds
    low: float  # its quartiles
    high: float
    best: str  # the case that gains most, and the one that gains least, with their changes
    worst: str


@dataclass(frozen=True)
class Strategy:
    system: dict[str, Any]
    measured: str  # ISO 8601, UTC
    choices: dict[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()


def describe_system() -> tuple[dict[str, Any], Path]:
    """What a strategy is valid for, and the file in which programs find it. Raises PlaitError."""
    program = find_program(PROGRAM)
    try:
        done = subprocess.run(
            [str(program), "--describe"], capture_output=True, text=True, timeout=60, check=True
        )
        described = json.loads(done.stdout)
        return dict(described["system"]), Path(described["file"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise PlaitError(
            f"{program} --describe failed ({error}); is its MPI library installed?"
        ) from error


def read_strategy(path: Path, system: dict[str, Any]) -> Strategy | None:
    """None when there is no file. Raises PlaitError when it cannot be used for this system."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise PlaitError(f"{path} is no {FORMAT} of version {VERSION}; measure again")
        rows = tuple(Row(**row) for row in content.get("rows", ()))
        found = Strategy(content["system"], content["measured"], dict(content["choices"]), rows)
        datetime.fromisoformat(found.measured)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlaitError(f"{path} is damaged or cannot be read; measure again") from error
    if found.system != system:
        raise PlaitError(f"{path} was measured on another system; measure again")
    return found


def write_strategy(path: Path, strategy: Strategy) -> None:
    make_folder(path.parent)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "measured": strategy.measured,
        "system": strategy.system,
        "choices": strategy.choices,
        "rows": [asdict(row) for row in strategy.rows],
    }
    write_text(path, json.dumps(content, indent=1) + "\n")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def age_in_words(measured: str) -> str:
    days = (datetime.now(UTC) - datetime.fromisoformat(measured)).days
    return "today" if days < 1 else "yesterday" if days == 1 else f"{days} days ago"


def in_words(choices: dict[str, Any]) -> str:
    """What is not as by default."""
    return (
        ", ".join(f"{name} {value}" for name, value in choices.items())
        or "the defaults, as nothing was better"
    )
