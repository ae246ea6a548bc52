# SPDX-License-Identifier: Apache-2.0
"""`plait completion`: what a shell needs to complete plait's commands, options and their values."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import (  # type: ignore[attr-defined]
    completion_init,
    get_completion_script,
)

from plait.cli.options import Quiet, hushed

PROGRAM = "plait"
#: The variable in which a shell asks for completions.
VARIABLE = "_PLAIT_COMPLETE"


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def add(app: typer.Typer) -> None:
    completion_init()  # the command answers what the shell asks for
    app.command()(completion)


def one_of(*values: str) -> Callable[[str], list[str]]:
    """For an option whose values are these."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def script(shell: Shell) -> str:
    """What the shell reads, with a line break at the end."""
    text = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value)
    return text.strip() + "\n"


def completion(
    shell: Annotated[Shell, typer.Argument(help="Your shell.", show_default=False)],
    quiet: Quiet = False,
) -> None:
    """Print what a shell needs to complete commands, options and their values with the Tab key.

    New shells have it when it is in one of these files. The folder must exist, and for zsh be in fpath.

    Examples:

      plait completion bash > ~/.local/share/bash-completion/completions/plait

      plait completion zsh > ~/.zfunc/_plait     (~/.zshrc: fpath+=~/.zfunc; compinit)

      plait completion fish > ~/.config/fish/completions/plait.fish

      source <(plait completion bash)            this shell only
    """
    with hushed(quiet):
        typer.echo(script(shell), nl=False)
