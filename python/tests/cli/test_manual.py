# SPDX-License-Identifier: Apache-2.0
"""Manual pages: what they contain, and that they render."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import pytest
import typer

from plait.__main__ import app
from plait.cli.manual import pages

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "man"


def made_up() -> str:
    own = typer.Typer(help="Try things.\n\nTypical use:\n\n  plait try     once")
    own.callback()(lambda: None)

    @own.command("try")
    def attempt(
        what: Annotated[str, typer.Argument(metavar="WHAT", help="The thing.")],
        often: Annotated[int, typer.Option("--often", "-x", min=1, help="How often.")] = 3,
    ) -> None:
        """Try a thing.

        .It may fail. Use `this` - or **that**.

        Examples:

          plait try -x 2 it     (twice)
        """

    return pages(typer.main.get_command(own))["plait-try.1"]


def test_a_page_has_names_values_and_defaults() -> None:
    page = made_up()
    assert "plait\\-try \\- try a thing\n" in page
    assert "\\fBplait try\\fR [\\fIOPTION\\fR]... \\fIWHAT\\fR\n" in page
    assert "\\fB\\-x\\fR, \\fB\\-\\-often\\fR \\fIN\\fR\nHow often.\nThe default is 3.\n" in page
    assert ".SH EXAMPLES\n\\fBplait try \\-x 2 it\\fR\n.br\ntwice\n" in page


def test_text_is_never_taken_for_a_request() -> None:
    assert "\n\\&.It may fail.\nUse \\fBthis\\fR \\- or \\fBthat\\fR.\n" in made_up()


def test_every_command_has_a_page() -> None:
    names = set(pages(typer.main.get_command(app)))
    assert {"plait.1", "plait-run.1", "plait-import-swift.1"} <= names
    assert names == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.1")), ids=lambda page: page.stem)
def test_man_renders_without_warnings(page: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed (Debian: man-db)")
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in done.stdout


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.1")), ids=lambda page: page.stem)
def test_mandoc_accepts_the_page(page: Path) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed (Debian: mandoc)")
    done = subprocess.run(
        ["mandoc", "-Tlint", "-W", "warning", str(page)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
