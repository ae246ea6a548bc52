# SPDX-License-Identifier: Apache-2.0
"""Whether a run fits into memory, before it is read."""

from __future__ import annotations

from collections.abc import Collection
from itertools import accumulate
from pathlib import Path

from plait import _schema
from plait._errors import PlaitError
from plait._units import format_bytes
from plait.readers.plait import require_run, wanted_files

#: What a report takes for each byte of a trace, at its peak: 1.1 GB for 160 MB of a halo exchange,
#: 7.7 GB for 1.6 GB.
_BYTES_OF_REPORT = 7
#: ... and reading a window, or the sums of a profile, of all events of which most are left out.
_BYTES_OF_PART = 3
#: ... and plait-export, of the largest rank: two of a million records each took 260 MB.
_BYTES_OF_EXPORT = 4.1
_RANKS_SHOWN_MAX = 16


def require_memory(folder: Path, *, ranks: Collection[int] | None = None, is_part: bool = False) -> None:
    """Raises PlaitError, with what would help, for a run that needs more memory than is available.

    `is_part`: a report of a window, or of a profile. Where the system does not show what is available,
    any run is tried.
    """
    files = wanted_files(require_run(folder), ranks)
    factor = _BYTES_OF_PART if is_part else _BYTES_OF_REPORT
    sizes = [path.stat().st_size for path in files]
    needed, available = factor * sum(sizes), available_bytes()
    if available is None or needed <= available:
        return
    records = sum(sizes) // _schema.RECORD_BYTES
    what = "records, of sums and of windows" if is_part else "events"
    better = "shorter windows" if is_part else "--profile, which stays small, and --window for its parts"
    fit = [
        path
        for path, all_bytes in zip(files, accumulate(sizes), strict=True)
        if factor * all_bytes <= available
    ]
    raise PlaitError(
        f"{folder} has about {records:,} {what}: to read them takes about {format_bytes(needed)} of "
        f"memory, and {format_bytes(available)} is available; "
        f"{_about_ranks(fit, max(sizes), available)}, or record with {better}"
    )


def _about_ranks(fit: list[Path], largest: int, available: int) -> str:
    """`fit`: files of the ranks that can be read together; `largest`: bytes of the largest file."""
    if not fit:
        can_export = _BYTES_OF_EXPORT * largest <= available
        return "no rank of it fits alone" + (
            ": plait export needs less, and other tools show what it writes" if can_export else ""
        )
    numbers = [int(path.stem.removeprefix("rank-")) for path in fit]
    is_range = numbers[-1] - numbers[0] == len(numbers) - 1 > 0
    shown = f"{numbers[0]}-{numbers[-1]}" if is_range else ",".join(map(str, numbers[:_RANKS_SHOWN_MAX]))
    return f"some ranks fit: plait report --only-ranks {shown}"


def available_bytes(path: Path = Path("/proc/meminfo")) -> int | None:
    """Memory that can be had without swapping, and free swap; None where the system does not show it."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        values = {
            name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
        }
        return 1024 * (values["MemAvailable"] + values.get("SwapFree", 0))
    except (OSError, ValueError, KeyError, IndexError):
        return None
