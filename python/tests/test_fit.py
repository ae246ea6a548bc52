# SPDX-License-Identifier: Apache-2.0
"""Fitted costs: what made the times up is found again, with noise and without."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from plait._errors import PlaitError
from plait._fit import (
    Burst,
    Costs,
    OneWay,
    fit,
    pairwise_growth,
    to_platform,
)

_SIZES = [1 << power for power in range(3, 23)]
_TRUE = Costs(
    latency_ns=1500,
    send_overhead_ns=300,
    receive_overhead_ns=200,
    overhead_per_byte_ns=0.05,
    gap_ns=0,
    gap_per_byte_ns=0.1,
    eager_bytes_max=8192,
    rendezvous_ns=700,
)
_BURSTS = [Burst(8, 300), Burst(8, 500, both_ways=True)]


def times_of(costs: Costs, noise: float = 0.0) -> list[OneWay]:
    chance = random.Random(5)
    return [OneWay(size, costs.time_ns(size) * (1 + noise * chance.uniform(-1, 1))) for size in _SIZES]


def test_finds_the_costs_that_the_times_were_made_of() -> None:
    found = fit(times_of(_TRUE), _BURSTS)
    assert found.costs.eager_bytes_max == 8192
    assert found.costs.latency_ns == pytest.approx(1500, rel=0.01)
    # Which of the two sides is the slower cannot be seen from outside: the receiver's is taken to be.
    assert found.costs.send_overhead_ns == pytest.approx(200, rel=0.01)
    assert found.costs.receive_overhead_ns == pytest.approx(300, rel=0.01)
    assert found.costs.post_overhead_ns == 0
    assert found.costs.gap_per_byte_ns == pytest.approx(0.1, rel=0.01)
    assert found.costs.overhead_per_byte_ns == pytest.approx(0.05, rel=0.05)
    assert found.costs.rendezvous_ns == pytest.approx(700, rel=0.05)
    assert found.residual.largest < 0.001
    assert found.hold_out is not None
    assert found.hold_out.largest < 0.2  # a threshold between two sizes that were kept cannot be seen


def test_residuals_are_of_the_size_of_the_noise() -> None:
    found = fit(times_of(_TRUE, noise=0.05), _BURSTS)
    assert found.hold_out is not None
    assert 0.001 < found.hold_out.median < 0.05
    assert found.hold_out.largest < 0.25


def test_times_that_stand_on_no_line_are_found_again_and_what_lies_between_them() -> None:
    bent = [
        OneWay(time.payload_bytes, time.time_ns * (1.5 if time.payload_bytes >= 1 << 18 else 1))
        for time in times_of(_TRUE)
    ]
    costs = fit(bent, _BURSTS).costs
    for time in bent:
        assert costs.time_ns(time.payload_bytes) == pytest.approx(time.time_ns, rel=0.01)
    middle = costs.time_ns(3 << 18)
    assert bent[-4].time_ns < middle < bent[-2].time_ns
    assert to_platform("bent", costs)["between_hosts"]["moving_ns"][-1][0] == 1 << 22


def test_sees_no_threshold_where_there_is_none() -> None:
    plain = replace(_TRUE, eager_bytes_max=1 << 50, overhead_per_byte_ns=0)
    assert fit(times_of(plain), _BURSTS).costs.eager_bytes_max == 1 << 50


def test_what_bursts_need_beyond_a_single_message_is_that_of_beginning_receives() -> None:
    costs = fit(times_of(_TRUE), [Burst(8, 5000)]).costs
    parts = costs.send_overhead_ns + costs.receive_overhead_ns + costs.post_overhead_ns
    assert parts == pytest.approx(10_000)
    assert costs.send_overhead_ns + costs.receive_overhead_ns < _TRUE.time_ns(8)


def test_too_few_sizes_are_an_error() -> None:
    with pytest.raises(PlaitError, match="too few"):
        fit([OneWay(8, 100), OneWay(16, 100)])


def test_growth_is_the_slope_however_long_the_beginning() -> None:
    assert pairwise_growth([(8, 1080), (32, 1320), (64, 1640)]) == pytest.approx(10)


def test_a_platform_has_the_keys_of_its_format() -> None:
    platform = to_platform("here", _TRUE, ranks_per_host=2)
    assert platform["format"] == "plait-platform"
    assert platform["between_hosts"]["eager_bytes_max"] == 8192
    assert "within_host" not in platform
