# SPDX-License-Identifier: Apache-2.0
"""Writes a run as an OTF2 archive, for Vampir, ViTE, Scalasca and the like.

A location group for each rank, a location for each of its threads, and locations for what lies across
threads: phases, and the samples of each thread, with their call paths as calling contexts. Messages and
collectives are MPI events of the thread that made them, or of the rank's first thread where that is not
known. Needs the package `otf2`.
"""

from __future__ import annotations

import ctypes
import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import otf2
import polars as pl
from _otf2.Config import conf
from _otf2.ErrorCodes import Error, ErrorCode
from otf2 import enums

from plait import _events as events
from plait._errors import PlaitError
from plait._events import Run
from plait._files import make_folder
from plait.export._otf2_names import Definitions
from plait.export._postings import posting_calls
from plait.export._samples import counted, sampled_threads
from plait.export._tracks import Track, edges, make_tracks, zero_ns

ARCHIVE = "traces"
#: Of events at one time: what ends messages comes before the edges of bars, what begins them after.
_ENDS, _EDGE, _BEGINS = 0, 1, 2
_TOLD_EVERY = 2000
_COLLECTIVE = (events.CALL_COLLECTIVE, events.CALL_BEGUN_COLLECTIVE)
_NO_ROOT = enums.Undefined.UINT32.value
_NO_DISTANCE = enums.Undefined.UINT32.value  # how many callers returned since the sample before

#: (time, order, name of the writer's method, its further arguments).
Event = tuple[int, int, str, tuple[Any, ...]]


def write_otf2(run: Run, folder: Path, progress: Callable[[int], None] = lambda count: None) -> None:
    """Writes `folder`/traces.otf2 and what belongs to it; there must be no archive in the folder.

    Times are those of rank 0's monotonic clock, in nanoseconds. `progress` is called periodically with
    the number of events written since its last call. Cost: about 10 µs an event.
    """
    make_folder(folder)
    tracks = [track for track in make_tracks(run) if track.what in ("spans", "thread")]
    with _errors() as errors:
        archive = otf2.writer.Writer(str(folder), archive_name=ARCHIVE, timer_resolution=10**9)
        try:
            _fill(archive, run, tracks, progress)
            archive.close()
        except Error as error:
            archive._handle = None  # what could not be written cannot be closed
            errors.append(error)
    if errors:
        raise PlaitError(
            f"{folder}: OTF2 cannot write the archive ({errors[0]}); is the disk full?"
        ) from errors[0]


@contextmanager
def _errors() -> Iterator[list[Error]]:
    """Gathers the errors of OTF2, also those that no function returns: of data that is written when a
    file is closed.
    """
    found: list[Error] = []

    def note(data: int, file: bytes, line: int, function: bytes, code: int, *more: Any) -> int:
        if code > 0:  # below 0 are warnings
            found.append(Error(ErrorCode(code)))
        return code

    char, number = ctypes.c_char_p, ctypes.c_int
    arguments = (ctypes.c_void_p, char, ctypes.c_uint64, char, number, char, ctypes.c_void_p)
    kind = ctypes.CFUNCTYPE(number, *arguments)
    register = conf.lib.OTF2_Error_RegisterCallback
    register.argtypes, register.restype = (kind, ctypes.c_void_p), ctypes.c_void_p
    callback = kind(note)
    register(callback, None)
    try:
        yield found
    finally:
        register(kind(0), None)


def _fill(archive: Any, run: Run, tracks: Sequence[Track], progress: Callable[[int], None]) -> None:
    archive.creator = "plait"
    archive.description = " ".join(str(word) for word in run.meta.get("command") or [])
    names = Definitions(run, archive.definitions, tracks)
    points = _points(run, names)
    zero = zero_ns(run)
    for key, location in names.locations.items():
        writer = archive.event_writer_from_location(location)
        own = [track for track in tracks if names.key(track) == key]
        bars = _bar_events(run, own[0], names) if own else iter(())
        told = sorted(points.get(key, []), key=itemgetter(0, 1))
        _write(writer, heapq.merge(bars, told, key=itemgetter(0, 1)), zero, progress)


def event_count(run: Run) -> int:
    """About how many events there will be, at most: what `progress` counts up to."""
    bars = run.spans.height + run.calls.height + run.tasks.height
    collectives = int(run.calls["class"].is_in(_COLLECTIVE).sum())
    points = run.counters.height + run.counts.height + run.samples.height
    return 2 * (bars + collectives + run.messages.height) + points


def _write(writer: Any, told: Iterator[Event], zero: int, progress: Callable[[int], None]) -> None:
    since = 0
    for time, _, method, arguments in told:
        getattr(writer, method)(time - zero, *arguments)
        since += 1
        if since == _TOLD_EVERY:
            progress(since)
            since = 0
    progress(since)


