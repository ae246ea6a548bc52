# SPDX-License-Identifier: Apache-2.0
"""Writes a run as a Perfetto trace: a process for each rank, a track for each worker, flows for
messages, counters. Made with the protobuf classes of the `perfetto` package; needs no other program.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from plait import _events as events
from plait._events import Run
from plait._files import make_folder, write_file
from plait.report.lanes import make_lanes

_SEQUENCE = 1
_BATCH = 2000


def write_perfetto(run: Run, matched: pl.DataFrame, path: Path) -> None:
    """Times are nanoseconds since the first event of the run."""
    make_folder(path.parent)

    def write(file: IO[bytes]) -> None:
        trace = pb.Trace()
        for packet in _packets(run, matched):
            trace.packet.append(packet)
            if len(trace.packet) >= _BATCH:
                # A serialised Trace is a sequence of packets: pieces may simply follow each other.
                file.write(trace.SerializeToString())
                trace = pb.Trace()
        file.write(trace.SerializeToString())

    write_file(path, write)


def _packets(run: Run, matched: pl.DataFrame) -> Iterator[Any]:
    low = run.window_ns()[0]
    lanes = make_lanes(run)
    names = [*run.kinds, *run.span_kinds, "nobody looked at the network"]
    for rank in run.ranks_present:
        packet = pb.TracePacket()
        packet.track_descriptor.uuid = _process(rank)
        packet.track_descriptor.process.pid = rank + 1
        packet.track_descriptor.process.process_name = f"rank {rank}"
        yield packet
    flows = _flows(matched)
    for number, lane in enumerate(lanes.lanes):
        track = (number + 1) << 32
        packet = pb.TracePacket()
        packet.track_descriptor.uuid = track
        label = lane.label or f"messages {lane.worker}"
        if lane.what == "worker":
            packet.track_descriptor.parent_uuid = _process(lane.rank)
            packet.track_descriptor.thread.pid = lane.rank + 1
            packet.track_descriptor.thread.tid = (lane.rank + 1) * 100_000 + lane.worker + 1
            packet.track_descriptor.thread.thread_name = label
        else:
            packet.track_descriptor.parent_uuid = _process(lane.rank)
            packet.track_descriptor.name = label
        yield packet
        bars = lanes.bars[lane.first : lane.first + lane.count]
        find = flows if lane.what == "messages" else {}
        yield from _slices(bars, names, track, low, find, lane.rank, run)
    yield from _counter_packets(run, low)


def _process(rank: int) -> int:
    return (1 << 60) + rank


def _flows(matched: pl.DataFrame) -> dict[tuple[int, int, int], int]:
    """(source, destination, sequence) -> flow id, from 1."""
    keys = zip(matched["source"], matched["destination"], matched["sequence"], strict=True)
    return {key: number + 1 for number, key in enumerate(keys)}


def _slices(
    bars: pl.DataFrame,
    names: list[str],
    track: int,
    low_ns: int,
    flows: dict[tuple[int, int, int], int],
    rank: int,
    run: Run,
) -> Iterator[Any]:
    """Begin and end of each bar; those still open at a start end first, as slices must nest."""
    roles = _roles(run) if flows else {}
    open_ends: list[int] = []
    columns = ("start_ns", "end_ns", "ready_ns", "kind", "step", "object")
    for start, end, ready, kind, step, object_ in bars.select(columns).iter_rows():
        while open_ends and open_ends[-1] <= start:
            yield _end(track, open_ends.pop() - low_ns)
        if open_ends:
            end = min(end, open_ends[-1])
        facts = {"step": step, "waited_ns": start - ready, "object": object_}
        packet = _begin(track, start - low_ns, names[kind], facts)
        if flows:
            peer, sequence = object_ >> 32, object_ & 0xFFFFFFFF
            sent = roles.get(kind) == events.ROLE_SEND
            flow = flows.get((rank, peer, sequence) if sent else (peer, rank, sequence))
            if flow is not None:
                event = packet.track_event
                (event.flow_ids if sent else event.terminating_flow_ids).append(flow)
        yield packet
        open_ends.append(end)
    while open_ends:
        yield _end(track, open_ends.pop() - low_ns)


def _roles(run: Run) -> dict[int, int]:
    pairs = run.tasks.select("kind", "role").unique()
    return dict(zip(pairs["kind"], pairs["role"], strict=True))


def _begin(track: int, time: int, name: str, facts: dict[str, int]) -> Any:
    """Facts that are 0, and the step -1 of what belongs to none, are left out."""
    packet = pb.TracePacket()
    packet.timestamp = time
    packet.trusted_packet_sequence_id = _SEQUENCE
    event = packet.track_event
    event.type = pb.TrackEvent.TYPE_SLICE_BEGIN
    event.track_uuid = track
    event.name = name
    for key, value in facts.items():
        if value > 0:
            annotation = event.debug_annotations.add()
            annotation.name = key
            annotation.uint_value = value
    return packet


def _end(track: int, time: int) -> Any:
    packet = pb.TracePacket()
    packet.timestamp = time
    packet.trusted_packet_sequence_id = _SEQUENCE
    packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END
    packet.track_event.track_uuid = track
    return packet


def _counter_packets(run: Run, low_ns: int) -> Iterator[Any]:
    tracks: dict[tuple[int, int], int] = {}
    columns = ("rank", "kind", "time_ns", "value")
    for rank, kind, time, value in run.counters.sort("time_ns").select(columns).iter_rows():
        track = tracks.get((rank, kind))
        if track is None:
            track = tracks[rank, kind] = (1 << 59) + len(tracks)
            packet = pb.TracePacket()
            packet.track_descriptor.uuid = track
            packet.track_descriptor.parent_uuid = _process(rank)
            packet.track_descriptor.name = run.counter_kinds[kind]
            packet.track_descriptor.counter.SetInParent()
            yield packet
        packet = pb.TracePacket()
        packet.timestamp = time - low_ns
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.type = pb.TrackEvent.TYPE_COUNTER
        packet.track_event.track_uuid = track
        packet.track_event.double_counter_value = value
        yield packet
