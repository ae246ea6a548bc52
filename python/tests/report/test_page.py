# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: every figure paints, nothing is fetched, nothing fails."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
import trace_writer as w
from chromium import open_page
from marks import needs_dot
from synthetic import Ring

from plait import read_run, write_report
from plait.report.analysis import analyse


def write_snapshot(path: Path, time: float, seed: int) -> None:
    """A ring around a heavy body, as GADGET and SWIFT lay it out."""
    random = np.random.default_rng(seed)
    angle = random.uniform(-np.pi, np.pi, 20_000)
    radius = 1.0 + 0.02 * random.standard_normal(20_000) + 0.01 * time * np.cos(2 * angle)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    positions = np.stack([x, y, 0.001 * random.standard_normal(20_000)], axis=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_group("Header").attrs["Time"] = time
        file["PartType1/Coordinates"] = np.concatenate([[[0.0, 0.0, 0.0]], positions])
        file["PartType1/Masses"] = np.concatenate([[1.0], np.full(20_000, 1e-9)])


def report_of(folder: Path, output: Path) -> Path:
    return write_report(analyse(read_run(folder), folder, None), output).page


@pytest.fixture
def page_of_ring(ring_copy: Path, tmp_path: Path) -> Path:
    for number, time in enumerate((0.0, 1.5, 3.0)):
        write_snapshot(ring_copy / "snapshots" / f"ring_{number:04d}.hdf5", time, number)
    return report_of(ring_copy, tmp_path / "out")


def test_every_figure_paints(page_of_ring: Path) -> None:
    page = open_page(page_of_ring)
    assert page.console == []
    assert page.figures() == dict.fromkeys(
        (
            *("tasks", "in-flight", "rate", "scatter", "dead-time", "phases", "kinds", "path"),
            *("graph-kinds", "graph-tasks", "matrix", "sizes", "balance"),
            *("gaps", "counter-0", "bodies"),
        ),
        True,
    )


def test_the_page_refers_to_nothing_outside(page_of_ring: Path) -> None:
    text = page_of_ring.read_text()
    outside = re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)[^"']*|url\(|@import|https?://""", text)
    assert outside == []


@needs_dot
def test_a_picture_stands_beside_the_page_for_each_figure(page_of_ring: Path) -> None:
    names = {path.name for path in page_of_ring.parent.iterdir()}
    assert names == {
        "report.html",
        *(f"tasks-rank-{rank:04d}.png" for rank in (0, 1)),
        *(f"{n}.png" for n in ("in-flight", "data-rate", "send-receive", "phases", "critical-path")),
        *(f"{n}.png" for n in ("dead-time", "poll-gaps", "counters", "bodies")),
        *(f"{n}.png" for n in ("matrix", "message-sizes", "balance")),
        *(f"graph-{n}.{kind}" for n in ("kinds", "tasks") for kind in ("dot", "svg")),
        *(f"{n}.csv" for n in ("kinds", "dead-time", "critical-path", "losses")),
        *(f"{n}.csv" for n in ("matrix", "message-sizes", "balance")),
    }
    for path in page_of_ring.parent.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_without_graphviz_the_page_says_what_to_install(
    ring_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plait.report.graphviz.shutil.which", lambda name: None)
    page = report_of(ring_folder, tmp_path / "out")
    assert "apt-get install graphviz" in page.read_text()
    assert (tmp_path / "out" / "graph-kinds.dot").read_text().startswith("digraph")
    assert not list((tmp_path / "out").glob("*.svg"))


def test_a_run_of_one_rank_without_messages_is_shown(tmp_path: Path) -> None:
    run = tmp_path / "one"
    w.write_meta(run, 1)
    w.write_rank(run, 0, 1, {0: w.name(0, 1, "work") + w.task(1, 1000, 500_000, id_=1)})
    page = open_page(report_of(run, tmp_path / "out"))
    assert page.console == []
    assert page.figures() == dict.fromkeys(
        ("tasks", "dead-time", "phases", "kinds", "path", "graph-kinds", "graph-tasks"), True
    )


def test_a_program_with_spans_only_is_shown(tmp_path: Path) -> None:
    run = tmp_path / "spans"
    w.write_meta(run, 1)
    records = [w.span(1, i * 1000, i * 1000 + 600, step=i) for i in range(1, 20)]
    w.write_rank(run, 0, 1, {0: w.name(1, 1, "phase </script> <b> $\\x_{") + b"".join(records)})
    page = open_page(report_of(run, tmp_path / "out"))
    assert page.console == []
    assert page.figures() == {"tasks": True, "phases": True}


def test_a_simulated_run_is_named_as_such(tmp_path: Path) -> None:
    told = "Simulated: 2 ranks on 1 simulated host. Times are those of a virtual clock."
    for mpi, is_simulated in (("sim", True), ("Open MPI 4.1.4", False)):
        folder = tmp_path / mpi
        w.write_meta(folder, 2, mpi=mpi)
        for rank in range(2):
            w.write_rank(folder, rank, 2, {0: w.name(0, 1, "add") + w.task(1, 100, 200)})
        assert (told in report_of(folder, folder / "out").read_text()) == is_simulated


def test_a_killed_run_is_shown_with_a_notice(ring_copy: Path, tmp_path: Path) -> None:
    w.write_meta(ring_copy, 2, 2, ended=None)
    path = ring_copy / "rank-0001.plt"
    path.write_bytes(path.read_bytes()[:120_000])
    page = open_page(report_of(ring_copy, tmp_path / "out"))
    assert page.console == []
    assert all(page.figures().values())
    assert "did not end in good order" in page.html


def test_a_run_of_a_million_events_is_shown(tmp_path: Path) -> None:
    ring = Ring(ranks=2, workers=1, seed=4)
    ring.run(100)
    run = ring.write(tmp_path / "long", repeat=98)
    assert read_run(run).event_count > 1_000_000
    page = open_page(report_of(run, tmp_path / "out"))
    assert page.console == []
    assert all(page.figures().values())


def test_a_longer_run_than_the_page_holds_is_merged(
    ring_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plait.report.payload.BARS_MAX", 1000)
    monkeypatch.setattr("plait.report.payload.MESSAGES_MAX", 100)
    monkeypatch.setattr("plait.report.payload.PATH_STRETCHES_MAX", 50)
    page = open_page(report_of(ring_folder, tmp_path / "out"))
    assert page.console == []
    assert all(page.figures().values())
    assert "This run is long" in page.html
