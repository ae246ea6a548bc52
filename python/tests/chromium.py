# SPDX-License-Identifier: Apache-2.0
"""Opens pages in headless Chromium and returns what is in them after their scripts ran."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--enable-logging=stderr",
)


@dataclass(frozen=True)
class Page:
    html: str
    console: list[str]

    def figures(self) -> dict[str, bool]:
        """Name of each figure, and whether it reports that it has painted."""
        tags = re.findall(r"<figure [^>]*>", self.html)
        return {_attribute(tag, "id"): _attribute(tag, "data-drawn") == "true" for tag in tags}


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'{name}="([^"]*)"', tag)
    return found.group(1) if found else ""


def open_page(page: Path, *, screenshot: Path | None = None, width: int = 1400) -> Page:
    return open_address(page.resolve().as_uri(), screenshot=screenshot, width=width)


def open_address(address: str, *, screenshot: Path | None = None, width: int = 1400) -> Page:
    """Skips the test, with the reason, where there is no Chromium."""
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    wanted = [f"--screenshot={screenshot}"] if screenshot else ["--dump-dom"]
    with tempfile.TemporaryDirectory(prefix="plait-chromium-") as profile:
        done = subprocess.run(
            [
                *(browser, *_OPTIONS, *sandbox, f"--user-data-dir={profile}"),
                f"--window-size={width},4200",
                *("--virtual-time-budget=30000", *wanted, address),
            ],
            capture_output=True,
            timeout=240,
            check=False,
        )
    console = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    return Page(done.stdout.decode("utf-8", "replace"), console)
