# SPDX-License-Identifier: Apache-2.0
"""The project's files, for what reads all of them: the rules of the project, and the site."""

from __future__ import annotations

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def project_files() -> list[str]:
    """What git tracks, or would if it were added."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(path for path in set(listed.stdout.split("\0")) if path and (ROOT / path).is_file())
