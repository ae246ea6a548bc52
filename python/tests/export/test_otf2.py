# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from both_ways import OTF2
from halo_run import Halo

from plait import read_run
from plait._events import CALL_BEGUN_COLLECTIVE, Run
from plait.writers.plait import write_run

otf2 = pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
from plait.export.otf2 import event_count, write_otf2  # noqa: E402  needs otf2


def events_of(folder: Path) -> list[tuple[str, Any]]:
    """(name of the location, event) in order of time."""
    with otf2.reader.open(str(folder / "traces.otf2")) as trace:
        return [(location.name, event) for location, event in trace.events]


def archive(run: Run, folder: Path) -> Path:
    write_otf2(run, folder)
    return folder


def test_regions_nest_and_times_rise_at_each_location(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    stacks: dict[str, list[str]] = defaultdict(list)
    last: dict[str, int] = defaultdict(int)
    count: Counter[str] = Counter()
    for location, event in events_of(archive(run, tmp_path / "otf2")):
        assert event.time >= last[location]
        last[location] = event.time
        if isinstance(event, otf2.events.Enter):
            stacks[location].append(event.region.name)
            count[event.region.name] += 1
        elif isinstance(event, otf2.events.Leave):
            assert stacks[location].pop() == event.region.name
    assert not any(stacks.values())
    tasks = Counter(run.kinds[kind] for kind in run.tasks["kind"])
    own = {kind: number for kind, number in tasks.items() if kind not in ("send", "receive")}
    assert {kind: count[kind] for kind in own} == own
    assert count["step"] == run.spans.height


def test_every_send_has_its_receive(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    told = [event for _, event in events_of(archive(run, tmp_path / "otf2"))]
    sends = [event for event in told if isinstance(event, otf2.events.MpiIsend)]
    ends = [event for event in told if isinstance(event, otf2.events.MpiIsendComplete)]
    got = [event for event in told if isinstance(event, otf2.events.MpiIrecv)]
    half = run.messages.height // 2
    assert len(sends) == len(ends) == len(got) == half
    assert sorted(event.msg_length for event in sends) == sorted(event.msg_length for event in got)
    assert {event.request_id for event in sends} == {event.request_id for event in ends}


def test_calls_are_regions_and_mpi_events_lie_in_them(tmp_path: Path) -> None:
    run = Halo().run()
    inside: dict[str, str] = {}
    where: dict[str, Counter[str]] = defaultdict(Counter)
    for location, event in events_of(archive(run, tmp_path / "otf2")):
        if isinstance(event, otf2.events.Enter):
            inside[location] = event.region.name
        elif isinstance(event, otf2.events.Leave):
            inside[location] = ""
        else:
            where[type(event).__name__][inside[location]] += 1
    assert where["MpiIsend"] == {"MPI_Isend": 40}
    assert where["MpiIrecvRequest"] == {"MPI_Irecv": 40}
    assert where["MpiIrecv"] == where["MpiIsendComplete"] == {"MPI_Waitall": 40}
    assert where["MpiSend"] == {"MPI_Send": 10}
    assert where["MpiRecv"] == {"MPI_Recv": 10}
    assert where["MpiCollectiveBegin"] == where["MpiCollectiveEnd"] == {"MPI_Allreduce": 20}
    assert where["NonBlockingCollectiveRequest"] == {"MPI_Iallreduce": 20}
    assert where["NonBlockingCollectiveComplete"] == {"MPI_Wait": 20}


@pytest.mark.parametrize("way", OTF2)
def test_calls_have_their_call_site(way: str, tmp_path: Path) -> None:
    run = Halo().run()
    write_run(run, tmp_path / "run")
    OTF2[way](tmp_path / "run", tmp_path / "otf2")
    found = Counter(
        (event.region.name, attribute.name, where.file, where.line_number)
        for _, event in events_of(tmp_path / "otf2")
        if isinstance(event, otf2.events.Enter)
        for attribute, where in (event.attributes or {}).items()
    )
    run = read_run(tmp_path / "run")
    wanted = Counter(
        (run.functions[function], "call site", site.file or site.place, site.line or 0)
        for function, site in (
            (function, run.sites[site])
            for function, site, kind in run.calls.select("function", "site", "class").rows()
            if site >= 0 and kind != CALL_BEGUN_COLLECTIVE
        )
    )
    assert found == wanted
    assert len({key[2:] for key in found}) > 3


def test_progress_counts_every_event(tmp_path: Path) -> None:
    run = Halo().run()
    counted: list[int] = []
    write_otf2(run, tmp_path / "otf2", counted.append)
    assert sum(counted) == len(events_of(tmp_path / "otf2"))
    assert sum(counted) <= event_count(run)


@pytest.mark.parametrize("way", OTF2)
def test_otf2_print_reads_it(way: str, ring_folder: Path, tmp_path: Path) -> None:
    if shutil.which("otf2-print") is None:
        pytest.skip("no otf2-print here: apt-get install otf2-tools")
    write_run(Halo().run(), tmp_path / "run")
    for name, folder in (("tasks", ring_folder), ("calls", tmp_path / "run")):
        OTF2[way](folder, tmp_path / name)
        path = tmp_path / name / "traces.otf2"
        done = subprocess.run(["otf2-print", path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert len(re.findall(r"^ENTER ", done.stdout, re.M)) == len(
            re.findall(r"^LEAVE ", done.stdout, re.M)
        )
        assert re.search(r"^MPI_ISEND .*Receiver: 1 .*MPI_COMM_WORLD", done.stdout, re.M)


@pytest.mark.parametrize("way", OTF2)
def test_vite_draws_it(way: str, tmp_path: Path) -> None:
    """With an arrow for each message."""
    if shutil.which("vite") is None:
        pytest.skip("no ViTE here: apt-get install vite")
    run = Halo().run()
    write_run(run, tmp_path / "run")
    OTF2[way](tmp_path / "run", tmp_path / "otf2")
    path = tmp_path / "otf2" / "traces.otf2"
    picture = tmp_path / "out.svg"
    done = subprocess.run(
        ["vite", "-e", picture, path],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert "0 errors" in done.stdout + done.stderr
    text = picture.read_text(errors="replace")
    assert len(re.findall("<polygon", text)) >= run.messages.height // 2
    assert "rank 3" in text
