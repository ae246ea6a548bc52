# SPDX-License-Identifier: Apache-2.0
"""The example notebook of the documents, executed anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]


def test_every_cell_of_the_example_runs() -> None:
    for module in ("nbclient", "ipykernel"):
        pytest.importorskip(module, reason=f"needs {module}: pip install {module}")
    done = subprocess.run(
        [sys.executable, str(PROJECT / "tools/make_notebook.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
