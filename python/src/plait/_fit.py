# SPDX-License-Identifier: Apache-2.0
"""What messages cost on the modelled machine (docs/how-to/predict.md), as a platform file has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Costs:
    """As in a platform file; the letters are those of LogGPS."""

    latency_ns: float  # L
    send_overhead_ns: float  # o_s
    receive_overhead_ns: float  # o_r
    overhead_per_byte_ns: float  # O
    gap_ns: float  # g
    gap_per_byte_ns: float  # G
    eager_bytes_max: int  # S
    rendezvous_ns: float
    both_ways: float = 1.0
    post_overhead_ns: float = 0.0
    #: Bytes, and what those beyond the first take, in place of G; with lines between, and G beyond.
    moving_ns: tuple[tuple[int, float], ...] = ()
    #: Curves as `moving_ns`, of calibrations only.
    occupying_ns: tuple[tuple[int, float], ...] = ()
    sending_ns: tuple[tuple[int, float], ...] = ()
    receiving_ns: tuple[tuple[int, float], ...] = ()
    stolen_sending_ns: tuple[tuple[int, float], ...] = ()
    stolen_receiving_ns: tuple[tuple[int, float], ...] = ()


def to_platform(
    name: str, between_hosts: Costs, within_host: Costs | None = None, *, ranks_per_host: int = 1
) -> dict[str, Any]:
    """A platform file's contents."""
    platform: dict[str, Any] = {
        "format": "plait-platform",
        "version": 1,
        "name": name,
        "ranks_per_host": ranks_per_host,
        "progress": "calls",
        "between_hosts": _rounded(between_hosts),
    }
    if within_host is not None:
        platform["within_host"] = _rounded(within_host)
    return platform


def _rounded(costs: Costs) -> dict[str, Any]:
    """Curves that were not measured are left out."""
    rounded: dict[str, Any] = {}
    for key, value in asdict(costs).items():
        if isinstance(value, tuple):
            if value:
                rounded[key] = [[size, float(f"{time:.6g}")] for size, time in value]
        else:
            rounded[key] = value if isinstance(value, int) else float(f"{value:.6g}")
    return rounded
