# SPDX-License-Identifier: Apache-2.0
"""Memory that numpy has freed and the C library keeps for later."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


def return_memory() -> None:
    """Returns it to the system, where the C library is glibc; else does nothing.

    For a measure of a long run to call after it has dropped large arrays, before others make theirs.
    Cost: some milliseconds a GiB.
    """
    library = _c_library()
    if library is not None:
        library.malloc_trim(0)


@cache
def _c_library() -> Any:
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "malloc_trim") else None
