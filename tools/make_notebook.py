#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_notebook.py [--check] [--record]: executes docs/tutorials/explore-a-run.ipynb, and writes it with its output.

The notebook reads runs/ring and runs/kernel, which are in explore-a-run.tar.xz beside it. With --check nothing is
written; the status is 1 when a cell fails, or when the notebook has no output. With --record both runs are recorded
anew, from build/release. Start it with the project's Python, .venv/bin/python; needs nbclient and ipykernel.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

PROJECT = pathlib.Path(__file__).resolve().parents[1]
NOTEBOOK = PROJECT / "docs/tutorials/explore-a-run.ipynb"
RUNS = NOTEBOOK.with_suffix(".tar.xz")
KEPT = re.compile(r"meta\.json|sites\.json|rank-\d+\.plt")
CELL_SECONDS_MAX = 300
ENVIRONMENT = {"PYTHONPATH": str(PROJECT / "python/src"), **os.environ}

RING = "build/release/apps/ring/plait-ring"
PIC = "build/release/apps/pic/plait-pic"
RECORDING = (
    f"{RING} init --n-radial 20 --n-azimuthal 500 --velocity-scatter 0.002 -o ring.hdf5",
    f"plait run -n 2 --workers 1 -o runs/ring -- {RING} run ring.hdf5 --steps 120"
    " --collision-radius 0.003 --diagnose-every 10",
    f"plait record -o runs/kernel -- mpiexec -n 2 --oversubscribe {PIC} --problem kernel --cells 200 200"
    " --particles 400000 --distribution patch --patch 0 199 0 109 --steps 20 --way static",
)


def record() -> None:
    """Fills the archive anew."""
    with tempfile.TemporaryDirectory(prefix="plait-notebook-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / "build").symlink_to(PROJECT / "build")
        for line in RECORDING:
            words = line.split()
            words = [sys.executable, "-m", *words] if words[0] == "plait" else words
            subprocess.run(words, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
        for meta in (folder / "runs").glob("*/meta.json"):
            meta.write_text(meta.read_text().replace(f"{PROJECT}/", ""))
        with tarfile.open(RUNS, "w:xz") as archive:
            for path in sorted(p for p in (folder / "runs").glob("*/*") if KEPT.fullmatch(p.name)):
                archive.add(path, str(path.relative_to(folder)), filter=without_owner)


def without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def execute(notebook: nbformat.NotebookNode) -> None:
    """Replaces all output. Raises CellExecutionError when a cell fails."""
    with tempfile.TemporaryDirectory(prefix="plait-notebook-") as folder:
        with tarfile.open(RUNS) as archive:
            archive.extractall(folder, filter="data")
        os.environ.update(ENVIRONMENT)
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS_MAX,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
        )
        client.execute()
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )


def lacks_output(notebook: nbformat.NotebookNode) -> bool:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return not all(cell.execution_count for cell in cells) or not any(cell.outputs for cell in cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a cell fails")
    parser.add_argument("--record", action="store_true", help="record the runs anew before")
    options = parser.parse_args()
    if options.record:
        record()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    is_bare = lacks_output(notebook)
    try:
        execute(notebook)
    except CellExecutionError as error:
        print(f"{NOTEBOOK.relative_to(PROJECT)}: a cell fails:\n{error}")
        return 1
    if options.check:
        if is_bare:
            print(f"{NOTEBOOK.relative_to(PROJECT)}:1: has no output: run tools/make_notebook.py")
        return int(is_bare)
    nbformat.validate(notebook)
    nbformat.write(notebook, NOTEBOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
