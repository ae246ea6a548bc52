# SPDX-License-Identifier: Apache-2.0
"""What is chosen from measurements; and `plait doctor --measure` as a user starts it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plait import _launcher as launcher
from plait._build import find_program
from plait._errors import PlaitError
from plait._strategy import Strategy, now
from plait.commands import measure

CHOICES = {
    "packet_bytes": ("2048", "8192", "16384"),
    "packing": ("aggregate", "immediate"),
    "progress": ("timer 100", "timer 200", "none"),
    "copiers": ("1", "2", "4"),
}


def run_plait(*arguments: str, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "plait", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=240,
        check=False,
    )


def samples(
    factors: dict[tuple[str, str, str], float] | None = None,
    *,
    noise: float = 0.01,
    drivers: tuple[str, ...] = ("shm", "mpi"),
) -> list[dict[str, Any]]:
    """Every setting takes 1 us, times the factor of (choice, driver, setting) if there is one."""
    chance = random.Random(1)
    return [
        {
            "choice": choice,
            "driver": driver,
            "setting": setting,
            "what": what,
            "seconds": [
                1e-6 * (factors or {}).get((choice, driver, setting), 1.0) * chance.gauss(1, noise)
                for _ in range(9)
            ],
        }
        for choice, settings in CHOICES.items()
        for driver in (drivers if choice not in ("progress", "copiers") else drivers[:1])
        for setting in settings
        for what in ("round trip, 512 B", "burst of 24, 512 B")
    ]


def chosen(**more: Any) -> dict[str, Any]:
    return measure.choose(measure.summarise(samples(**more)))


def test_nothing_is_chosen_where_nothing_differs() -> None:
    assert chosen() == {}
    rows = measure.summarise(samples())
    (line,) = measure.reasons(Strategy({}, now(), {}, tuple(rows)))
    assert "nothing to gain here" in line
    assert "packing aggregate" in line


def test_a_packet_is_chosen_for_each_driver() -> None:
    factors = {("packet_bytes", "mpi", "2048"): 0.8, ("packet_bytes", "mpi", "16384"): 0.9}
    assert chosen(factors=factors) == {"mpi_packet_bytes": 2048}


def test_a_difference_within_the_spread_is_not_chosen() -> None:
    factors = {("packet_bytes", "mpi", "2048"): 0.94}
    assert chosen(factors=factors) == {"mpi_packet_bytes": 2048}
    assert chosen(factors=factors, noise=0.25) == {}


def test_packing_has_to_be_better_with_every_driver() -> None:
    factors = {("packing", "mpi", "immediate"): 0.7}
    assert chosen(factors=factors) == {}
    assert chosen(factors={**factors, ("packing", "shm", "immediate"): 0.9}) == {"packing": "immediate"}


def test_progress_has_a_period() -> None:
    factors = {("progress", "shm", "timer 200"): 0.8}
    choices = chosen(factors=factors)
    assert choices == {"progress": "timer", "progress_microseconds": 200}
    rows = tuple(measure.summarise(samples(factors)))
    lines = measure.reasons(Strategy({}, now(), choices, rows))
    assert lines[0].startswith("chosen: progress timer 200 in place of timer 100 (-2")


def test_no_progress_at_all_is_never_chosen() -> None:
    assert chosen(factors={("progress", "shm", "none"): 0.1}) == {}


def test_the_number_of_copiers_is_chosen() -> None:
    factors = {("copiers", "shm", "4"): 0.8, ("copiers", "shm", "1"): 1.5}
    choices = chosen(factors=factors)
    assert choices == {"copiers": 4}
    lines = measure.reasons(Strategy({}, now(), choices, tuple(measure.summarise(samples(factors)))))
    assert lines[0].startswith("chosen: copiers 4 in place of 2 (-2")
    little = {("copiers", "shm", "4"): 0.98}
    assert chosen(factors=little) == {}, "the default, for less than 3 %"


def test_one_case_alone_counts_as_twice_the_time_at_most() -> None:
    measured = samples({("packet_bytes", "shm", "2048"): 0.6})
    for sample in measured:
        if (sample["driver"], sample["setting"], sample["what"]) == ("shm", "2048", "round trip, 512 B"):
            sample["seconds"] = [1e-3] * 9
    (row,) = [r for r in measure.summarise(measured) if (r.driver, r.setting) == ("shm", "2048")]
    assert 0.05 < row.change < 0.15
    assert row.worst.startswith("round trip, 512 B: +99")


def test_a_busy_machine_is_noticed() -> None:
    assert measure.busy_in_words(0.3, 2) == ""
    assert "busy" not in measure.busy_in_words(40, 128)
    assert "--force" in measure.busy_in_words(1.5, 2)


def test_options_of_measure_need_measure() -> None:
    assert run_plait("doctor", "--hosts", "a,b").returncode == 2


@pytest.fixture
def program() -> Path:
    try:
        return find_program(measure.PROGRAM)
    except PlaitError as error:
        pytest.skip(str(error))


def test_measured_once_used_by_the_next_program(program: Path, tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path), "PLAIT_STRATEGY": "measured"}
    described = run_plait("doctor", "--json", "--quick", **cache)
    findings = {f["part"]: f for f in json.loads(described.stdout)["findings"]}
    assert findings["strategy"]["state"] == "missing"
    assert findings["strategy"]["install"] == "plait doctor --measure"

    done = run_plait("doctor", "--measure", "--quick", "--json", "--force", **cache)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    path = Path(result["file"])
    assert path.is_relative_to(tmp_path / "plait" / "strategy")
    measured = set(measure.DEFAULTS) - (set() if launcher.available_cores() > 1 else {"copiers"})
    assert {row["choice"] for row in result["rows"]} == measured
    content = json.loads(path.read_text())
    assert content["choices"] == result["choices"]

    # A choice that no measurement can make by chance.
    content["choices"] = {"shm_packet_bytes": 12288, "mpi_packet_bytes": 12288, "copiers": 7}
    path.write_text(json.dumps(content))
    found = run_plait("doctor", "--json", "--quick", **cache)
    detail = {f["part"]: f["detail"] for f in json.loads(found.stdout)["findings"]}["strategy"]
    assert "shm_packet_bytes 12288" in detail
    assert "measured today" in detail
    assert "packet_bytes_shm 12288" in _started(program, **cache)
    assert "copiers automatic (7)" in _started(program, **cache)
    assert "copiers 3" in _started(program, PLAIT_COPIERS="3", **cache)
    assert "packet_bytes_shm 2048" in _started(program, PLAIT_PACKET_BYTES="2048", **cache)
    assert "packet_bytes_shm automatic" in _started(program, **{**cache, "PLAIT_STRATEGY": "default"})

    path.write_text(path.read_text()[:100])
    assert "the defaults are used in place of" in _started(program, **cache)


def _started(program: Path, **environment: str) -> str:
    """What a program with a runtime writes to stderr at its start: a short replay."""
    replay = program.with_name("plait-replay")
    if not replay.is_file():
        pytest.skip("plait-replay is not built")
    words = [str(replay), "--synthetic", "pattern=halo,ranks=2", "--backend", "plait"]
    found = launcher.find_launcher(None)
    place = launcher.Placement(2, 1, launcher.available_cores(), "none")
    command, more = launcher.launch_command(found, place, words)
    whole = {**os.environ, **more, "PLAIT_VERBOSE": "1", **environment}
    done = subprocess.run(command, env=whole, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_busy_machine_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.json"
    monkeypatch.setattr(measure, "describe_system", lambda: ({"mpi": "M"}, path))
    monkeypatch.setattr(
        measure, "_run", lambda _: (samples({("packet_bytes", "mpi", "2048"): 0.5}), 1.0)
    )
    monkeypatch.setattr(measure, "_run_alone", lambda _: ([], 0.0))
    monkeypatch.setattr(os, "getloadavg", lambda: (1e6, 0.0, 0.0))
    with pytest.raises(PlaitError, match="nothing is kept"):
        measure.measure(measure.Wishes(quick=True, as_json=False, force=False, hosts=None))
    assert "chosen: mpi_packet_bytes 2048" in capsys.readouterr().out
    assert not path.exists()
    assert measure.measure(measure.Wishes(quick=True, as_json=False, force=True, hosts=None)) == 0
    assert json.loads(path.read_text())["choices"] == {"mpi_packet_bytes": 2048}


def test_what_was_measured_between_hosts_stays_beside_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "one.json"
    wishes = measure.Wishes(quick=True, as_json=False, force=True, hosts=None)
    monkeypatch.setattr(measure, "describe_system", lambda: ({"mpi": "M"}, path))
    monkeypatch.setattr(measure, "_run_alone", lambda _: ([], 0.0))
    for driver, bytes_ in (("between_hosts", 16384), ("shm", 2048)):
        factors = {("packet_bytes", driver, str(bytes_)): 0.5}
        measured = samples(factors, drivers=(driver,))
        monkeypatch.setattr(measure, "_run", lambda _, measured=measured: (measured, 1.0))
        measure.measure(wishes)
    choices = json.loads(path.read_text())["choices"]
    assert choices == {"between_hosts_packet_bytes": 16384, "shm_packet_bytes": 2048}


def test_failures_of_the_program_are_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "plait-measure"
    script.parent.mkdir()
    described = json.dumps({"system": {"mpi": "M"}, "file": str(tmp_path / "one.json")})
    script.write_text(
        f"#!/bin/sh\n[ \"$1\" = --describe ] && echo '{described}' && exit\n"
        'echo "plait-measure: the net is cut" >&2; exit 3\n'
    )
    script.chmod(0o755)
    done = run_plait("doctor", "--measure", "--quick", PLAIT_BUILD=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("plait: two ranks could not be measured")
    assert done.stderr.endswith("the net is cut\n")
    assert done.stderr.count("\n") == 1
