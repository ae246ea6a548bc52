# SPDX-License-Identifier: Apache-2.0
"""Maps a rank's own time to rank 0's (docs/reference/trace-format.md, section Clocks)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plait.readers._columns import Columns


@dataclass(frozen=True)
class ClockMap:
    """rank-0 time = t + offset_ns + slope * (t - anchor_ns)"""

    offset_ns: int
    anchor_ns: int = 0
    slope: float = 0.0
    error_ns: int = 0  # half the round trip of the worse exchange used

    def apply(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        shifted = times_ns + np.int64(self.offset_ns)
        if self.slope == 0.0:
            return shifted
        drift = np.rint(self.slope * (times_ns - self.anchor_ns)).astype(np.int64)
        result: npt.NDArray[np.int64] = shifted + drift
        return result

    def since(self, later_ns: int) -> ClockMap:
        """The same for times that are counted from `later_ns` of the rank's own time."""
        return ClockMap(self.offset_ns + later_ns, self.anchor_ns - later_ns, self.slope, self.error_ns)


def fit_clock(clocks: Columns, last_ns: int, wall_offset_ns: int) -> ClockMap:
    """The line through the best exchange of the start and the best of the end.

    Where the exchanges cover less than half of the rank's time (a killed run has only those of the
    start) the line would be extrapolated from noise: then the best exchange alone is used. With no
    exchange, the wall clocks of the headers decide.
    """
    if clocks.size == 0:
        return ClockMap(wall_offset_ns)
    middle = (int(clocks["time"].min()) + int(clocks["time"].max())) // 2
    early, late = clocks.kept(clocks["time"] <= middle), clocks.kept(clocks["time"] > middle)
    first = early.row(int(np.argmin(early["round_trip"])))
    if late.size:
        last = late.row(int(np.argmin(late["round_trip"])))
        between = int(last["time"]) - int(first["time"])
        rise = int(last["offset"]) - int(first["offset"])
        # Clocks drift by parts in a million; anything above one in a thousand is a bad record.
        if between >= 0.5 * max(1, last_ns) and abs(rise) <= 1e-3 * between + 1e5:
            error = max(int(first["round_trip"]), int(last["round_trip"])) // 2
            return ClockMap(int(first["offset"]), int(first["time"]), rise / between, error)
    best = clocks.row(int(np.argmin(clocks["round_trip"])))
    return ClockMap(int(best["offset"]), error_ns=int(best["round_trip"]) // 2)
