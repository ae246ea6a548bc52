# SPDX-License-Identifier: Apache-2.0
"""Writes run folders with struct, from the reference of the format alone: checks the reader's dtypes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HEADER_BYTES = 4096
OTHER_THREAD = 65535
NOTHING = 0xFFFFFFFF
#: Reading of the monotonic clock at time 0.
CLOCK_NS = 12345


def task(
    name: int,
    start: int,
    end: int,
    *,
    flags: int = 0,
    worker: int = 0,
    object_: int = 0,
    ready: int = 0,
    id_: int = 1,
    released_by: int = 0,
    step: int = 0,
    place: int = 0,
) -> bytes:
    head = struct.pack("<BBHIQqqq", 3, flags, worker, name, object_, ready, start, end)
    return head + struct.pack("<QQII", id_, released_by, step, place)


def message(
    direction: int,
    peer: int,
    sequence: int,
    size: int,
    times: tuple[int, int, int, int],
    *,
    protocol: int = 0,
    communicator: int = 0,
    tag: int = 7,
    flags: int = 0,
) -> bytes:
    head = struct.pack("<BBBBIII", 4, direction, protocol, flags, peer, communicator, sequence)
    return head + struct.pack("<QQqqqq", tag, size, *times)


def span(name: int, start: int, end: int, *, worker: int = 0, step: int = 0) -> bytes:
    return struct.pack("<BBHIQqqI", 5, 0, worker, name, 0, start, end, step).ljust(64, b"\0")


def gap(start: int, end: int, *, worker: int = 0) -> bytes:
    return struct.pack("<BBHIqq", 6, 0, worker, 0, start, end).ljust(64, b"\0")


def counter(name: int, time: int, value: float, *, step: int = 0) -> bytes:
    return struct.pack("<BBHIqdI", 7, 0, 0, name, time, value, step).ljust(64, b"\0")


def clock(time: int, offset: int, round_trip: int) -> bytes:
    return struct.pack("<BBHIqqq", 8, 0, 0, 0, time, offset, round_trip).ljust(64, b"\0")


def graph_task(graph: int, place: int, name: int, *, part: int = 0, later: Sequence[int] = ()) -> bytes:
    head = struct.pack("<BBHIII", 9, part, len(later), name, graph, place)
    return (head + struct.pack(f"<{len(later)}I", *later)).ljust(64, b"\0")


def flow_task(
    id_: int,
    submitted: int,
    accesses: Sequence[tuple[int, int]],
    *,
    part: int = 0,
    communicator: int = 0,
    tag: int = 0,
) -> bytes:
    """`accesses`: place, and how: 0 reads, 1 writes, 2 in any order."""
    head = struct.pack("<BBHIQqQq", 22, part, len(accesses), communicator, id_, submitted, tag, 0)
    entries = [place << 2 | how for place, how in accesses]
    return (head + struct.pack(f"<{len(entries)}I", *entries)).ljust(64, b"\0")


def sums(
    of: int,
    function: int,
    *,
    site: int = NOTHING,
    peer: int = NOTHING,
    communicator: int = 0,
    what: int = 0,
    size_class: int = 0,
    folded: int = 0,
    count: int = 1,
    time: int = 0,
    longest: int = 0,
    given: int = 0,
    got: int = 0,
    worker: int = 0,
    bins: Mapping[int, int] | None = None,
) -> bytes:
    """A sum of a profile and its two records of durations."""
    head = struct.pack("<BBHIIII", 18, of, worker, function, site, peer, communicator)
    head += struct.pack("<BBBBQqqQQ", what, size_class, folded, 0, count, time, longest, given, got)
    return head + _sum_times(bins)


def engine_sum(
    of: int,
    *,
    kind: int = NOTHING,
    span: int = NOTHING,
    peer: int = NOTHING,
    communicator: int = NOTHING,
    size_class: int = 0,
    protocol: int = 0,
    count: int = 1,
    time: int = 0,
    longest: int = 0,
    size: int = 0,
    worker: int = 0,
    bins: Mapping[int, int] | None = None,
) -> bytes:
    """A sum of a profile of plait's engine and its two records of durations."""
    head = struct.pack("<BBHIIII", 26, of, worker, kind, span, peer, communicator)
    head += struct.pack("<BBBBQqqQQ", 0, size_class, 0, protocol, count, time, longest, size, 0)
    return head + _sum_times(bins)


