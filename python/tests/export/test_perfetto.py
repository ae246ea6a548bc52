# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from plait import match_messages, read_run, write_perfetto

BEGIN, END, COUNTER = 1, 2, 4


def test_a_perfetto_trace_parses_back(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    matched = match_messages(run.messages)
    write_perfetto(run, matched, tmp_path / "new" / "ring.pftrace")
    trace = pb.Trace()
    trace.ParseFromString((tmp_path / "new" / "ring.pftrace").read_bytes())
    tracks = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    processes = [t.process.process_name for t in tracks if t.HasField("process")]
    threads = [t.thread.thread_name for t in tracks if t.HasField("thread")]
    events = [p for p in trace.packet if p.HasField("track_event")]
    begins = [p for p in events if p.track_event.type == BEGIN]
    assert processes == ["rank 0", "rank 1"]
    assert threads == ["worker 0", "worker 1"] * 2
    assert len(begins) == run.tasks.height + run.spans.height + run.gaps.height
    assert sum(p.track_event.type == END for p in events) == len(begins)
    assert sum(p.track_event.type == COUNTER for p in events) == run.counters.height
    known = {track.uuid for track in tracks}
    assert all(p.track_event.track_uuid in known for p in events)


def test_each_message_is_one_flow_from_its_send_to_its_receive(
    ring_folder: Path, tmp_path: Path
) -> None:
    run = read_run(ring_folder)
    matched = match_messages(run.messages)
    write_perfetto(run, matched, tmp_path / "ring.pftrace")
    trace = pb.Trace()
    trace.ParseFromString((tmp_path / "ring.pftrace").read_bytes())
    out = [f for p in trace.packet for f in p.track_event.flow_ids]
    into = [f for p in trace.packet for f in p.track_event.terminating_flow_ids]
    assert sorted(out) == sorted(into)
    assert len(set(out)) == matched.height


def test_slices_of_a_track_nest(ring_folder: Path, tmp_path: Path) -> None:
    run = read_run(ring_folder)
    write_perfetto(run, match_messages(run.messages), tmp_path / "ring.pftrace")
    trace = pb.Trace()
    trace.ParseFromString((tmp_path / "ring.pftrace").read_bytes())
    depth: dict[int, int] = {}
    last: dict[int, int] = {}
    for packet in trace.packet:
        event, track = packet.track_event, packet.track_event.track_uuid
        if event.type not in (BEGIN, END):
            continue
        assert packet.timestamp >= last.get(track, 0)
        last[track] = packet.timestamp
        depth[track] = depth.get(track, 0) + (1 if event.type == BEGIN else -1)
        assert depth[track] >= 0
    assert set(depth.values()) == {0}
