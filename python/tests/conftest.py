# SPDX-License-Identifier: Apache-2.0
"""Run folders that tests read. Made once a session: tests must not write into them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from synthetic import Ring

# No test depends on what was measured on this machine.
os.environ["PLAIT_STRATEGY"] = "default"


@pytest.fixture(scope="session")
def ring_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks of two workers, 30 steps."""
    ring = Ring(ranks=2, workers=2, seed=3)
    ring.run(30)
    return ring.write(tmp_path_factory.mktemp("runs") / "ring")


@pytest.fixture
def ring_copy(ring_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ring_folder, tmp_path / "ring"))


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks of one worker, 2 steps: quick to read thousands of times."""
    ring = Ring(ranks=2, workers=1, seed=5)
    ring.run(2)
    return ring.write(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture
def fake_mpi(tmp_path: Path) -> Path:
    """A launcher that calls itself MPICH, and starts the program once."""
    path = tmp_path / "mpiexec"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "HYDRA build details: Version: 4.2"; exit 0; }\n'
        'while [ "$1" != -n ]; do shift; done\nshift 2\nexec "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