def _sum_times(bins: Mapping[int, int] | None) -> bytes:
    counts = [(bins or {}).get(index, 0) for index in range(24)]
    return b"".join(
        struct.pack("<BBHIQ12I", 19, 0, 12, low, 0, *counts[low : low + 12]) for low in (0, 12)
    )


def window(number: int, start: int, end: int) -> bytes:
    return struct.pack("<BBHIqq", 20, 0, 0, number, start, end).ljust(64, b"\0")


def profile_state(last: int, lost: int = 0) -> bytes:
    return struct.pack("<BBHIqQ", 21, 0, 0, 0, last, lost).ljust(64, b"\0")


def graph_run(graph: int, step: int, start: int, *, active: int = 0) -> bytes:
    return struct.pack("<BBHIqII", 10, 0, 0, graph, start, step, active).ljust(64, b"\0")


def call(
    what: int,
    function: int,
    start: int,
    end: int,
    *,
    thread: int = 0,
    site: int = NOTHING,
    communicator: int = 0,
    given: int = 0,
    got: int = 0,
    peer: int = NOTHING,
    number: int = 0,
    count: int = 0,
    repeats: int = 0,
) -> bytes:
    head = struct.pack("<BBHIIIqq", 11, what, thread, function, site, communicator, start, end)
    return head + struct.pack("<QQIIII", given, got, peer, number, count, repeats)


def communicator(number: int, members: Sequence[int]) -> bytes:
    records = []
    for first in range(0, len(members), 12):
        some = [*members[first : first + 12], *[NOTHING] * 12][:12]
        records.append(struct.pack("<BBHIII12I", 12, 0, 0, number, len(members), first, *some))
    return b"".join(records)


def shares(number: int, given: Sequence[int]) -> bytes:
    records = []
    for first in range(0, len(given), 6):
        some = given[first : first + 6]
        head = struct.pack("<BBHIII", 13, 0, 0, number, first, len(some))
        records.append(head + struct.pack("<6Q", *[*some, *[0] * 6][:6]))
    return b"".join(records)


def collective_layout(number: int, *, given: bool = True, got: bool = True) -> bytes:
    return struct.pack("<BBHI", 29, given + 2 * got, 0, number).ljust(64, b"\0")


def recorder_costs(call: int, inside: int, poll: int, message: int, request: int) -> bytes:
    return struct.pack("<B7xqqqqq", 31, call, inside, poll, message, request).ljust(64, b"\0")


def engine(workers: int, start: int, *, carries_calls: bool = False) -> bytes:
    return struct.pack("<BBBBIq", 14, 0, 0, int(carries_calls), workers, start).ljust(64, b"\0")


def open_region(name: int, start: int, end: int, *, worker: int = 0) -> bytes:
    return struct.pack("<BBHIqq", 15, 0, worker, name, start, end).ljust(64, b"\0")


def name(role: int, number: int, text: str) -> bytes:
    raw = text.encode()[:56]
    return struct.pack("<BBHI", 2, role, len(raw), number) + raw.ljust(56, b"\0")


def header(
    rank: int,
    ranks: int,
    *,
    chunk_bytes: int = 65536,
    wall_ns: int = 10**18,
    clock_ns: int = CLOCK_NS,
) -> bytes:
    head = b"PLAITTRC" + struct.pack("<IIIIII", 1, rank, ranks, 64, chunk_bytes, 0)
    return (head + struct.pack("<qq", wall_ns, clock_ns)).ljust(HEADER_BYTES, b"\0")


