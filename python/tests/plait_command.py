# SPDX-License-Identifier: Apache-2.0
"""The command as a process, and programs for it to start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_plait(*arguments: object, cwd: Path | None = None, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", **environment},
        timeout=240,
        check=False,
    )


def assert_one_sentence(done: Any, words: str, status: int = 1) -> None:
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("plait: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def script(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
