# SPDX-License-Identifier: Apache-2.0
"""What plait-export writes is what Python writes: the same events, at the same times."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from both_ways import OTF2, PERFETTO, Perfetto, program, read_perfetto
from halo_run import Halo
from sampled_run import sampled_run

from plait import _schema
from plait._errors import PlaitError
from plait.benches.made_up import write_halo_run
from plait.export._program import otf2_by_program, perfetto_by_program
from plait.writers.plait import write_run


def _ring(ring: Path, folder: Path) -> Path:
    return ring


def _halo(ring: Path, folder: Path) -> Path:
    write_run(Halo().run(), folder)
    return folder


def _made_up(ring: Path, folder: Path) -> Path:
    write_halo_run(folder, 3, 1000)
    return folder


def _without_a_rank(ring: Path, folder: Path) -> Path:
    write_run(Halo().run(), folder)
    (folder / "rank-0002.plt").unlink()
    return folder


def _sampled(ring: Path, folder: Path) -> Path:
    write_run(sampled_run(), folder)
    return folder


RUNS: dict[str, Callable[[Path, Path], Path]] = {
    "tasks, phases, counters": _ring,
    "calls": _halo,
    "calls of three ranks": _made_up,
    "a rank is missing": _without_a_rank,
    "samples, counts": _sampled,
}


@pytest.fixture(params=RUNS)
def folder(request: pytest.FixtureRequest, ring_folder: Path, tmp_path: Path) -> Path:
    return RUNS[request.param](ring_folder, tmp_path / "run")


def _bars(found: Perfetto) -> Counter[Any]:
    return Counter(
        (event.time, event.type, event.track, event.name, frozenset(event.facts.items()), event.value)
        for event in found.events
    )


def _arrows(found: Perfetto) -> Counter[Any]:
    """Between which events arrows lead; those without a begin or an end are not drawn."""
    begun = {flow: (event.time, event.track) for event in found.events for flow in event.flows}
    return Counter(
        (begun[flow], (event.time, event.track))
        for event in found.events
        for flow in event.flows_ended
        if flow in begun
    )


def test_perfetto_traces_have_the_same_events_and_arrows(folder: Path, tmp_path: Path) -> None:
    found = {}
    for way, write in PERFETTO.items():
        write(folder, tmp_path / f"{way}.pftrace")
        found[way] = read_perfetto(tmp_path / f"{way}.pftrace")
    python, other = found["python"], found["program"]
    assert sorted(python.tracks.values()) == sorted(other.tracks.values())
    assert _bars(python) == _bars(other)
    assert _arrows(python) == _arrows(other)
    assert python.samples == other.samples
    assert len(_arrows(other)) + len(other.samples) > 0


def _path(context: Any) -> tuple[str, ...]:
    """The functions of a calling context, the outermost first."""
    found = []
    while context is not None:
        found.append(context.region.name)
        context = context.parent
    return tuple(found[::-1])


def _otf2_events(output: Path) -> Counter[Any]:
    otf2 = pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
    found: Counter[Any] = Counter()
    with otf2.reader.open(str(output / "traces.otf2")) as trace:
        for location, event in trace.events:
            facts = [
                (name, _path(value) if name == "calling_context" else getattr(value, "name", value))
                for name, value in vars(event).items()
                if name not in ("request_id", "attributes")
            ]
            facts += [
                (attribute.name, (where.file, where.line_number))
                for attribute, where in (event.attributes or {}).items()
            ]
            found[location.name, location.group.name, type(event).__name__, str(sorted(facts))] += 1
    return found


def _definitions(output: Path) -> dict[str, Any]:
    otf2 = pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
    with otf2.reader.open(str(output / "traces.otf2")) as trace:
        told = trace.definitions
        return {
            "locations": sorted((one.name, one.group.name) for one in told.locations),
            "hosts": sorted(one.name for one in told.system_tree_nodes),
            "regions": {(one.name, one.region_role, one.paradigm) for one in told.regions if one.name},
            "comms": {one.name: [each.name for each in one.group.members] for one in told.comms},
            "metrics": {(one.name, one.metric_mode) for one in told.metric_members},
            "contexts": {_path(one) for one in told.calling_contexts},
            "interrupts": {(one.name, one.exponent, one.period) for one in told.interrupt_generators},
        }


def test_otf2_archives_have_the_same_events(folder: Path, tmp_path: Path) -> None:
    for way, write in OTF2.items():
        write(folder, tmp_path / way)
    python, other = _otf2_events(tmp_path / "python"), _otf2_events(tmp_path / "program")
    assert python == other
    assert sum(other.values()) > 100


def test_otf2_archives_define_the_same(folder: Path, tmp_path: Path) -> None:
    for way, write in OTF2.items():
        write(folder, tmp_path / way)
    python, other = _definitions(tmp_path / "python"), _definitions(tmp_path / "program")
    used = {name for name, _, _ in other["regions"]}
    python["regions"] = {one for one in python["regions"] if one[0] in used}
    assert python == other


@pytest.mark.parametrize("way", PERFETTO)
def test_a_wall_clock_that_steps_moves_no_event(way: str, tmp_path: Path) -> None:
    """Ranks are aligned by their exchanges of messages; wall clocks are in the headers only."""
    folder = _made_up(tmp_path, tmp_path / "run")
    PERFETTO[way](folder, tmp_path / "before.pftrace")
    path = folder / "rank-0001.plt"
    data = bytearray(path.read_bytes())
    hour_ns = 3600 * 10**9
    wall_ns = int(np.frombuffer(data, _schema.HEADER, 1)["wall_clock_ns"][0])
    at = _schema.HEADER.fields["wall_clock_ns"][1]
    data[at : at + 8] = (wall_ns - hour_ns).to_bytes(8, "little")
    path.write_bytes(data)
    PERFETTO[way](folder, tmp_path / "after.pftrace")
    assert (tmp_path / "after.pftrace").read_bytes() == (tmp_path / "before.pftrace").read_bytes()


def test_a_run_without_a_readable_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "rank-0000.plt").write_bytes(b"no trace" * 1000)
    for write in (perfetto_by_program, otf2_by_program):
        with pytest.raises(PlaitError, match=r"rank-0000\.plt: is no plait trace"):
            write(program(), folder, tmp_path / write.__name__, lambda rank, ranks: None)
    assert not (tmp_path / "perfetto_by_program").exists()


def test_a_library_that_is_no_otf2_is_refused(ring_folder: Path, tmp_path: Path) -> None:
    command = [program(), ring_folder, "--otf2", tmp_path / "out", "--otf2-library"]
    for library, why in (
        ("libnot-there.so", "cannot be loaded"),
        ("libc.so.6", "OTF2 3 or later is needed"),
    ):
        done = subprocess.run([*command, library], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert why in done.stderr
