# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chromium import open_page
from halo_run import Halo
from synthetic import Ring
from typer.testing import CliRunner

from plait import read_run
from plait.__main__ import app
from plait._events import Run
from plait.report.analysis import Analysis, analyse
from plait.report.compare import Row, compare
from plait.report.compare_page import build_comparison, change_text
from plait.report.summary import Better, Unit
from plait.writers.plait import write_run


def analysed(run: Run, folder: Path) -> Analysis:
    write_run(run, folder)
    return analyse(read_run(folder), folder, None)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analysed(Halo(work=1.5).run(), tmp_path_factory.mktemp("runs") / "slow")


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analysed(Halo(work=0.75, bytes_=1 << 17).run(), tmp_path_factory.mktemp("runs") / "fast")


def test_the_sentence_says_which_is_faster(slow: Analysis, fast: Analysis) -> None:
    ratio = (slow.working_ns[1] - slow.working_ns[0]) / (fast.working_ns[1] - fast.working_ns[0])
    assert compare(slow, fast).sentence.startswith(f"B is {ratio:.3g} times faster than A: ")
    assert compare(fast, slow).sentence.startswith(f"B is {ratio:.3g} times slower than A: ")
    assert compare(fast, fast).sentence.startswith("A and B took the same time within 2 %: ")


def test_the_parts_add_up_to_the_time_of_each_run(slow: Analysis, fast: Analysis) -> None:
    rows = compare(slow, fast).sections[0].rows
    for analysis, column in ((slow, "a"), (fast, "b")):
        whole = sum(getattr(row, column) for row in rows)
        assert whole == pytest.approx(analysis.working_ns[1] - analysis.working_ns[0])


def test_what_changed_most_comes_first(slow: Analysis, fast: Analysis) -> None:
    found = compare(slow, fast)
    assert found.sections[0].rows[0].name == "computing (outside calls)"
    assert found.reasons[0].startswith("computing (outside calls): ")
    for section in found.sections:
        sizes = [abs(row.difference) for row in section.rows]
        assert sizes == sorted(sizes, reverse=True)


def test_bytes_and_messages_are_compared(slow: Analysis, fast: Analysis) -> None:
    rows = {row.name: row for row in compare(slow, fast).whole.rows}
    assert rows["bytes sent"].change == pytest.approx(1.0, abs=0.01)
    assert rows["bytes sent"].is_better is None
    assert rows["messages"].difference == 0
    assert rows["bytes in flight, at most"].b == pytest.approx(2 * 4 * (1 << 17), rel=0.01)
    assert rows["data rate, all ranks"].is_better is True


def test_runs_of_tasks_are_compared_by_kind(tmp_path: Path) -> None:
    found = []
    for seed in (3, 4):
        ring = Ring(ranks=2, workers=2, seed=seed)
        ring.run(4)
        folder = ring.write(tmp_path / str(seed))
        found.append(analyse(read_run(folder), folder, None))
    comparison = compare(*found)
    parts = {row.name: row for row in comparison.sections[0].rows}
    assert {"task kernel", "outside tasks (idle, or polling the network)"} <= set(parts)
    counts = parts["task kernel"].counts
    assert counts is not None
    assert counts[0] == counts[1] > 0
    assert comparison.warnings == []


def test_what_cannot_be_compared_is_said(slow: Analysis, tmp_path: Path) -> None:
    other = Halo(ranks=2, steps=3).run()
    other = replace(other, meta={**other.meta, "program": "melt", "command": ["./melt"]})
    warnings = compare(slow, analysed(other, tmp_path / "other")).warnings
    assert "The programs differ: A halo, B melt" in warnings
    assert "The numbers of ranks differ: A 4, B 2" in warnings
    assert "The commands differ: A ./halo -n 5, B ./melt" in warnings


def test_a_run_of_tasks_and_one_of_calls_have_only_the_whole_in_common(
    slow: Analysis, ring_folder: Path
) -> None:
    found = compare(slow, analyse(read_run(ring_folder), ring_folder, None))
    assert found.reasons == []
    assert "The records differ: A calls of MPI, B tasks and messages" in found.warnings
    rows = {row.name: row for row in found.whole.rows}
    assert rows["workers idle"].a is None
    assert rows["workers idle"].is_better is None
    assert rows["time"].is_better is not None


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (Row("time", 100.0, 80.0), "▼ −20.0 %"),
        (Row("time", 100.0, 300.0), "▲ 3 times"),
        (Row("time", 100.0, 100.0), "="),
        (Row("time", None, 5.0), "only in B"),
        (Row("time", 5.0, None), "only in A"),
        (Row("idle", 0.5, 0.25, Unit.SHARE), "▼ −25.0 points"),
    ],
)
def test_changes_have_arrows(row: Row, text: str) -> None:
    assert change_text(row) == text


def test_less_is_better_of_times_and_more_of_rates() -> None:
    assert Row("time", 2.0, 1.0).is_better is True
    assert Row("rate", 2.0, 1.0, Unit.RATE, Better.MORE).is_better is False
    assert Row("bytes", 2.0, 1.0, Unit.BYTES, Better.NEITHER).is_better is None


def test_what_two_runs_of_one_program_differ_by_is_neither_better_nor_worse() -> None:
    assert Row("time", 100.0, 99.0).is_better is None
    assert Row("time", 100.0, 97.0).is_better is True
    assert Row("idle", 0.500, 0.515, Unit.SHARE).is_better is None
    assert Row("idle", 0.500, 0.525, Unit.SHARE).is_better is False
    assert Row("new", None, 5.0).is_better is False


def test_the_page_is_shown(slow: Analysis, fast: Analysis, tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    page.write_text(build_comparison(compare(slow, fast)), encoding="utf-8")
    shown = open_page(page)
    assert shown.console == []
    assert {"whole", "parts", "waits", "sites", "in-flight", "rate"} <= set(shown.figures())
    assert shown.html.count("<polyline") == 4
    assert "NaN" not in shown.html
    assert "://" not in shown.html.replace("http://www.w3.org", "")


def test_names_in_the_page_are_text(slow: Analysis, tmp_path: Path) -> None:
    run = Halo(steps=1).run()
    evil = "<script>alert(1)</script>"
    run = replace(run, functions=(evil, *run.functions[1:]), meta={**run.meta, "command": [evil]})
    page = build_comparison(compare(slow, analysed(run, tmp_path / "evil")))
    assert "<script" not in page


def test_the_command_prints_and_writes(slow: Analysis, fast: Analysis, tmp_path: Path) -> None:
    def plait(*words: Any) -> Any:
        return CliRunner().invoke(app, [str(word) for word in words])

    done = plait("report", "--compare", slow.folder, fast.folder, "--output", tmp_path)
    assert done.exit_code == 0, done.output
    assert "times faster than A" in done.output
    assert "MPI_Waitall" in done.output
    assert (tmp_path / "compare.html").is_file()
    assert plait("report").exit_code == 2
    assert plait("report", slow.folder, "--compare", slow.folder, fast.folder).exit_code == 2
