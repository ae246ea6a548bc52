# SPDX-License-Identifier: Apache-2.0
"""plait's C++ sources, beside this package or in it, and the user's folder for what is built of them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from plait._errors import PlaitError

#: The sources that an installed package brings along: python/bundle.py.
PACKAGED = Path(__file__).resolve().parent / "_project"


def checkout() -> Path | None:
    """The checkout that is here, else the one that this package is in."""
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        if (root / "CMakePresets.json").is_file():
            return root
    return None


def version() -> str:
    """That of the sources which belong to this package."""
    here = Path(__file__).resolve()
    for root in (PACKAGED, *here.parents):
        if (root / "CMakeLists.txt").is_file():
            text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
            if found := re.search(r"^project\(plait VERSION (\S+)", text, re.MULTILINE):
                return found.group(1)
    raise PlaitError(f"the package at {here.parent} is not whole: its CMakeLists.txt is missing")


def user_cache() -> Path:
    """What plait keeps for this user: $XDG_CACHE_HOME/plait, or ~/.cache/plait."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "plait"


def cache_folder(sources: Path) -> Path:
    """What is built from these sources goes below it.

    $XDG_CACHE_HOME/plait/VERSION, or ~/.cache/plait/VERSION. A checkout, which changes, has a
    folder of its own there.
    """
    folder = user_cache() / version()
    return folder if sources == PACKAGED else folder / f"checkout-{_digest(str(sources))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def label(interface: str, version_of_mpi: str, *facts: str) -> str:
    """The name of a build's folder: readable, and another one for other `facts`."""
    number = re.sub(r"[^\w.]+", "-", version_of_mpi) or "unknown"
    return f"{interface}-{number}-{_digest(chr(0).join(facts))}"
