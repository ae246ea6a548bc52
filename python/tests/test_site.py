# SPDX-License-Identifier: Apache-2.0
"""The documentation site, built whole and opened as a reader without a network opens it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from chromium import NAMES, open_address

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    # Making the environment takes a minute, so no set-up does it: only who has built the site tests it.
    pytest.mark.skipif(
        not (ROOT / "build/docs-venv/.made-from").exists(),
        reason="no tools of the site here: run make docs",
    ),
    # An optional package of tools/setup; without it the site has no pages of C++.
    pytest.mark.skipif(
        shutil.which("doxygen") is None, reason="no Doxygen here: apt-get install doxygen"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [ROOT / "tools/docs", folder], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_each_kind_of_page_is_there(site: Path) -> None:
    for page in (
        "index.html",
        "tutorials/move-one-phase.html",
        "how-to/tasks.html",
        "examples/03_overlap.html",
        "reference/commands/plait-record.html",
        "reference/cpp/comm/endpoint.html",
        "reference/python.html",
        "decisions/index.html",
        "project/architecture.html",
    ):
        assert (site / page).is_file(), page
    assert 'id="plait.read_run"' in (site / "reference/python.html").read_text(encoding="utf-8")


# An optional package of tools/setup, which Ubuntu does not have.
@pytest.mark.skipif(
    not any(shutil.which(name) for name in NAMES), reason="no Chromium here: apt-get install chromium"
)
def test_search_works_without_a_server(site: Path) -> None:
    page = open_address(f"{(site / 'index.html').as_uri()}?q=multicast")
    assert "matching documents" in page.html
    assert "reference/cpp/comm/endpoint.html" in page.html
    assert [line for line in page.console if "Error" in line] == []
