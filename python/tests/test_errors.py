# SPDX-License-Identifier: Apache-2.0
"""Exit statuses and colours of the command line, as the shell sees them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plait
from plait._errors import PlaitError, Status, status_of_program

ROOT = Path(__file__).resolve().parents[2]
COLOUR = re.compile(rb"\x1b\[(?:\d+;)*[349]\d")


def status_of(*arguments: object) -> int:
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, arguments)], capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--version",), Status.done),
        (("report", "nowhere"), Status.failed),
        (("report",), Status.usage),
        (("report", "--gone"), Status.usage),
        (("gone",), Status.usage),
        (("run", "-n", "0", "true"), Status.usage),
        (("run", "--bind", "socket", "true"), Status.usage),
        (("run", "nowhere"), Status.not_found),
        (("lab", "nowhere"), Status.not_found),
        (("run", __file__), Status.not_executable),
        (("run", Path(__file__).parent), Status.not_executable),
        (("predict",), Status.usage),
        (("completion", "csh"), Status.usage),
    ],
)
def test_statuses(words: tuple[object, ...], status: Status) -> None:
    assert status_of(*words) == status


def test_an_error_fails_unless_it_has_another_status() -> None:
    assert PlaitError("x").status == 1
    assert PlaitError("x", status=Status.usage).status == 2


def test_a_program_that_was_killed_has_failed() -> None:
    assert [status_of_program(status) for status in (0, 1, 2, -9)] == [0, 1, 2, 1]


def test_statuses_are_named() -> None:
    """No number is in the sources: the table has them all."""
    package = Path(str(plait.__file__)).parent
    for path in package.rglob("*.py"):
        assert not re.search(r"status=\d|sys\.exit\([1-9]\d*\)", path.read_text()), path


def printed_on_a_terminal(tmp_path: Path, **environment: str) -> bytes:
    """What a command that fails prints where its output is a terminal."""
    ours, theirs = pty.openpty()
    whole = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    subprocess.run(
        [sys.executable, "-m", "plait", "checkpoint", str(tmp_path / "nowhere")],
        stdout=theirs,
        stderr=theirs,
        env={**whole, "TERM": "xterm-256color", **environment},
        check=False,
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:
        pass  # the terminal is closed: all has been read
    os.close(ours)
    assert b"nowhere" in text
    return text


def test_a_terminal_gets_colours(tmp_path: Path) -> None:
    assert COLOUR.search(printed_on_a_terminal(tmp_path))


def test_no_color_is_respected(tmp_path: Path) -> None:
    assert not COLOUR.search(printed_on_a_terminal(tmp_path, NO_COLOR="1"))


@pytest.mark.parametrize("words", [("run", "--help"), ("doctor", "--quick"), ("report", "nowhere")])
def test_no_terminal_gets_no_colours(words: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", "plait", *words], capture_output=True, check=False)
    assert not COLOUR.search(done.stdout + done.stderr)
