# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict` without a network: a model computes how long replays take, a script predicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plait._errors import PlaitError
from plait._fit import Costs
from plait.commands import bench_predict
from plait.commands.bench import Wishes, run_bench

_COSTS = Costs(900, 100, 100, 0.0, 0.0, 0.1, 4096, 0.0)


def _option(description: str, key: str, default: int) -> int:
    found = dict(part.split("=") for part in description.split(",")).get(key, "")
    return int(found) if found.isdigit() else default


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each repetition is worse than the one before: only the first shows the network."""

    exchanges = {exchange.on(2) for exchange in bench_predict.EXCHANGES}

    def replay(self: bench_predict.Network, description: str) -> tuple[Path, list[float]]:
        size, steps = _option(description, "mean", 8), _option(description, "steps", 1)
        pairs = _option(description, "pairs", 1)
        if description in exchanges:
            first = 0.002
        elif pairs == 1 or (pairs == 4 and size >= 1 << 18):
            first = 1e-9 * _COSTS.time_ns(size) * steps * pairs
        else:
            first = 1e-9 * steps * (1100 + 100 * pairs)
        return tmp_path, [first, 2 * first, 3 * first]

    monkeypatch.setattr(bench_predict.Network, "replay", replay)
    program = tmp_path / "bin" / "plait-predict"
    program.parent.mkdir()
    measured = {
        "lines": [{"total_ns": 2.2e6}],
        "against": {"messages": 12, "message_error_p50": 0.1, "message_error_p90": 0.4},
    }
    program.write_text(
        '#!/bin/sh\nwhile [ $# != 0 ]; do [ "$1" = --json ] && file=$2; shift; done\n'
        f"echo '{json.dumps(measured)}' > \"$file\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PLAIT_BUILD", str(tmp_path))


@pytest.mark.usefixtures("network")
def test_prints_the_error_of_each_exchange_and_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out" / "predict.json"
    assert run_bench("predict", (), json_file=file, wishes=Wishes()) == 0
    printed = capsys.readouterr().out
    assert "6 of 6 within 15 %" in printed
    assert "+10.0 %" in printed
    result = json.loads(file.read_text())
    assert [line["exchange"] for line in result["results"]] == [
        exchange.name for exchange in bench_predict.EXCHANGES
    ]
    assert result["costs"]["eager_bytes_max"] == 4096
    assert result["costs"]["latency_ns"] == pytest.approx(900, rel=0.05)
    assert result["results"][0]["noise"] == pytest.approx(0)
    assert result["results"][0]["disturbance"] == pytest.approx(1)


def test_knows_no_further_arguments_and_no_other_mpi() -> None:
    with pytest.raises(PlaitError, match="knows no --fast"):
        run_bench("predict", ("--fast",), json_file=None, wishes=Wishes())
    with pytest.raises(PlaitError, match="leave --mpi out"):
        run_bench("predict", (), json_file=None, wishes=Wishes(mpi="mpich"))
