#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_pages.py [--check]: writes the pages that are made from the plait command.

That is docs/reference/environment.md, from the list of variables, the table of exit statuses in
docs/reference/command-line.md, and the manual pages in docs/man, from the options and the help of all commands. With
--check it writes nothing and fails if a file differs. Start it with the project's Python, .venv/bin/python.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "python/src"))

import typer  # noqa: E402
from plait.__main__ import app  # noqa: E402
from plait._errors import SIGNALLED, Status  # noqa: E402
from plait.cli import manual  # noqa: E402

from plait import _environment  # noqa: E402

STATUSES = re.compile(r"(?<=<!-- statuses -->\n).*?(?=<!-- end -->)", re.DOTALL)


def pages() -> dict[str, str]:
    """Text by path."""
    command_line = "docs/reference/command-line.md"
    text = (PROJECT / command_line).read_text(encoding="utf-8")
    manuals = manual.pages(typer.main.get_command(app))
    return {
        "docs/reference/environment.md": _environment.page(),
        command_line: STATUSES.sub(lambda _: statuses(), text),
        **{f"docs/man/{name}": page for name, page in manuals.items()},
    }


def statuses() -> str:
    rows = [f"| {status.value} | {status.meaning} |" for status in Status]
    rows.append("| {} | {} |".format(*SIGNALLED.split(": ")))
    return "\n| status | meaning |\n|---|---|\n" + "\n".join(rows) + "\n\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file differs")
    check = parser.parse_args().check
    known = pages()
    differing = [
        f"docs/man/{path.name}" for path in (PROJECT / "docs/man").glob("*") if f"docs/man/{path.name}" not in known
    ]
    for name in () if check else differing:
        (PROJECT / name).unlink()
    for name, text in known.items():
        path = PROJECT / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            differing.append(name)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in differing if check else []:
        print(f"{name}:1: not up to date: run tools/make_pages.py")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
