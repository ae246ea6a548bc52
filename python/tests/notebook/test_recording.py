# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import mpi_runs
import polars as pl
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import plait
from plait.__main__ import app
from plait.measures.event_tables import EVENT_TABLES
from plait.notebook.measures import Measures
from plait.notebook.plots import Plots
from plait.report.figures import FIGURES
from plait.report.tables import REPORT_TABLES

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/reference/tables.md"
MEASURES = [name for name in vars(Measures) if not name.startswith("_")]
PLOTS = [name for name in vars(Plots) if not name.startswith("_")]


@pytest.fixture(scope="module")
def ring(ring_folder: Path) -> plait.Recording:
    return plait.read(ring_folder)


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> plait.Recording:
    """A program that was recorded from outside."""
    folder = tmp_path_factory.mktemp("runs") / "halo"
    folder.mkdir()
    return plait.read(mpi_runs.write_run(folder, *mpi_runs.halo()))


def _columns_in(document: str, table: str) -> set[str]:
    """The columns that the section of a table describes."""
    section = document.split(f"### `{table}`\n", 1)[1].split("\n#", 1)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name.strip().strip("`") for row in rows for name in row.split(",")}


@pytest.mark.parametrize("name", EVENT_TABLES)
def test_event_tables_are_frames_with_the_columns_that_the_document_has(
    ring: plait.Recording, halo: plait.Recording, name: str
) -> None:
    for run in (ring, halo):
        frame = getattr(run, name)
        assert isinstance(frame, pl.DataFrame)
        assert set(frame.columns) == _columns_in(DOCUMENT.read_text(), name)
        assert getattr(run, name) is frame  # kept


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_frames_with_the_columns_that_the_document_has(
    ring: plait.Recording, halo: plait.Recording, name: str
) -> None:
    for run in (ring, halo):
        frame = getattr(run.measures, name)
        assert isinstance(frame, pl.DataFrame)
        described = _columns_in(DOCUMENT.read_text(), f"measures.{name}")
        assert set(frame.columns) == described or (not frame.columns and not frame.height)


def test_all_tables_of_a_report_are_measures() -> None:
    assert {name.replace("-", "_") for name in REPORT_TABLES} <= set(MEASURES)


def test_names_are_in_the_place_of_numbers(ring: plait.Recording, halo: plait.Recording) -> None:
    assert "kernel" in ring.tasks["kind"].cast(pl.String).to_list()
    assert set(ring.tasks["role"].cast(pl.String)) == {"task", "send", "receive"}
    assert "MPI_Isend" in halo.calls["function"].cast(pl.String).to_list()


@pytest.mark.parametrize("name", PLOTS)
def test_plots_are_figures_or_name_what_the_run_lacks(
    ring: plait.Recording, halo: plait.Recording, name: str
) -> None:
    drawn = 0
    for run in (ring, halo):
        try:
            figure = getattr(run.plots, name)()
        except plait.PlaitError as error:
            assert "no" in str(error) or "Graphviz" in str(error)
            continue
        drawn += 1
        if isinstance(figure, Figure):
            figure.savefig(BytesIO(), format="png", dpi=30)
    assert drawn or name == "graph"


def test_all_figures_of_a_report_are_plots() -> None:
    as_methods = {"calls": "timeline", "call-time": "profile", "phases": "profile"}
    as_methods["send-receive"] = "messages"
    assert {as_methods.get(name, name.replace("-", "_")) for name in FIGURES} <= set(PLOTS)


def test_figures_show_themselves_without_pyplot(ring: plait.Recording) -> None:
    figure: Any = ring.plots.in_flight()
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_timeline_is_of_one_rank(ring: plait.Recording, halo: plait.Recording) -> None:
    assert "rank 1" in ring.plots.timeline(rank=1).axes[0].get_title(loc="left")
    with pytest.raises(plait.PlaitError, match="no tasks of rank 7; its files are of ranks 0, 1"):
        ring.plots.timeline(rank=7)
    with pytest.raises(plait.PlaitError, match="leave out the rank"):
        halo.plots.timeline(rank=1)


