# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict` without a network: a model computes how long replays take, a script predicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from synthetic_calibration import contents

from plait._calibration import calibration_of
from plait._errors import PlaitError
from plait.commands import bench_predict
from plait.commands.bench import Wishes, run_bench


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each repetition is worse than the one before: only the first shows the network."""
    monkeypatch.setattr(
        bench_predict.Network, "replay", lambda self, description: (tmp_path, [0.002, 0.004, 0.006])
    )
    monkeypatch.setattr(bench_predict.Network, "calibration", lambda self: calibration_of(contents()))
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
    assert result["costs"]["eager_bytes_max"] == 65536
    assert result["costs"]["latency_ns"] == pytest.approx(10_000)
    assert result["results"][0]["noise"] == pytest.approx(0)
    assert result["results"][0]["disturbance"] == pytest.approx(1)


def test_knows_no_further_arguments_and_no_other_mpi() -> None:
    with pytest.raises(PlaitError, match="knows no --fast"):
        run_bench("predict", ("--fast",), json_file=None, wishes=Wishes())
    with pytest.raises(PlaitError, match="leave --mpi out"):
        run_bench("predict", (), json_file=None, wishes=Wishes(mpi="mpich"))
