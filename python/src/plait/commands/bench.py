# SPDX-License-Identifier: Apache-2.0
"""`plait bench`: finds the built benchmarks and runs one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from plait import _launcher as launcher
from plait._build import build_folder
from plait._errors import PlaitError
from plait._files import make_folder, write_text

_PREFIX = "bench_"
#: The object of design.md, section Measuring.
JSON_KEYS = ("bench", "commit", "machine", "command", "seconds", "results")


def _benches() -> dict[str, Path]:
    folder = build_folder() / "bench"
    found = sorted(folder.glob(f"{_PREFIX}*")) if folder.is_dir() else []
    return {
        path.name.removeprefix(_PREFIX): path
        for path in found
        if path.is_file() and os.access(path, os.X_OK)
    }


def list_benches() -> None:
    benches = _benches()
    if not benches:
        raise PlaitError(
            f"no benchmarks in {build_folder() / 'bench'}; build them with: cmake --preset release && "
            "cmake --build --preset release"
        )
    console = Console(highlight=False)
    width = max(map(len, benches))
    for name, path in benches.items():
        claim = str(_describe(path).get("claim", ""))
        console.print(f"  {name:<{width}}  {escape(claim)}", soft_wrap=True)
    console.print("run one with: plait bench NAME [--json FILE]")


def _describe(path: Path) -> dict[str, Any]:
    """What the benchmark says of itself: its claim, and how many ranks it wants."""
    try:
        done = subprocess.run(
            [path, "--describe"], capture_output=True, text=True, timeout=20, check=False
        )
        told = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return told if isinstance(told, dict) else {}


def run_bench(
    name: str, arguments: tuple[str, ...], *, json_file: Path | None, ranks: int | None
) -> int:
    benches = _benches()
    if name not in benches:
        known = f"known are {', '.join(benches)}" if benches else "none are built"
        raise PlaitError(f"there is no benchmark {name} in {build_folder() / 'bench'}; {known}")
    command = [str(benches[name]), *arguments]
    environment: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="plait-bench-") as scratch:
        result = Path(scratch) / "result.json"
        if json_file is not None:
            command += ["--json", str(result)]
        if ranks is None:
            wanted = _describe(benches[name]).get("ranks")
            ranks = wanted if isinstance(wanted, int) and wanted > 1 else None
        if ranks is not None:
            place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
            found = launcher.find_launcher(None)
            command, environment = launcher.launch_command(found, place, command)
        status = subprocess.run(command, env={**os.environ, **environment}, check=False).returncode
        if status != 0:
            raise PlaitError(
                f"the benchmark {name} failed with exit status {status}; its own message stands above",
                status=status if 0 < status < 256 else 1,
            )
        if json_file is not None:
            make_folder(json_file.parent)
            write_text(json_file, json.dumps(_checked(name, result), indent=2) + "\n")
    return 0


def _checked(name: str, path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlaitError(f"the benchmark {name} wrote no readable JSON ({error})") from error
    missing = [key for key in JSON_KEYS if not isinstance(result, dict) or key not in result]
    if missing:
        raise PlaitError(f"the JSON of the benchmark {name} lacks {', '.join(missing)}")
    return dict(result)
