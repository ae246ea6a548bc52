# SPDX-License-Identifier: Apache-2.0
"""Writes a run as a Perfetto trace: a process for each rank, a track for each thread with its tasks and
calls, messages in rows and as flows from thread to thread, bytes being sent, counters, samples with
their call paths. Made with the
protobuf classes of the `perfetto` package; needs no other program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from plait import _events as events
from plait._events import Run
from plait._files import make_folder, write_file
from plait.export._postings import calls_at, posting_calls
from plait.export._samples import call_paths, counted, sampled_threads, thread_label
from plait.export._tracks import Track, edges, make_tracks, names_of, zero_ns

_SEQUENCE = 1
_SAMPLES_SEQUENCE = 2  # whose packets refer to interned call paths
_BATCH = 2000
#: Added to the number of a thread that has not called MPI: it has no worker's number.
_OTHER_THREADS = 70_000
_COUNTERS = 1 << 59
_PROCESSES = 1 << 60
_SAMPLED = 1 << 58
_BEING_SENT = "bytes being sent"
_MESSAGE = ["source", "destination", "communicator", "sequence"]

#: Of a row of a table: what is beside its bar.
Facts = Callable[[int], dict[str, int | str]]


@dataclass
class _Flows:
    """Flow ids that begin, and that end, with a bar: by (table, row)."""

    begin: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    end: dict[tuple[str, int], list[int]] = field(default_factory=dict)


def write_perfetto(
    run: Run, matched: pl.DataFrame, path: Path, progress: Callable[[int], None] = lambda count: None
) -> None:
    """Times are those of rank 0's monotonic clock, in nanoseconds. `matched`: what `match_messages`
    returns.

    `progress` is called periodically with the number of packets written since its last call. Cost: about
    10 µs for each of the two ends of a bar.
    """
    make_folder(path.parent)

    def write(file: IO[bytes]) -> None:
        trace = pb.Trace()
        for packet in _packets(run, matched):
            trace.packet.append(packet)
            if len(trace.packet) >= _BATCH:
                # A serialised Trace is a sequence of packets: pieces may simply follow each other.
                file.write(trace.SerializeToString())
                trace = pb.Trace()
                progress(_BATCH)
        file.write(trace.SerializeToString())
        progress(len(trace.packet))

    write_file(path, write)


def _packets(run: Run, matched: pl.DataFrame) -> Iterator[Any]:
    low = zero_ns(run)
    names = names_of(run)
    flows = _flows(run, matched)
    facts = _facts(run)
    for rank in run.ranks_present:
        packet = pb.TracePacket()
        packet.track_descriptor.uuid = _process(rank)
        packet.track_descriptor.process.pid = rank + 1
        packet.track_descriptor.process.process_name = f"rank {rank}"
        yield packet
    with_tasks = set(run.tasks["rank"].unique())
    for number, track in enumerate(make_tracks(run)):
        uuid = (number + 1) << 32
        yield _describe(track, uuid, has_tasks=track.rank in with_tasks)
        tell = facts[track.table]
        for time, begins, name, row in edges(track):
            if not begins:
                yield _end(uuid, time - low)
                continue
            packet = _begin(uuid, time - low, names[name], tell(row))
            packet.track_event.flow_ids.extend(flows.begin.get((track.table, row), ()))
            packet.track_event.terminating_flow_ids.extend(flows.end.get((track.table, row), ()))
            yield packet
    yield from _counter_packets(run, low)
    yield from _sample_packets(run, low)


def _process(rank: int) -> int:
    return _PROCESSES + rank


def _thread(rank: int, worker: int) -> int:
    return (rank + 1) * 100_000 + worker + 1


def _describe(track: Track, uuid: int, *, has_tasks: bool) -> Any:
    packet = pb.TracePacket()
    told = packet.track_descriptor
    told.uuid = uuid
    told.parent_uuid = _process(track.rank)
    if track.what == "thread" and not (track.table == "calls" and has_tasks):
        told.thread.pid = track.rank + 1
        told.thread.tid = _thread(track.rank, track.number)
        told.thread.thread_name = track.label
    else:
        told.name = f"{track.label} calls" if track.what == "thread" else track.label
    return packet


def _flows(run: Run, matched: pl.DataFrame) -> _Flows:
    """An arrow for each message that has both sides: between the calls that posted it and that were
    notified of its end, where these are known, else between its bars.
    """
    flows = _Flows()
    ids = matched.select(_MESSAGE).with_row_index("flow", offset=1)
    sides = run.messages.select("rank", "worker", "received", "completed_ns", *_MESSAGE)
    sides = sides.with_row_index("row").with_columns(pl.Series("posted_by", posting_calls(run)))
    ended = calls_at(
        run,
        *(sides[name].to_numpy().astype(np.int64) for name in ("rank", "worker", "completed_ns")),
    )
    sides = sides.with_columns(pl.Series("ended_by", ended)).join(ids, on=_MESSAGE, how="inner")
    sides = sides.unique(["flow", "received"], keep="first", maintain_order=True)
    columns = ("flow", "received", "row", "posted_by", "ended_by")
    for flow, received, row, posted_by, ended_by in sides.select(columns).iter_rows():
        call = ended_by if received else posted_by
        where = ("messages", row) if call < 0 else ("calls", call)
        (flows.end if received else flows.begin).setdefault(where, []).append(flow)
    return flows


def _facts(run: Run) -> dict[str, Facts]:
    """For each table. Facts that are 0 or empty are left out, and peers that are none."""
    sites = [str(site) for site in run.sites]

    def teller(table: pl.DataFrame, columns: dict[str, str | pl.Expr]) -> Facts:
        if not columns:
            return lambda row: {}
        rows = table.select(
            [(pl.col(of) if isinstance(of, str) else of).alias(name) for name, of in columns.items()]
        )

        def tell(row: int) -> dict[str, int | str]:
            told = dict(zip(rows.columns, rows.row(row), strict=True))
            site = told.pop("site", None)
            if site is not None and site >= 0:
                told["site"] = sites[site]
            return told

        return tell

    waited = pl.col("start_ns") - pl.col("ready_ns")
    peer = pl.when("received").then("source").otherwise("destination")
    took = pl.col("completed_ns") - pl.col("posted_ns")
    steps: dict[str, str | pl.Expr] = {"step": "step", "object": "object"}
    return {
        "tasks": teller(run.tasks, {**steps, "waited_ns": waited}),
        "spans": teller(run.spans, steps),
        "gaps": teller(run.gaps, {}),
        "messages": teller(
            run.messages,
            {
                **{"peer": peer, "bytes": "size_bytes", "tag": "tag", "communicator": "communicator"},
                **{"took_ns": took, "site": "site"},
            },
        ),
        "calls": teller(
            run.calls,
            {
                **{"peer": "peer", "bytes given": "bytes_given", "bytes got": "bytes_got"},
                **{"communicator": "communicator", "completed": "count", "site": "site"},
            },
        ),
    }


#: Of these 0 is written as well: it is a rank, or a communicator.
_ZERO_COUNTS = frozenset({"peer", "communicator"})


def _begin(track: int, time: int, name: str, facts: dict[str, int | str]) -> Any:
    packet = pb.TracePacket()
    packet.timestamp = time
    packet.trusted_packet_sequence_id = _SEQUENCE
    event = packet.track_event
    event.type = pb.TrackEvent.TYPE_SLICE_BEGIN
    event.track_uuid = track
    event.name = name
    for key, value in facts.items():
        if isinstance(value, str):
            annotation = event.debug_annotations.add()
            annotation.name = key
            annotation.string_value = value
        elif value > 0 or (value == 0 and key in _ZERO_COUNTS):
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
    track = _COUNTERS
    changes = _being_sent(run.messages)
    for (rank,), part in changes.partition_by("rank", as_dict=True, maintain_order=True).items():
        yield _describe_counter(track, int(rank), _BEING_SENT)
        bytes_ = part["change"].cum_sum().clip(0)
        for time, value in zip(part["time_ns"].to_list(), bytes_.to_list(), strict=True):
            yield _count(track, time - low_ns, value)
        track += 1
    counters = run.counters.sort("time_ns").select("rank", "kind", "time_ns", "value")
    for (rank, kind), part in counters.partition_by("rank", "kind", as_dict=True).items():
        yield _describe_counter(track, int(rank), run.counter_kinds[int(kind)])
        for time, value in part.select("time_ns", "value").iter_rows():
            yield _count(track, time - low_ns, value)
        track += 1
    counts = counted(run).partition_by("rank", "worker", "name", as_dict=True, maintain_order=True)
    for (rank, worker, name), part in counts.items():
        yield _describe_counter(track, int(rank), f"{name}, {thread_label(int(worker), 0)}")
        for end, value in part.select("end_ns", "value").iter_rows():
            yield _count(track, end - low_ns, value)
        track += 1


def _sample_packets(run: Run, low_ns: int) -> Iterator[Any]:
    """The samples of each thread, with their call paths."""
    if not run.samples.height:
        return
    yield _call_paths_packet(run)
    paths = call_paths(run)
    for rank, worker, thread, samples in sampled_threads(run):
        tid = _thread(rank, worker if worker != events.NO_WORKER else _OTHER_THREADS + thread)
        if worker == events.NO_WORKER:
            yield _describe_thread(rank, tid, thread_label(worker, thread))
        rows = samples.select("time_ns", "site", "interval_ns").iter_rows()
        for time, site, interval in rows:
            packet = pb.TracePacket()
            packet.timestamp = time - low_ns
            packet.trusted_packet_sequence_id = _SAMPLES_SEQUENCE
            packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            sample = packet.perf_sample
            sample.pid, sample.tid = rank + 1, tid
            sample.timebase_count = interval
            sample.callstack_iid = paths.of_site[site] + 1
            yield packet


def _describe_thread(rank: int, tid: int, name: str) -> Any:
    packet = pb.TracePacket()
    told = packet.track_descriptor
    told.uuid = _SAMPLED + tid
    told.parent_uuid = _process(rank)
    told.thread.pid = rank + 1
    told.thread.tid = tid
    told.thread.thread_name = name
    return packet


def _call_paths_packet(run: Run) -> Any:
    """All functions and call paths, and that samples are by processor time."""
    paths = call_paths(run)
    packet = pb.TracePacket()
    packet.trusted_packet_sequence_id = _SAMPLES_SEQUENCE
    packet.sequence_flags = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    timebase = packet.trace_packet_defaults.perf_sample_defaults.timebase
    timebase.counter = pb.PerfEvents.SW_CPU_CLOCK
    timebase.period = run.samples["interval_ns"].min()
    packet.interned_data.mapping_paths.add(iid=1, str=b"program")
    packet.interned_data.mappings.add(iid=1, path_string_ids=[1])
    functions: dict[str, int] = {}
    for node, (name, _) in enumerate(paths.nodes):
        if name not in functions:
            functions[name] = len(functions) + 1
            packet.interned_data.function_names.add(iid=functions[name], str=name.encode())
            packet.interned_data.frames.add(
                iid=functions[name], function_name_id=functions[name], mapping_id=1
            )
        frames = [functions[paths.nodes[one][0]] for one in paths.frames(node)]
        packet.interned_data.callstacks.add(iid=node + 1, frame_ids=frames)
    return packet


def _being_sent(messages: pl.DataFrame) -> pl.DataFrame:
    """Of each rank, by time: what its posted sends add, and what those that are complete take away."""
    sends = messages.filter(~pl.col("received"))
    begun = sends.select(
        "rank", pl.col("posted_ns").alias("time_ns"), pl.col("size_bytes").alias("change")
    )
    ended = sends.filter(~pl.col("unfinished")).select(
        "rank",
        pl.max_horizontal("posted_ns", "completed_ns").alias("time_ns"),
        -pl.col("size_bytes").alias("change"),
    )
    return pl.concat([begun, ended]).sort("rank", "time_ns", maintain_order=True)


def _describe_counter(track: int, rank: int, name: str) -> Any:
    packet = pb.TracePacket()
    packet.track_descriptor.uuid = track
    packet.track_descriptor.parent_uuid = _process(rank)
    packet.track_descriptor.name = name
    packet.track_descriptor.counter.SetInParent()
    return packet


def _count(track: int, time: int, value: float) -> Any:
    packet = pb.TracePacket()
    packet.timestamp = time
    packet.trusted_packet_sequence_id = _SEQUENCE
    packet.track_event.type = pb.TrackEvent.TYPE_COUNTER
    packet.track_event.track_uuid = track
    packet.track_event.double_counter_value = value
    return packet
