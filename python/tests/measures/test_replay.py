# SPDX-License-Identifier: Apache-2.0
"""An exchange as numbers, and where latency takes over."""

from __future__ import annotations

import numpy as np
import pytest

from plait.measures.replay import find_knee

SCALES = [2.0**-power for power in range(8)]


def test_the_knee_is_where_time_stops_following_size() -> None:
    times = [max(scale, 1 / 8) for scale in SCALES]
    knee = find_knee(SCALES, times)
    assert knee is not None
    assert knee.scale == pytest.approx(1 / 8, rel=0.1)
    assert knee.large_exponent == pytest.approx(1, abs=0.05)
    assert knee.small_exponent == pytest.approx(0, abs=0.05)
    assert knee.fitted_s[0] == pytest.approx(1, rel=0.1)


def test_a_straight_line_has_no_knee() -> None:
    assert find_knee(SCALES, SCALES) is None
    assert find_knee(SCALES, [1.0] * len(SCALES)) is None


def test_time_that_follows_small_sizes_more_has_no_knee() -> None:
    assert find_knee(SCALES, [min(scale, 1 / 8) for scale in SCALES]) is None


def test_few_points_have_no_knee() -> None:
    assert find_knee(SCALES[:3], [1.0, 0.9, 0.9]) is None


def test_noise_moves_the_knee_little() -> None:
    noise = np.random.default_rng(1).normal(0, 0.03, len(SCALES))
    times = [max(s, 1 / 16) * np.exp(n) for s, n in zip(SCALES, noise, strict=True)]
    knee = find_knee(SCALES, times)
    assert knee is not None
    assert 1 / 32 < knee.scale < 1 / 8
