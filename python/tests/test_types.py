# SPDX-License-Identifier: Apache-2.0
"""What editors and mypy know of `plait.Runtime`: types of results, and what does not exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import plait

PACKAGE = Path(plait.__file__).resolve().parent
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
PROGRAM = """\
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import plait

Array = npt.NDArray[Any]

with plait.Runtime(workers=2) as rt:
    line: npt.NDArray[np.float64] = np.zeros(8)
    assert_type(rt.rank, int)
    assert_type(rt.network, str)
    assert_type(rt.send(line, 1), plait.Future[None])
    assert_type(rt.receive((3, 4), dtype=int).result(), Array)
    assert_type(rt.receive(bytearray(8), 0).result(), bytearray)
    assert_type(rt.all_to_all(line).result(), Array)
    assert_type(rt.all_gather(line).result(), Array)
    assert_type(rt.broadcast(line).result(), npt.NDArray[np.float64])
    assert_type(plait.wait_all([rt.broadcast(line)]), list[npt.NDArray[np.float64]])
    plait.wait_all([rt.send(line, 1), rt.receive(line, 1)])
    plan = plait.fft.Plan(rt, (8, 8, 8))
    assert_type(plan.grid, tuple[int, int])
    assert_type(plan.forward(plan.empty()), Array)
    assert_type(plan.backward([plan.empty("spectral")]), list[Array])
    assert_type(plait.particles.neighbours(rt, line.reshape(-1, 2), 1.0).indices, npt.NDArray[np.int64])


async def ask(rt: plait.Runtime) -> None:
    assert_type(await rt.receive(1), Array)
"""
MISTAKES = """\
import plait

with plait.Runtime(workers="two") as rt:
    rt.send([1], to="all")
    rt.sned([1], to=1)
    rt._engine.wiat()
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy finds in programs that use the package, by the name of their file."""
    if find_spec("mypy") is None:
        pytest.skip("there is no mypy in this Python: pip install mypy")
    folder = tmp_path_factory.mktemp("types")
    (folder / "right.py").write_text(PROGRAM)
    (folder / "wrong.py").write_text(MISTAKES)
    programs = [folder / "right.py", folder / "wrong.py", *sorted(EXAMPLES.glob("*.py"))]
    # Silent on what it finds in the package itself, as where pip has installed that.
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--cache-dir", folder / "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *programs],
        env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr  # the mistakes
    found: dict[str, list[str]] = {program.name: [] for program in programs}
    for path, line in re.findall(r"^(\S+\.py):(\d+: error: .*)$", done.stdout, re.MULTILINE):
        found.setdefault(Path(path).name, []).append(line)
    return found


def test_results_have_types(complaints: dict[str, list[str]]) -> None:
    assert complaints["right.py"] == []


def test_mistakes_are_found(complaints: dict[str, list[str]]) -> None:
    lines = complaints["wrong.py"]
    assert [line.split(":")[0] for line in lines] == ["3", "4", "5", "6"], lines
    assert '"Runtime" has no attribute "sned"' in lines[2]
    assert '"Engine" has no attribute "wiat"' in lines[3]


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_examples_have_types(complaints: dict[str, list[str]], name: str) -> None:
    assert complaints[name] == []
