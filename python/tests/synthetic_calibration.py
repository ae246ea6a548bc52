# SPDX-License-Identifier: Apache-2.0
"""What `plait-calibrate` would write, from costs that are known."""

from __future__ import annotations

import random
from typing import Any

SIZES = (0, 8, 1024, 8192, 65536, 131072, 1048576)
EAGER = 65536


def sending(size: int) -> float:
    return 500 + 0.5 * size if size <= EAGER else 900


def receiving(size: int) -> float:
    return 300 + 0.2 * size


def single(size: int) -> float:
    """Latency 10 us, a byte 8 ns beside what the processors take."""
    eager = sending(size) + 10_000 + 8 * size
    return eager + receiving(size) if size <= EAGER else eager + 20_000 + 5000 + receiving(0)


def contents(*, noise: float = 0.0, is_within_host: bool = False) -> dict[str, Any]:
    chance = random.Random(3)
    times = {
        "one way, written before": single,
        "sending": sending,
        "sending, blocking": lambda size: (
            sending(size) if size <= EAGER else 900 + 20_000 + 5000 + 2 * size
        ),
        "stolen, after sending": lambda size: 0.0 if size <= EAGER else 0.2 * size,
        "posting": lambda size: 70.0,
        "receiving": lambda size: receiving(size) if size <= EAGER else single(size),
        "receiving, unexpected": lambda size: receiving(size) + 0.1 * size,
        "stolen, sender": lambda size: 0.3 * size if size <= EAGER else 0.0,
        "stolen, receiver": lambda size: 0.4 * size if size <= EAGER else 0.0,
        "one more": lambda size: 600 + 8 * size,
        "one more, both ways": lambda size: 900 + 12 * size,
    }
    series = [
        {
            "what": what,
            "bytes": size,
            "times_ns": [time(size) * (1 + noise * chance.uniform(-1, 1)) for _ in range(9)],
        }
        for what, time in times.items()
        for size in SIZES
    ]
    return {
        "format": "plait-calibration",
        "version": 1,
        "mpi": "Open MPI v4.1.4",
        "is_within_host": is_within_host,
        "eager_bytes_max": EAGER,
        "slowdown_of_computing_at_once": 1.0,
        "series": series,
    }
