# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from plait._allocator import return_memory


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc shows what is resident")
def test_freed_memory_is_returned() -> None:
    kept = [
        np.ones(1 << 10) for _ in range(1 << 15)
    ]  # 256 MiB in pieces that are no mappings of their own
    last = kept[-1]
    before = resident_bytes()
    kept.clear()
    return_memory()
    assert resident_bytes() < before - (128 << 20)
    assert last.sum() == 1 << 10
