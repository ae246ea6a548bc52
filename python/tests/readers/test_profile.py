# SPDX-License-Identifier: Apache-2.0
"""Profiles: the tables of their sums, what is folded, and their windows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import trace_writer as w
from mpi_runs import NUMBER, Rank, names, write_run

from plait import read_run
from plait._errors import PlaitError
from plait._events import Run
from plait.measures.messages import match_messages
from plait.measures.profile import describe_profile, durations
from plait.report.analysis import Analysis, analyse
from plait.report.summary import find_all_losses, summarise

SECOND = 10**9
_WAIT, _SEND, _ALLREDUCE = (NUMBER[f"MPI_{name}"] for name in ("Waitall", "Isend", "Allreduce"))


def profile(folder: Path, *, more: bytes = b"") -> Path:
    """Two ranks of 10 s: rank 1 waits for rank 0, which computes."""
    w.write_meta(folder, 2, recorder="mpi", program="halo", options={"profile": "on"})
    for rank, waiting in ((0, SECOND), (1, 6 * SECOND)):
        ends = Rank(rank)
        ends.initialise(0)
        ends.finalise(10 * SECOND, 10 * SECOND)
        records = b"".join(ends.records) + w.profile_state(10 * SECOND)
        records += w.sums(
            *(0, _WAIT),
            **{
                "what": 2,
                "site": 1,
                "count": 1000,
                "time": waiting,
                "longest": SECOND,
                "bins": {5: 990, 23: 10},
            },
        )
        records += w.sums(
            0, _ALLREDUCE, what=4, communicator=0, size_class=4, count=10, time=1000, given=80, got=80
        )
        records += w.sums(1, _SEND, peer=1 - rank, size_class=11, count=100, time=5, given=150_000)
        records += w.sums(2, _SEND, peer=1 - rank, size_class=11, count=100, time=5, given=150_000)
        w.write_rank(folder, rank, 2, {0: names() + w.clock(0, 0, 0) + records + more})
    return folder


def analysis_of(folder: Path) -> Analysis:
    return analyse(read_run(folder), folder, None)


def test_a_profile_has_the_tables_of_a_recording(tmp_path: Path) -> None:
    analysis = analysis_of(profile(tmp_path))
    calls, traffic = analysis.calls, analysis.traffic
    assert calls.window_ns == (0, 10 * SECOND)
    waits = calls.by_site.row(0, named=True)
    assert analysis.run.functions[waits["function"]] == "MPI_Waitall"
    assert (waits["count"], waits["time_ns"], waits["max_ns"]) == (2000, 7 * SECOND, SECOND)
    assert waits["share"] == pytest.approx(0.35)
    assert traffic.matrix.rows() == [(0, 1, 100, 150_000), (1, 0, 100, 150_000)]
    assert traffic.collectives.select("source", "destination", "messages", "bytes").rows() == [
        (0, 1, 10, 80),
        (1, 0, 10, 80),
    ]
    assert traffic.sizes.rows() == [(1024, 2048, 200, 300_000)]
    assert traffic.balance.whole() == pytest.approx(9 / 6.5 - 1, abs=1e-3)


def test_its_summary_leaves_open_what_sums_do_not_show(tmp_path: Path) -> None:
    analysis = analysis_of(profile(tmp_path))
    found = {quantity.name: quantity.value for quantity in summarise(analysis)}
    assert (found["messages"], found["sent_bytes"]) == (200, 300_000)
    assert found["in_calls_ns"] == pytest.approx(3.5 * SECOND, rel=1e-3)
    assert found["late_ns"] is None
    assert found["stalled_ns"] is None
    assert found["in_flight_max_bytes"] is None
    assert sum("cannot be known from sums" in notice for notice in analysis.run.notices) == 1
    sentences = " ".join(find_all_losses(analysis))
    assert "35 % of the time is spent in MPI_Waitall" in sentences
    assert "Rank 0 computed 1.38 times the mean" in sentences


def test_durations_are_right_within_their_bins(tmp_path: Path) -> None:
    row = durations(read_run(profile(tmp_path))).row(0, named=True)
    assert 2**12 <= row["p50_ns"] <= 2**13
    assert 2**12 <= row["p90_ns"] <= 2**13
    assert 2**12 <= row["p99_ns"] <= 2**13
    assert row["bin_23"] == 20


def test_what_was_folded_is_reported_and_still_counted(tmp_path: Path) -> None:
    more = w.sums(0, w.NOTHING, what=2, size_class=255, folded=2, count=7, time=9 * SECOND)
    more += w.sums(1, _SEND, folded=1, size_class=1, count=3, given=3)
    analysis = analysis_of(profile(tmp_path, more=more))
    names_of = [analysis.run.functions[f] for f in analysis.calls.by_function["function"]]
    assert names_of[0] == "functions folded together"
    about = describe_profile(analysis.run)
    assert any("14 of" in line and "have a class only" in line for line in about)
    assert any("6 of" in line and "no peer" in line for line in about)
    assert int(analysis.traffic.sizes["messages"].sum()) == 206
    assert int(analysis.traffic.matrix["messages"].sum()) == 200


def test_a_killed_profile_lasts_until_its_last_call(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 1, recorder="mpi", ended=None, options={"profile": "on"})
    begun = Rank(0)
    begun.initialise(0)
    records = b"".join(begun.records) + w.profile_state(4 * SECOND)
    records += w.sums(0, _WAIT, what=2, count=5, time=SECOND, longest=SECOND)
    w.write_rank(tmp_path, 0, 1, {0: names() + records})
    analysis = analysis_of(tmp_path)
    assert analysis.total_ns == 4 * SECOND
    assert analysis.calls.by_function["share"][0] == pytest.approx(0.25)


def test_lost_calls_are_reported(tmp_path: Path) -> None:
    run = read_run(profile(tmp_path, more=w.profile_state(SECOND, lost=12)))
    assert any("24 calls and messages are in no sum" in line for line in describe_profile(run))


# --- windows -------------------------------------------------------------------------------------------


def windowed(folder: Path) -> Path:
    """Window 2 is from 1000 to 2000; rank 0 sends every 100, rank 1 receives what was sent 50 before.

    The receives that rank 1 posts in the window are of messages that rank 0 sent in it, but the first,
    which was sent before.
    """
    a, b = Rank(0), Rank(1)
    for start in range(1000, 2000, 100):
        a.send(start, start + 10, 1, 8)
    for start in range(1000, 2000, 100):
        b.receive(start, start + 60, 0, 8)
    for rank in (a, b):
        rank.raw(w.window(2, 1000, 2000))
        rank.raw(w.profile_state(9000))
        rank.raw(w.sums(0, _WAIT, what=2))
    return write_run(folder, a, b, options={"profile": "on"})


def test_a_window_has_its_events_in_the_place_of_sums(tmp_path: Path) -> None:
    whole = read_run(windowed(tmp_path))
    assert (whole.calls.height, whole.messages.height, whole.is_profile) == (0, 0, True)
    assert whole.windows.select("number", "start_ns", "end_ns").unique().rows() == [(2, 1000, 2000)]
    part = read_run(tmp_path, window=2)
    assert (part.calls.height, part.is_profile) == (20, False)
    assert part.window_ns() == (1000, 1960)


def shifted(folder: Path, *, before: int) -> Run:
    """As `windowed`, but the first sends are `before` the window and were not recorded."""
    a, b = Rank(0), Rank(1)
    for index in range(10):
        if index >= before:
            a.send(1000 + 100 * index, 1010 + 100 * index, 1, 8 + index)
        b.receive(950 + 100 * index + (100 if before else 50), 1060 + 100 * index, 0, 8 + index)
    for rank in (a, b):
        rank.raw(w.window(0, 900, 3000))
        rank.raw(w.profile_state(9000))
        rank.raw(w.sums(0, _WAIT, what=2))
    return read_run(write_run(folder, a, b, options={"profile": "on"}), window=0)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_messages_are_matched_though_the_window_cuts_one_side(tmp_path: Path, before: int) -> None:
    run = shifted(tmp_path, before=before)
    matched = match_messages(run.messages)
    assert matched["size_bytes"].to_list() == [8 + index for index in range(before, 10)]
    received = run.messages.filter("received")["size_bytes"].sort().to_list()
    assert received == matched["size_bytes"].to_list()
    assert (matched["received_ns"] >= matched["sent_ns"]).all()


def test_a_window_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(PlaitError, match="no window 3 in this run; it has window 2"):
        read_run(windowed(tmp_path / "a"), window=3)
    with pytest.raises(PlaitError, match="this profile has no windows"):
        read_run(profile(tmp_path / "b"), window=0)
    plain = write_run(tmp_path / "c", Rank(0))
    with pytest.raises(PlaitError, match="is no profile and has no windows"):
        read_run(plain, window=0)


def test_a_window_that_never_closed_ends_with_its_rank(tmp_path: Path) -> None:
    a = Rank(0)
    a.collective("MPI_Barrier", 1500, 1600)
    for record in (w.window(0, 1000, 0), w.profile_state(1700), w.sums(0, _WAIT, what=2)):
        a.raw(record)
    run = read_run(write_run(tmp_path, a, options={"profile": "on"}))
    assert run.windows.select("start_ns", "end_ns").rows() == [(1000, 1700)]
    assert pl.Series(run.sums["bin_0"]).to_list() == [0]
