# SPDX-License-Identifier: Apache-2.0
"""The two ways to export a run: in Python from its tables, and by the program plait-export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from plait import match_messages, read_run, write_perfetto
from plait._build import built_program
from plait.export._program import PROGRAM, otf2_by_program, perfetto_by_program

#: Writes the run of a folder to a path.
Write = Callable[[Path, Path], None]


def program() -> Path:
    found = built_program(PROGRAM)
    if found is None:
        pytest.skip(
            f"{PROGRAM} is not built: cmake --build --preset whole --target plait_program_export"
        )
    return found


def _perfetto_in_python(folder: Path, file: Path) -> None:
    run = read_run(folder)
    write_perfetto(run, match_messages(run.messages), file)


def _perfetto_by_program(folder: Path, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    perfetto_by_program(program(), folder, file, lambda rank, ranks: None)


def _otf2_in_python(folder: Path, output: Path) -> None:
    module = pytest.importorskip("plait.export.otf2", reason="no package otf2: pip install otf2")
    module.write_otf2(read_run(folder), output)


def _otf2_by_program(folder: Path, output: Path) -> None:
    otf2_by_program(program(), folder, output, lambda rank, ranks: None)


PERFETTO: dict[str, Write] = {"python": _perfetto_in_python, "program": _perfetto_by_program}
OTF2: dict[str, Write] = {"python": _otf2_in_python, "program": _otf2_by_program}


@dataclass
class Event:
    """An event of a Perfetto trace, with the texts that it refers to."""

    time: int
    type: int
    track: tuple[str, ...]
    name: str
    facts: dict[str, Any]
    value: float
    flows: list[int]
    flows_ended: list[int]


@dataclass
class Perfetto:
    processes: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    #: Names of all tracks, each after those that it is in.
    tracks: dict[int, tuple[str, ...]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    #: (time, process, thread, nanoseconds, functions from the outermost), by time.
    samples: list[tuple[int, int, int, int, tuple[str, ...]]] = field(default_factory=list)


def read_perfetto(path: Path) -> Perfetto:
    """Of a trace whose names are interned, and of one whose names are in its packets."""
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    found = Perfetto()
    texts: dict[tuple[str, int], str] = {}
    frames: dict[int, int] = {}
    stacks: dict[int, list[int]] = {}
    for packet in trace.packet:
        interned = packet.interned_data
        texts.update({("function", entry.iid): entry.str.decode() for entry in interned.function_names})
        frames.update({entry.iid: entry.function_name_id for entry in interned.frames})
        stacks.update({entry.iid: list(entry.frame_ids) for entry in interned.callstacks})
        for kind, entries in (
            ("name", packet.interned_data.event_names),
            ("fact", packet.interned_data.debug_annotation_names),
        ):
            texts.update({(kind, entry.iid): entry.name for entry in entries})
        for entry in packet.interned_data.debug_annotation_string_values:
            texts["text", entry.iid] = entry.str.decode()
        if packet.HasField("track_descriptor"):
            _describe(found, packet.track_descriptor)
        elif packet.HasField("track_event"):
            found.events.append(_event(packet, found, texts))
        elif packet.HasField("perf_sample"):
            told = packet.perf_sample
            path = tuple(texts["function", frames[frame]] for frame in stacks[told.callstack_iid])
            facts = (packet.timestamp, told.pid, told.tid, told.timebase_count, path)
            found.samples.append(facts)
    found.samples.sort()
    return found


def _describe(found: Perfetto, told: Any) -> None:
    name = told.process.process_name or told.thread.thread_name or told.name
    found.tracks[told.uuid] = (*found.tracks.get(told.parent_uuid, ()), name)
    if told.HasField("process"):
        found.processes.append(name)
    if told.HasField("thread"):
        found.threads.append(name)


def _event(packet: Any, found: Perfetto, texts: dict[tuple[str, int], str]) -> Event:
    told = packet.track_event
    return Event(
        time=packet.timestamp,
        type=told.type,
        track=found.tracks[told.track_uuid],
        name=told.name or texts.get(("name", told.name_iid), ""),
        facts=dict(_facts(told, texts)),
        value=told.double_counter_value,
        flows=list(told.flow_ids),
        flows_ended=list(told.terminating_flow_ids),
    )


def _facts(told: Any, texts: dict[tuple[str, int], str]) -> Iterator[tuple[str, int | str]]:
    for fact in told.debug_annotations:
        name = fact.name or texts["fact", fact.name_iid]
        if fact.string_value_iid:
            yield name, texts["text", fact.string_value_iid]
        else:
            yield name, fact.string_value or fact.uint_value
