# SPDX-License-Identifier: Apache-2.0
"""What shells complete. Each shell reads its script, and asks the command as it does for a user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plait.cli.completion import Shell, script


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `plait` is this package."""
    program = tmp_path / "plait"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m plait "$@"\n')
    program.chmod(0o755)
    return f"{tmp_path}{os.pathsep}{os.environ['PATH']}"


def output_of(path: str, *command: str) -> list[str]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def completed_by_bash(path: str, *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    ask = (
        "source <(plait completion bash); complete -p plait >/dev/null || exit 1\n"
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        "function=$(complete -p plait | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n"
        '"$function" plait; printf \'%s\\n\' "${COMPREPLY[@]}"'
    )
    return output_of(path, "bash", "--norc", "-c", ask)


def test_bash_completes_commands(path: str) -> None:
    assert set(completed_by_bash(path, "plait", "re")) == {"record", "replay", "report"}


def test_bash_completes_options(path: str) -> None:
    assert "--workers" in completed_by_bash(path, "plait", "run", "--w")


def test_bash_completes_values(path: str) -> None:
    assert completed_by_bash(path, "plait", "export", "run", "--format", "per") == ["perfetto"]
    assert completed_by_bash(path, "plait", "map", "--quantity", "en") == ["energy"]


def test_bash_completes_below_a_group(path: str) -> None:
    assert completed_by_bash(path, "plait", "import", "s") == ["swift"]


def test_fish_completes_commands_and_options(path: str) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed (Debian: fish)")
    ask = "plait completion fish | source; complete -C '{}'"
    lines = output_of(path, "fish", "--no-config", "-c", ask.format("plait rep"))
    assert [line.split("\t")[0] for line in lines] == ["replay", "report"]
    lines = output_of(path, "fish", "--no-config", "-c", ask.format("plait run --wor"))
    assert [line.split("\t")[0] for line in lines] == ["--workers"]


def test_zsh_reads_its_script(path: str, tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed (Debian: zsh)")
    file = tmp_path / "_plait"
    file.write_text(script(Shell.zsh))
    assert file.read_text().startswith("#compdef plait\n")
    output_of(path, "zsh", "-f", "-n", str(file))


def test_the_command_answers_zsh(path: str) -> None:
    done = subprocess.run(
        ["plait"],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PATH": path,
            "_PLAIT_COMPLETE": "complete_zsh",
            "_TYPER_COMPLETE_ARGS": "plait rep",
        },
        timeout=60,
        check=True,
    )
    assert '"replay"' in done.stdout
    assert '"report"' in done.stdout
    assert '"run"' not in done.stdout
