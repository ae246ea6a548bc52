# SPDX-License-Identifier: Apache-2.0
"""Where the C++ side was built."""

from __future__ import annotations

import os
from pathlib import Path


def build_folder() -> Path:
    """PLAIT_BUILD, else build/release of the checkout that this package stands in, or of here."""
    told = os.environ.get("PLAIT_BUILD")
    if told:
        return Path(told)
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        if (root / "CMakePresets.json").is_file():
            return root / "build" / "release"
    return Path("build/release")
