# SPDX-License-Identifier: Apache-2.0
"""`plait.Runtime` and what is built on it, in mpi4py programs on 1, 2 and 3 ranks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from plait import _build, read_run
from plait._errors import PlaitError

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).resolve().parent / "programs"
EXAMPLES = ROOT / "examples" / "python"
SECONDS_MAX = 120


@pytest.fixture(scope="module")
def extension() -> Path:
    """As `plait build python` builds it; in a checkout, once for each of its states."""
    for name in ("mpi4py", "nanobind"):
        if find_spec(name) is None:
            pytest.skip(f"there is no {name} in this Python: pip install {name}")
    try:
        return _build.extension()
    except PlaitError as error:
        if "error:" in str(error):
            raise  # of the compiler
        pytest.skip(f"the extension cannot be built: {error}")


def start(ranks: int, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "tools/mpiexec"), str(ranks), sys.executable, *map(str, command)],
        # Unbuffered, Python writes a line in two parts, between which another rank may write.
        env={
            **os.environ,
            "PYTHONUNBUFFERED": "",
            "PYTHONPATH": str(ROOT / "python/src"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def succeeds(ranks: int, name: str, **environment: str) -> None:
    done = start(ranks, PROGRAMS / f"{name}.py", **environment)
    assert (done.returncode, done.stdout) == (0, "ok\n" * ranks), done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(
    "name",
    [
        "messages",
        "collectives",
        "awaiting",
        "refusals",
        "transforms",
        "bodies",
        "measures",
        "steps",
        "step_errors",
    ],
)
def test_program(extension: Path, name: str, ranks: int) -> None:
    succeeds(ranks, name)


@pytest.mark.parametrize("name", ["messages", "awaiting"])
def test_program_through_mpi(extension: Path, name: str) -> None:
    succeeds(2, name, PLAIT_NETWORK="mpi")


def test_messages_without_background_progress(extension: Path) -> None:
    succeeds(2, "messages", PLAIT_PROGRESS="none")


@pytest.mark.parametrize("network", ["shm", "mpi"])
@pytest.mark.parametrize("way", ["wait", "await", "fft"])
def test_a_failed_rank_ends_the_others(extension: Path, way: str, network: str) -> None:
    done = start(3, PROGRAMS / "failing.py", way, PLAIT_NETWORK=network)
    lines = sorted(done.stdout.splitlines())
    assert lines == ["own", *["peer: another rank failed"] * 2], done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_runtime_that_is_not_closed(extension: Path, ranks: int) -> None:
    done = start(ranks, PROGRAMS / "unclosed.py", "exit")
    assert (done.returncode, done.stdout) == (0, "end\n" * ranks), done.stderr
    done = start(ranks, PROGRAMS / "unclosed.py", "finalised")
    assert (done.returncode, done.stdout) == (0, "end\n" * ranks), done.stderr
    assert "MPI was finalised before plait.Runtime was closed" in done.stderr


def test_an_uncaught_exception_reaches_the_other_ranks(extension: Path) -> None:
    done = start(2, PROGRAMS / "unclosed.py", "interrupted")
    assert done.returncode != 0
    assert "rank 0 has ended with RuntimeError: uncaught" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example(extension: Path, path: Path) -> None:
    """A comment may name the output of an example in C++ that has the same."""
    ranks = re.search(r"^# ranks: (\d+)$", path.read_text(), re.MULTILINE)
    assert ranks is not None, "a comment `# ranks: N` in the first lines"
    other = re.search(r"^# expected: (\S+)$", path.read_text(), re.MULTILINE)
    expected = path.with_suffix(".expected") if other is None else EXAMPLES.parent / other.group(1)
    done = start(int(ranks.group(1)), path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.read_text()


def test_the_guide_shows_examples() -> None:
    """Every block of Python there is a part of one of them, whatever its indentation."""
    guide = (ROOT / "docs/how-to/python.md").read_text()
    sources = [" ".join(path.read_text().split()) for path in EXAMPLES.glob("*.py")]
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert any(" ".join(block.split()) in source for source in sources), block


def test_a_trace_has_regions_and_messages(extension: Path, tmp_path: Path) -> None:
    succeeds(2, "recorded", PLAIT_TRACE=str(tmp_path / "run"))
    run = read_run(tmp_path / "run")
    assert run.span_kinds == ("exchange",)
    assert run.spans["rank"].sort().to_list() == [0, 1]
    assert (run.messages["size_bytes"] == 8000).sum() == 4  # sent and received, on each rank


def test_the_stubs_are_those_of_the_extension(extension: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/make_stubs.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
