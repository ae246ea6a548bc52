#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_stubs.py [--check]: writes python/src/plait/_plait_runtime.pyi, the types of the extension plait_runtime.

They are what nanobind's stubgen reads from the extension, which is built if needed, with all its parts: FFTW and
Highway must be there. With --check it writes nothing and fails if the file describes something else; its layout does
not matter. Start it with the project's Python, .venv/bin/python.
"""

from __future__ import annotations

import argparse
import ast
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "python/src"))

from plait._errors import PlaitError  # noqa: E402

from plait import _build, _extension  # noqa: E402

STUBS = PROJECT / "python/src/plait/_plait_runtime.pyi"
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Made from the extension by tools/make_stubs.py: edit src/plait/python/.
"""
PARTS = tuple(_extension.PARTS)


def stubs_of(extension: pathlib.Path) -> str:
    """Raises PlaitError when stubgen fails, or the extension lacks a part."""
    with tempfile.TemporaryDirectory() as folder:
        stubs = pathlib.Path(folder) / "stubs.pyi"
        options = ["-q", "--exclude-values", "-i", str(extension.parent), "-m", _extension.MODULE, "-o", str(stubs)]
        run(sys.executable, "-m", "nanobind.stubgen", *options)
        stubs.write_text(HEAD + stubs.read_text(encoding="utf-8"), encoding="utf-8")
        settings = str(PROJECT / "python/pyproject.toml")
        run(sys.executable, "-m", "ruff", "format", "--quiet", "--config", settings, str(stubs))
        text = stubs.read_text(encoding="utf-8")
    names = {getattr(node, "name", "") for node in ast.parse(text).body}
    if missing := sorted(set(PARTS) - names):
        raise PlaitError(
            f"{extension} is without {', '.join(missing)}: install libfftw3-dev and libhwy-dev, and build it again"
        )
    return text


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlaitError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def meaning(text: str) -> str:
    """Without layout and comments."""
    return ast.dump(ast.parse(text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the file differs")
    check = parser.parse_args().check
    text = stubs_of(_build.extension())
    if not check:
        STUBS.write_text(text, encoding="utf-8")
    elif not STUBS.is_file() or meaning(STUBS.read_text(encoding="utf-8")) != meaning(text):
        print(f"{STUBS.relative_to(PROJECT)}:1: not what the extension has: run tools/make_stubs.py")
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PlaitError as error:
        sys.exit(f"make_stubs: {error}")
