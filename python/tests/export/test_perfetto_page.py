# SPDX-License-Identifier: Apache-2.0
"""What Perfetto's own page makes of an exported trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from both_ways import PERFETTO
from halo_run import Halo
from perfetto_page import Tab, open_trace
from sampled_run import PATHS, sampled_run

from plait import read_run
from plait.writers.plait import write_run


def column(tab: Tab, query: str) -> list[str]:
    """The texts of a query's column `name`."""
    rows = f"app.trace.engine.query(`{query}`)"
    each = "const found = []; for (const row = rows.iter({name: 'str'}); row.valid(); row.next()) "
    found: list[str] = tab.evaluate(
        f"{rows}.then(rows => {{ {each} found.push(row.name); return found; }})"
    )
    return found


def number(tab: Tab, query: str) -> int:
    found: int = tab.evaluate(
        f"app.trace.engine.query(`{query}`).then(rows => rows.firstRow({{n: 0}}).n)"
    )
    return found


@pytest.mark.parametrize("way", PERFETTO)
def test_the_page_shows_threads_calls_messages_and_arrows(way: str, tmp_path: Path) -> None:
    write_run(Halo().run(), tmp_path / "halo")
    run = read_run(tmp_path / "halo")
    PERFETTO[way](tmp_path / "halo", tmp_path / "halo.pftrace")
    with open_trace(tmp_path / "halo.pftrace") as tab:
        tab.wait_until("app.trace && document.body.innerText.includes('rank 3')")
        expand = "app.trace.commands.runCommand('dev.perfetto.ExpandTracksByRegex', 'rank.*')"
        tab.evaluate(f"Promise.resolve({expand}).then(() => waitForPerfettoIdle()).then(() => true)")
        text = tab.evaluate("document.body.innerText")
        tab.screenshot(tmp_path / "page.png")
        slices = number(tab, "select count(1) as n from slice")
        arrows = number(tab, "select count(1) as n from flow")
        errors = number(
            tab, "select ifnull(sum(value), 0) as n from stats where severity = 'error' and value > 0"
        )
        names = column(tab, "select distinct name from slice where name is not null order by name")
        sites = column(
            tab,
            "select distinct args.string_value as name from slice join args using (arg_set_id) "
            "where args.key = 'debug.site' and slice.name = 'MPI_Isend'",
        )
        counters = number(
            tab, "select count(distinct track_id) as n from counter where value = 131072.0"
        )
    assert errors == 0
    assert slices == run.calls.height + run.messages.height
    assert arrows == run.messages.height // 2
    assert set(names) == {*run.functions, "send", "receive"}
    assert sites == ["post_sends (halo+0xc0)"]
    assert counters == 4
    for label in ("rank 0", "thread 0", "messages", "bytes being sent"):
        assert label in text, label
    assert (tmp_path / "page.png").stat().st_size > 20_000


@pytest.mark.parametrize("way", PERFETTO)
def test_the_page_shows_samples_with_their_call_paths(way: str, tmp_path: Path) -> None:
    write_run(sampled_run(), tmp_path / "run")
    PERFETTO[way](tmp_path / "run", tmp_path / "run.pftrace")
    with open_trace(tmp_path / "run.pftrace") as tab:
        tab.wait_until("app.trace && document.body.innerText.includes('rank 1')")
        samples = number(tab, "select count(1) as n from perf_sample where callsite_id is not null")
        threads = number(tab, "select count(distinct utid) as n from perf_sample")
        depths = column(
            tab,
            "select distinct frame.name || ' ' || depth as name from stack_profile_callsite "
            "join stack_profile_frame as frame on frame.id = frame_id",
        )
        counters = column(tab, "select distinct name from counter_track where name like 'cycles in%'")
        errors = number(
            tab, "select ifnull(sum(value), 0) as n from stats where severity = 'error' and value > 0"
        )
        tab.screenshot(tmp_path / "page.png")
    assert (samples, threads, errors) == (120, 3, 0)
    assert set(depths) == {f"{path[-1]} {len(path) - 1}" for path in PATHS}
    assert len(counters) == 3
