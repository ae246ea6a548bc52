# SPDX-License-Identifier: Apache-2.0
"""Costs of calibrations: what made the times up is found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from synthetic_calibration import EAGER, SIZES, contents, sending, single

from plait._calibration import (
    calibration_of,
    copy_bytes_per_s,
    costs_of,
    platform_of,
    read_calibration,
    spread_of,
)
from plait._errors import PlaitError


def test_costs_are_those_that_the_times_were_made_of() -> None:
    costs = costs_of(calibration_of(contents()))
    assert costs.eager_bytes_max == EAGER
    assert costs.latency_ns == pytest.approx(10_000)
    assert (costs.send_overhead_ns, costs.receive_overhead_ns) == (500, 300)
    assert costs.post_overhead_ns == 70
    assert costs.gap_per_byte_ns == pytest.approx(8)
    assert dict(costs.moving_ns)[8192] == pytest.approx(8 * 8192)
    assert dict(costs.sending_ns)[65536] == pytest.approx(500 + 32768)
    assert dict(costs.receiving_ns)[8192] == pytest.approx(300 + 0.2 * 8192)
    assert dict(costs.stolen_receiving_ns)[65536] == pytest.approx(0.4 * 65536)
    assert costs.both_ways == 1  # between hosts each direction has its own link


def test_a_rendezvous_send_ends_when_the_system_has_its_bytes_and_is_paid_for_then() -> None:
    costs = costs_of(calibration_of(contents()))
    gap = 600  # between two messages: what the model adds to the bytes, and not to asking
    assert dict(costs.leaving_ns) == {
        size: pytest.approx(2 * size + gap) for size in SIZES if size > EAGER
    }
    assert dict(costs.stolen_sending_ns)[EAGER] == pytest.approx(0.3 * EAGER)
    assert dict(costs.stolen_sending_ns)[131072] == pytest.approx(0.2 * 131072)


def test_calibrations_of_earlier_versions_have_fewer_curves() -> None:
    earlier = contents()
    later = ("sending, blocking", "stolen, after sending")
    earlier["series"] = [one for one in earlier["series"] if one["what"] not in later]
    costs = costs_of(calibration_of(earlier))
    assert costs.leaving_ns == ()
    assert dict(costs.stolen_sending_ns)[131072] == 0


def test_ranks_that_compute_half_as_fast_together_share_a_core() -> None:
    crowded = contents() | {"ranks_on_host": 4, "core_slice_ns": 3e6}
    apart, threads, shared = (
        calibration_of(crowded | {"slowdown_of_computing_at_once": slowdown})
        for slowdown in (1.0, 1.4, 2.02)
    )
    assert [one.cores_on_host for one in (apart, threads, shared)] == [4, 4, 2]
    platform = platform_of("crowded", shared, None, ranks_per_host=4)
    assert (platform["cores_per_host"], platform["core_slice_ns"]) == (2, 3e6)
    assert "slowdown_at_once" not in platform
    platform = platform_of("threads", threads, None, ranks_per_host=4)
    assert platform["slowdown_at_once"] == 1.4 and "core_slice_ns" not in platform
    platform = platform_of("apart", apart, None, ranks_per_host=4)
    assert not {"slowdown_at_once", "core_slice_ns"} & set(platform)


def test_a_single_message_takes_as_long_as_was_measured() -> None:
    """As `Engine` of src/plait/replay/predict adds it up."""
    costs = costs_of(calibration_of(contents()))
    for size in SIZES[1:]:
        time = dict(costs.sending_ns)[size] + costs.latency_ns + dict(costs.moving_ns)[size]
        time += dict(costs.receiving_ns)[size]
        if size > costs.eager_bytes_max:
            time += 2 * costs.latency_ns + costs.rendezvous_ns
        assert time == pytest.approx(single(size), rel=1e-6)


def test_processors_times_jump_where_eager_messages_end() -> None:
    made = contents()
    made["eager_bytes_max"] = 100_000
    curve = dict(costs_of(calibration_of(made)).sending_ns)
    assert curve[100_000] == pytest.approx(sending(65536) + 0.5 * (100_000 - 65536))
    assert curve[100_001] == 900


def test_within_a_host_both_ways_are_slower_than_one() -> None:
    costs = costs_of(calibration_of(contents(is_within_host=True)))
    assert costs.both_ways == pytest.approx(1.5, rel=0.01)


def test_copies_of_unexpected_messages() -> None:
    assert copy_bytes_per_s(calibration_of(contents())) == pytest.approx(1e10)


def test_spread_is_that_of_the_noise() -> None:
    assert spread_of(calibration_of(contents())).latency == 0
    spread = spread_of(calibration_of(contents(noise=0.1)))
    for part in (spread.latency, spread.overhead, spread.bytes):
        assert 0.01 < part < 0.1


def test_platforms_have_the_curves() -> None:
    between, within = (calibration_of(contents(is_within_host=is_within)) for is_within in (False, True))
    platform = platform_of("two hosts", between, within, ranks_per_host=2)
    assert platform["between_hosts"]["occupying_ns"][-1] == [1048576, pytest.approx(8389208, rel=1e-4)]
    assert platform["within_host"]["both_ways"] == pytest.approx(1.5, rel=0.01)
    assert platform["copy_bytes_per_s"] == 1e10
    assert platform["spread"] == {"latency": 0, "overhead": 0, "bytes": 0}


def test_files_that_are_no_calibrations_are_named(tmp_path: Path) -> None:
    file = tmp_path / "far.json"
    with pytest.raises(PlaitError, match=r"far.json is no calibration .*plait-calibrate"):
        read_calibration(file)
    file.write_text("{}")
    with pytest.raises(PlaitError, match='no "format": "plait-calibration"'):
        read_calibration(file)
    broken = contents()
    broken["series"] = [one for one in broken["series"] if one["what"] != "posting"]
    file.write_text(json.dumps(broken))
    with pytest.raises(PlaitError, match="it has no posting"):
        read_calibration(file)
    broken["series"] = [one for one in contents()["series"] if one["bytes"] < 10]
    file.write_text(json.dumps(broken))
    with pytest.raises(PlaitError, match="three sizes or more"):
        read_calibration(file)