def _bar_events(run: Run, track: Track, names: Definitions) -> Iterator[Event]:
    """Calls have their call site as an attribute, where it is known."""
    sites = run.calls["site"].to_list() if track.table == "calls" else None
    for time, begins, name, row in edges(track):
        site = sites[row] if begins and sites is not None else -1
        told = (names.regions[name],) if site < 0 else (names.regions[name], names.call_site(site))
        yield time, _EDGE, "enter" if begins else "leave", told


def _points(run: Run, names: Definitions) -> dict[Any, list[Event]]:
    """The MPI events and counters of each location."""
    points: dict[Any, list[Event]] = {}

    def add(rank: int, thread: int, event: Event) -> None:
        points.setdefault(names.thread_key(rank, thread), []).append(event)

    _add_messages(run, names, add)
    _add_collectives(run, names, add)
    for rank, kind, time, value in run.counters.select("rank", "kind", "time_ns", "value").iter_rows():
        add(rank, -1, (time, _BEGINS, "metric", (names.metrics[kind], value)))
    counts = counted(run).select("rank", "worker", "name", "end_ns", "value")
    for rank, worker, name, time, value in counts.iter_rows():
        add(rank, worker, (time, _BEGINS, "metric", (names.counts[name], value)))
    for rank, _, thread, samples in sampled_threads(run):
        points[rank, "samples", thread] = [
            (
                time,
                _BEGINS,
                "calling_context_sample",
                (names.context(site), _NO_DISTANCE, names.interrupts),
            )
            for time, site in samples.select("time_ns", "site").iter_rows()
        ]
    return points


Add = Callable[[int, int, Event], None]


def _posters(run: Run) -> pl.DataFrame:
    """The messages with the thread of the posting call (-1: not known), and whether that waited."""
    rows = posting_calls(run)
    known = rows >= 0
    poster = np.full(rows.size, -1, dtype=np.int64)
    poster[known] = run.calls["worker"].to_numpy()[rows[known]]
    waits = np.zeros(rows.size, dtype=np.bool_)
    waits[known] = run.calls["class"].to_numpy()[rows[known]] == events.CALL_MESSAGE
    return run.messages.with_columns(pl.Series("poster", poster), pl.Series("waits", waits))


def _add_messages(run: Run, names: Definitions, add: Add) -> None:
    columns = (
        *("rank", "received", "source", "destination", "communicator", "tag", "size_bytes"),
        *("posted_ns", "completed_ns", "unfinished", "worker", "poster", "waits"),
    )
    rows = _posters(run).select(columns).iter_rows(named=True)
    for request, row in enumerate(rows):
        rank, number = row["rank"], row["communicator"]
        peer = names.index(number, row["source"] if row["received"] else row["destination"])
        what = (peer, names.comm(number), row["tag"] & 0xFFFFFFFF, row["size_bytes"])
        posted, completed = row["posted_ns"], max(row["posted_ns"], row["completed_ns"])
        poster = row["poster"]
        if row["waits"]:
            if not row["received"]:
                add(rank, poster, (posted, _BEGINS, "mpi_send", what))
            elif not row["unfinished"]:
                add(rank, poster, (completed, _ENDS, "mpi_recv", what))
            continue
        begin, end = "mpi_isend", "mpi_isend_complete"
        begun: tuple[Any, ...] = (*what, request)
        ended: tuple[Any, ...] = (request,)
        if row["received"]:
            begin, end = "mpi_irecv_request", "mpi_irecv"
            begun, ended = (request,), (*what, request)
        add(rank, poster, (posted, _BEGINS, begin, begun))
        if not row["unfinished"]:
            add(rank, row["worker"], (completed, _ENDS, end, ended))


def _add_collectives(run: Run, names: Definitions, add: Add) -> None:
    found = run.calls.with_row_index("row").filter(pl.col("class").is_in(_COLLECTIVE))
    for row in found.iter_rows(named=True):
        operation = names.operation(row["function"])
        if operation is None:
            continue
        rank, number = row["rank"], row["communicator"]
        root = names.index(number, row["peer"]) if row["peer"] >= 0 else _NO_ROOT
        what = (operation, names.comm(number), root, row["bytes_given"], row["bytes_got"])
        start, end, thread = row["start_ns"], row["end_ns"], row["worker"]
        if row["class"] == events.CALL_COLLECTIVE:
            add(rank, thread, (start, _BEGINS, "mpi_collective_begin", ()))
            add(rank, thread, (end, _ENDS, "mpi_collective_end", what))
        else:
            request = run.messages.height + row["row"]
            add(rank, thread, (start, _BEGINS, "non_blocking_collective_request", (request,)))
            ended = (*what, request)
            add(rank, thread, (end, _ENDS, "non_blocking_collective_complete", ended))
