#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_pages.py [--check]: writes the pages that are made from the plait command.

That is docs/reference/environment.md, from the list of variables. With --check it writes nothing and fails if a file
differs. Start it with the project's Python, .venv/bin/python.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "python/src"))

from plait import _environment  # noqa: E402


def pages() -> dict[str, str]:
    """Text by path."""
    return {"docs/reference/environment.md": _environment.page()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file differs")
    check = parser.parse_args().check
    differing = []
    for name, text in pages().items():
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
