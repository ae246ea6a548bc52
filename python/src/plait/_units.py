# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them: times, bytes, rates and shares with their units."""

from __future__ import annotations

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTES = ((1024.0**4, "TiB"), (1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"))


def time_unit(largest_ns: float) -> tuple[float, str]:
    """The unit, as (nanoseconds, name), in which a value of this size has one to three digits."""
    for scale, name in _TIMES:
        if abs(largest_ns) >= scale:
            return scale, name
    return _TIMES[-1]


def format_time(time_ns: float) -> str:
    if time_ns == 0:
        return "0 s"
    scale, name = time_unit(_rounded(time_ns))
    return f"{time_ns / scale:.3g} {name}" if name != "s" else f"{_plain(time_ns / scale)} s"


def bytes_unit(largest_bytes: float) -> tuple[float, str]:
    for scale, name in _BYTES:
        if abs(largest_bytes) >= scale:
            return scale, name
    return 1.0, "B"


def format_bytes(count: float) -> str:
    scale, name = bytes_unit(count)
    return f"{count / scale:.3g} {name}" if count / scale < 1000 else f"{count / scale:.0f} {name}"


def format_share(part: float, whole: float) -> str:
    if whole <= 0:
        return "–"
    return f"{100.0 * part / whole:.1f} %"


def format_count(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def _rounded(value: float) -> float:
    """To the three digits that are shown: 999.6 has the unit of 1000."""
    return float(f"{value:.3g}")


def _plain(value: float) -> str:
    return f"{value:.0f}" if _rounded(value) >= 1000 else f"{value:.3g}"
