# SPDX-License-Identifier: Apache-2.0
"""Reading runs where there is no Linux: neither its modules nor its functions exist there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import importlib, os, pathlib, signal, sys

for library in ("polars", "numpy", "matplotlib.pyplot", "h5py", "perfetto", "rich.console", "typer"):
    importlib.import_module(library)  # made for this system
for name in ("sched_getaffinity", "geteuid", "killpg", "statvfs", "uname"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL"):
    delattr(signal, name)
for name in ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp"):
    sys.modules[name] = None  # its import fails

import plait
import plait.__main__

for command in ("report", "compare", "export", "graph", "map", "import_", "checkpoint", "fit"):
    importlib.import_module(f"plait.commands.{command}")
folders = [pathlib.Path(word) for word in sys.argv[1:]]
run = plait.read_run(folders[0])
assert len(run.tasks) > 0
recording = plait.read(folders[0])
assert recording.tasks.height == len(run.tasks)
assert recording.measures.ranks.height == run.ranks
assert recording.plots.timeline()._repr_png_()[1:4] == b"PNG"
assert "workers idle" in recording._repr_html_()
report = importlib.import_module("plait.commands.report")
report.report(folders[0], output=folders[1], perfetto=None, step=None, open_page=False)
"""


def test_runs_are_read_and_reported_without_what_only_linux_has(
    ring_folder: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(ring_folder), str(tmp_path / "report")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report" / "report.html").is_file()