def chunks(records: bytes, *, thread: int = 0, chunk_bytes: int = 65536) -> bytes:
    """The records of one thread, cut into chunks with their heads and zero tails."""
    room = chunk_bytes - 64
    parts = []
    for number, first in enumerate(range(0, max(1, len(records)), room)):
        text = b"worker" if thread != OTHER_THREAD else b"main"
        head = struct.pack("<BBHI", 1, 0, thread, number) + text.ljust(56, b"\0")
        parts.append((head + records[first : first + room]).ljust(chunk_bytes, b"\0"))
    return b"".join(parts)


def checked_chunks(records: bytes, *, thread: int = 0, chunk_bytes: int = 65536) -> bytes:
    """As `chunks`, with the checksum of each block of 64 records."""
    parts = []
    room = chunk_bytes - 64 - chunk_bytes // 64
    for number, first in enumerate(range(0, max(1, len(records)), room)):
        head = struct.pack("<BBHI", 1, 0, thread, number) + b"worker".ljust(56, b"\0")
        left, chunk = head + records[first : first + room], b""
        while left:
            block, left = left[: 63 * 64], left[63 * 64 :]
            chunk += block + checksum(block)
        parts.append(chunk.ljust(chunk_bytes, b"\0"))
    return b"".join(parts)


def checksum(block: bytes) -> bytes:
    """The record that ends a block of these records."""
    total, total_of_totals = 0, 0
    for (word,) in struct.iter_unpack("<Q", block):
        total += word
        total_of_totals += total
    return struct.pack("<QQQ", 35, total % 2**64, total_of_totals % 2**64).ljust(64, b"\0")


def write_rank(folder: Path, rank: int, ranks: int, threads: Mapping[int, bytes], **head: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rank-{rank:04d}.plt"
    chunk_bytes = head.get("chunk_bytes", 65536)
    body = b"".join(chunks(r, thread=t, chunk_bytes=chunk_bytes) for t, r in threads.items())
    path.write_bytes(header(rank, ranks, **head) + body)
    return path


def write_meta(folder: Path, ranks: int, workers: int = 1, **changes: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    meta = {
        "format": "plait-trace",
        "version": 1,
        "program": "ring",
        "command": ["ring", "--bodies", "100000"],
        "ranks": ranks,
        "workers": workers,
        "hosts": ["node"] * ranks,
        "started": "2026-11-21T12:00:00Z",
        "ended": "2026-11-21T12:00:09Z",
        "mpi": "Open MPI 4.1.4",
        "revision": "0123abc",
        "options": {"PLAIT_WORKERS": str(workers)},
        **changes,
    }
    (folder / "meta.json").write_text(json.dumps(meta))


def shift(records: bytes, time_ns: int, step: int, ids: int, messages: int) -> bytes:
    """The same records later: how a long run is made from a short one."""
    table = np.frombuffer(records, dtype=np.uint8).reshape(-1, 64).copy()

    def move(rows: np.ndarray[Any, Any], offset: int, kind: str, by: int) -> None:
        width = np.dtype(kind).itemsize
        values = np.ascontiguousarray(table[rows, offset : offset + width]).view(kind)
        values[values != 0] += np.dtype(kind).type(by)
        table[rows, offset : offset + width] = values.view(np.uint8).reshape(-1, width)

    def rows(kind: int) -> np.ndarray[Any, Any]:
        return np.flatnonzero(table[:, 0] == kind)

    layout = (
        (3, (16, 24, 32), 56),
        (4, (32, 40, 48, 56), None),
        (5, (16, 24), 32),
        (6, (8, 16), None),
        (7, (8,), 24),
        (10, (8,), 16),
    )
    for kind, times, step_at in layout:
        for offset in times:
            move(rows(kind), offset, "<i8", time_ns)
        if step_at is not None:
            values = np.ascontiguousarray(table[rows(kind), step_at : step_at + 4]).view("<u4")
            table[rows(kind), step_at : step_at + 4] = (values + step).view(np.uint8).reshape(-1, 4)
    move(rows(3), 40, "<u8", ids)
    move(rows(3), 48, "<u8", ids)
    comm = np.flatnonzero((table[:, 0] == 3) & (table[:, 1] != 0))
    move(comm, 8, "<u8", messages)
    move(rows(4), 12, "<u4", messages)
    return table.tobytes()
