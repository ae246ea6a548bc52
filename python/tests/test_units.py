# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from plait._units import format_time


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 s"),
        (999, "999 ns"),
        (999.6, "1 µs"),
        (999_499, "999 µs"),
        (999_500, "1 ms"),
        (999_600_000, "1 s"),
        (1_234_000_000, "1.23 s"),
        (999_700_000_000, "1000 s"),
        (12_345_000_000_000, "12345 s"),
        (-999_600_000, "-1 s"),
    ],
)
def test_times_have_three_digits_and_the_unit_that_fits(time_ns: float, text: str) -> None:
    assert format_time(time_ns) == text
