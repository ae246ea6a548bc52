# SPDX-License-Identifier: Apache-2.0
"""`plait balance`: which files are meant, the arguments of the program, and the picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from plait.__main__ import app
from plait._errors import PlaitError
from plait.commands import balance
from plait.plots import style
from plait.plots.loads import draw_loads


def line(name: str, loads: list[float], sent: float) -> dict[str, Any]:
    mean = sum(loads) / len(loads)
    return {
        "balancer": name,
        "imbalance": max(loads) / mean - 1,
        "load_max_s": max(loads),
        "cost_max_s": max(loads),
        "loads_s": loads,
        "bytes_moved": 7.0,
        "bytes_between_ranks": sent,
    }


def results(ranks: int, sent: float = 100.0) -> dict[str, Any]:
    loads = [float(rank) for rank in range(ranks)]
    mean = sum(loads) / ranks
    lines = [line("as it is", loads, sent), line("even", [mean] * ranks, 2 * sent)]
    return {"load_mean_s": mean, "lines": lines}


def test_a_folder_stands_for_its_statistics(tmp_path: Path) -> None:
    for name in (
        "stats.0.json",
        "stats.1.json",
        "stats.10.json",
        "meta.json",
        "stats.2.json.unfinished",
    ):
        (tmp_path / name).write_text("{}")
    names = sorted(file.name for file in balance.statistics_files([tmp_path]))
    assert names == ["stats.0.json", "stats.1.json", "stats.10.json"]
    (tmp_path / "other.0.json").write_text("{}")
    with pytest.raises(PlaitError, match=r"several runs .other, stats."):
        balance.statistics_files([tmp_path])


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaitError, match="no files of load statistics"):
        balance.statistics_files([tmp_path])
    with pytest.raises(PlaitError, match="no FILE is given"):
        balance.statistics_files([])


def test_options_reach_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[list[str]] = []
    monkeypatch.setattr(balance, "find_program", lambda name: Path(f"/bin/{name}"))

    class Done:
        returncode = 3

    def run(command: list[str], check: bool) -> Done:
        assert not check
        told.append(command)
        return Done()

    monkeypatch.setattr(balance.subprocess, "run", run)
    words = ["--balancer", "refine", "--balancer", "curve", "--ranks", "8", "--moved", "0.5"]
    done = CliRunner().invoke(app, ["balance", "a.0.json", *words])
    assert done.exit_code == 3
    assert told == [["/bin/plait-balance", "a.0.json", *words[4:], *words[:4]]]


@pytest.mark.parametrize(("ranks", "sent"), [(1, 0.0), (4, 100.0), (16, 0.0), (300, 5e9)])
def test_loads_are_drawn_for_any_number_of_ranks(ranks: int, sent: float) -> None:
    told = (
        results(ranks, sent) if ranks > 1 else {"load_mean_s": 1.0, "lines": [line("a", [1.0], 0.0)] * 2}
    )
    file = io.BytesIO()
    figure = draw_loads(told)
    style.save(figure, file)
    assert file.getvalue().startswith(b"\x89PNG")
    left, right = figure.axes
    assert len(left.patches) == (2 * ranks if ranks <= 256 else 0)
    assert "moved" in right.get_xlabel() or sent > 0