def test_the_summary_has_units_and_is_what_the_report_prints_as_json(
    ring_folder: Path, ring: plait.Recording, tmp_path: Path
) -> None:
    values = dict(ring.summary.select("name", "value").rows())
    units = dict(ring.summary.select("name", "unit").rows())
    assert values["steps"] == 30
    assert values["length_ns"] > 0 and units["length_ns"] == "ns"
    assert 0 < values["idle_share"] < 1 and units["idle_share"] == "1"
    assert "late_ns" not in values
    words = ["report", str(ring_folder), "-o", str(tmp_path), "--json", str(tmp_path / "r.json")]
    assert CliRunner().invoke(app, words).exit_code == 0
    printed = pl.read_json(tmp_path / "r.json")["summary"].struct.unnest().to_dicts()[0]
    assert {name: value for name, value in printed.items() if value is not None} == values


def test_ranks_have_what_they_computed_sent_and_received(
    ring: plait.Recording, halo: plait.Recording
) -> None:
    for run in (ring, halo):
        ranks = run.measures.ranks
        assert ranks["rank"].to_list() == [0, 1]
        assert ranks["is_present"].all()
        assert (ranks["computing_ns"] > 0).all()
        assert ranks["sent_messages"].sum() == run.message_sides.filter(~pl.col("received")).height
        assert ranks["received_bytes"].to_list() == ranks["sent_bytes"].to_list()[::-1] or run is ring
    assert ring.measures.ranks["in_calls_ns"].null_count() == 2
    assert halo.measures.ranks["idle_share"].null_count() == 2


def test_a_rank_without_a_file_has_a_row(ring_copy: Path) -> None:
    (ring_copy / "rank-0001.plt").unlink()
    run = plait.read(ring_copy)
    assert run.measures.ranks["is_present"].to_list() == [True, False]
    assert run.measures.ranks["sent_messages"].is_null().to_list() == [False, True]
    assert any("missing" in notice for notice in run.notices)
    assert "missing" in run._repr_html_()


def test_one_step_is_a_recording_of_its_own(ring: plait.Recording) -> None:
    step = ring.only_step(7)
    assert step.tasks["step"].unique().to_list() == [7]
    assert step.steps.height == 1
    assert repr(step).endswith(".only_step(7)")
    assert ", step 7" in step._repr_html_()
    with pytest.raises(plait.PlaitError, match="there is no step 99"):
        ring.only_step(99)


def test_a_run_shows_itself(ring: plait.Recording, halo: plait.Recording) -> None:
    shown = ring._repr_html_()
    assert "workers idle" in shown
    assert "MPI" not in shown
    assert "in calls" in halo._repr_html_()
    assert repr(ring).startswith("plait.read('")
    assert halo.findings
    assert ring.findings._repr_html_().count("<li>") == len(ring.findings)


def test_what_is_no_run_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(plait.PlaitError, match="is no folder; give the run's folder"):
        plait.read(tmp_path / "none")
    with pytest.raises(plait.PlaitError, match="holds no readable rank-NNNN"):
        plait.read(str(tmp_path))


def test_nothing_is_read_before_it_is_used(ring_copy: Path) -> None:
    run = plait.read(ring_copy)
    for file in ring_copy.glob("rank-*.plt"):
        file.write_bytes(bytes(4096))
    with pytest.raises(plait.PlaitError, match="does not begin with PLAITTRC"):
        _ = run.tasks


def test_a_run_without_events_shows_itself_but_has_no_measures(tmp_path: Path) -> None:
    folder = mpi_runs.write_run(tmp_path, mpi_runs.Rank(0))
    run = plait.read(folder)
    assert "recorded: nothing" in run._repr_html_()
    assert run.tasks.height == 0
    with pytest.raises(plait.PlaitError, match="holds no events"):
        _ = run.measures
