# SPDX-License-Identifier: Apache-2.0
"""Packs integer columns for the page: byte planes, deflated, base64.

Planes (all lowest bytes first, then all second bytes, ...) compress far better than whole numbers,
because the upper bytes are nearly constant. assets/data.js unpacks.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt


def pack_u32(values: npt.NDArray[Any]) -> str:
    clipped = np.clip(values, 0, 0xFFFFFFFF).astype("<u4")
    planes = clipped.view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)).decode()


def pack_increasing(values: npt.NDArray[np.int64]) -> str:
    """Values that mostly rise: their differences, zigzag coded so that a step back is possible."""
    steps = np.diff(values, prepend=np.int64(0))
    zigzag = np.where(steps < 0, -2 * steps - 1, 2 * steps)
    return pack_u32(zigzag)


def time_quantum(durations_ns: npt.NDArray[np.int64], span_ns: int) -> int:
    """Nanoseconds to which the page rounds: 1 for most runs, more where details cannot be seen.

    At most 2 % of the median duration, and such that differences fit in 31 bits.
    """
    if durations_ns.size < 200_000:
        fine = 1
    else:
        median = float(np.median(durations_ns))
        fine = 1 if median < 50 else 10 ** int(np.log10(median / 50))
    while span_ns // fine >= 1 << 31 and fine < 10**12:
        fine *= 10
    return int(fine)
