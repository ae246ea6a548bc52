# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from pathlib import Path

from halo_run import Halo
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from plait import match_messages, read_run, write_perfetto
from plait._events import Run
from plait.writers.plait import write_run

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
    # Each message once more as it is posted and complete, in the tracks of bytes being sent.
    counted = run.counters.height + 2 * matched.height
    assert sum(p.track_event.type == COUNTER for p in events) == counted
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


def packets(path: Path) -> list[pb.TracePacket]:
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    return list(trace.packet)


def test_calls_stand_on_their_threads_with_what_is_known_of_them(tmp_path: Path) -> None:
    run = Halo().run()
    write_perfetto(run, match_messages(run.messages), tmp_path / "halo.pftrace")
    found = packets(tmp_path / "halo.pftrace")
    threads = {p.track_descriptor.uuid for p in found if p.track_descriptor.HasField("thread")}
    assert len(threads) == 4
    sends = [p.track_event for p in found if p.track_event.name == "MPI_Isend"]
    assert len(sends) == 40
    assert {event.track_uuid for event in sends} == threads
    told = {a.name: a.string_value or a.uint_value for a in sends[0].debug_annotations}
    assert told == {"peer": 1, "bytes given": 65536, "communicator": 0, "site": "post_sends (halo+0xc0)"}


def test_arrows_go_from_the_call_that_sent_to_the_call_that_was_told(tmp_path: Path) -> None:
    run = read_back(Halo().run(), tmp_path / "run")
    write_perfetto(run, match_messages(run.messages), tmp_path / "halo.pftrace")
    begins = [p.track_event for p in packets(tmp_path / "halo.pftrace") if p.track_event.type == BEGIN]
    out = {flow: event.name for event in begins for flow in event.flow_ids}
    into = {flow: event.name for event in begins for flow in event.terminating_flow_ids}
    assert out.keys() == into.keys()
    pairs = Counter((out[flow], into[flow]) for flow in out)
    assert pairs == {("MPI_Isend", "MPI_Waitall"): 40, ("MPI_Send", "MPI_Recv"): 10}


def test_bytes_being_sent_are_counted_for_each_rank(tmp_path: Path) -> None:
    run = read_back(Halo().run(), tmp_path / "run")
    write_perfetto(run, match_messages(run.messages), tmp_path / "halo.pftrace")
    found = packets(tmp_path / "halo.pftrace")
    tracks = {p.track_descriptor.uuid for p in found if p.track_descriptor.name == "bytes being sent"}
    values = [p.track_event.double_counter_value for p in found if p.track_event.track_uuid in tracks]
    assert len(tracks) == 4
    assert max(values) == 2 * 65536


def read_back(run: Run, folder: Path) -> Run:
    """As written and read: with the messages matched."""
    write_run(run, folder)
    return read_run(folder)
