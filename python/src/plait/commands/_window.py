# SPDX-License-Identifier: Apache-2.0
"""What a recorder is given for a profile and its windows."""

from __future__ import annotations

import re

from plait._errors import PlaitError


def profile_variables(*, profile: bool, window: str | None) -> dict[str, str]:
    """The environment of a program that is profiled. Raises PlaitError for a window that is none."""
    if window is not None:
        _require_window(window)
    return {
        **({"PLAIT_RECORD_PROFILE": "1"} if profile else {}),
        **({"PLAIT_RECORD_WINDOW": window} if window is not None else {}),
    }


def _require_window(text: str) -> None:
    """Raises PlaitError if the recorder could not read it (src/plait/trace/profile_options.cpp)."""
    time = re.fullmatch(r"([0-9.]+)(ms|s|min|h)/([0-9.]+)(ms|s|min|h)", text)
    region = re.fullmatch(r"region:[^/]+(/[1-9][0-9]*)?", text)
    if region is None and (time is None or not _is_window(*time.groups())):
        raise PlaitError(
            f"--window {text} is no window; give LENGTH/PERIOD as in 10s/1000s (at least 1ms, and "
            "LENGTH not above PERIOD), region:NAME, region:FROM..TO, or one of the latter with /EVERY"
        )


def _is_window(length: str, length_unit: str, period: str, period_unit: str) -> bool:
    units = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    try:
        return 1e-3 <= float(length) * units[length_unit] <= float(period) * units[period_unit]
    except ValueError:
        return False
