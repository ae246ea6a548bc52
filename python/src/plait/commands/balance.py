# SPDX-License-Identifier: Apache-2.0
"""`plait balance`: finds the files, runs the program that balances, and draws what it found."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plait._build import find_program
from plait._errors import PlaitError, Status, status_of_program
from plait._files import write_file
from plait.plots import style
from plait.plots.loads import draw_loads

_STATISTICS = re.compile(r".+\.(\d+)\.json$")


def show_balancers() -> int:
    return subprocess.run([str(find_program("plait-balance")), "--list"], check=False).returncode


def balance(files: Sequence[Path], words: Sequence[str], picture: Path | None) -> int:
    """The program's exit status; stderr has what was wrong."""
    command = [str(find_program("plait-balance")), *map(str, statistics_files(files)), *words]
    if picture is None:
        return status_of_program(subprocess.run(command, check=False).returncode)
    with tempfile.TemporaryDirectory() as folder:
        told = words[words.index("--json") + 1] if "--json" in words else None
        results = Path(told) if told else Path(folder) / "results.json"
        if told is None:
            command += ["--json", str(results)]
        status = status_of_program(subprocess.run(command, check=False).returncode)
        if status == 0:
            draw(json.loads(results.read_text()), picture)
        return status


def draw(results: dict[str, Any], picture: Path) -> None:
    figure = draw_loads(results)
    write_file(picture, lambda file: style.save(figure, file))
    print(f"wrote {picture}")


def statistics_files(files: Sequence[Path]) -> list[Path]:
    """Folders represent the files NAME.RANK.json in them, which must be of one name."""
    if not files:
        raise PlaitError(
            "no FILE is given: load statistics, one file a rank, as RebalanceOptions::statistics of "
            "plait or --vt_lb_data of vt write them",
            status=Status.usage,
        )
    found: list[Path] = []
    for file in files:
        found += _in_folder(file) if file.is_dir() else [file]
    return found


def _in_folder(folder: Path) -> list[Path]:
    inside = [file for file in sorted(folder.iterdir()) if _STATISTICS.fullmatch(file.name)]
    names = sorted({file.name.rsplit(".", 2)[0] for file in inside})
    if not names:
        raise PlaitError(f"{folder} has no files of load statistics, which are called NAME.RANK.json")
    if len(names) > 1:
        raise PlaitError(
            f"{folder} has statistics of several runs ({', '.join(names[:5])}): "
            f"name the files, as in {folder}/{names[0]}.*.json"
        )
    return inside
