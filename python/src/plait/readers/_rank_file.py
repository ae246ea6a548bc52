# SPDX-License-Identifier: Apache-2.0
"""One rank's file: finds the valid records, leaves out the impossible ones and says which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait import _events as events
from plait.readers import _layout as layout

Records = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

#: A time further than this from the start of the run is taken for a damaged record.
TIME_MAX_NS = 366 * 86400 * 10**9
#: A rank with more workers than this is taken for a damaged record.
WORKERS_MAX = 4096
SIZE_MAX_BYTES = 1 << 50
#: Ranks that a header may claim; guards against a damaged header.
RANKS_MAX = 1 << 22


class UnusableFileError(Exception):
    """The file as a whole cannot be read; the text says why."""


@dataclass
class RankFile:
    rank: int
    ranks: int
    wall_ns: int
    tasks: Records
    messages: Records
    spans: Records
    gaps: Records
    counters: Records
    clocks: Records
    graph_tasks: Records
    graph_runs: Records
    calls: Records
    communicators: Records
    shares: Records
    message_threads: npt.NDArray[np.uint16]  # which recorded each of `messages`
    names: dict[tuple[int, int], str]  # (role, number) -> text
    notices: list[str] = field(default_factory=list)


def read_rank_file(path: Path) -> RankFile:
    """Reads what is valid. Raises UnusableFileError where not even the header is."""
    try:
        raw = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from error
    header = _read_header(raw)
    notices: list[str] = []
    records = raw[layout.HEADER_BYTES :]
    records = records[: records.size // layout.RECORD_BYTES * layout.RECORD_BYTES]
    table = records.reshape(-1, layout.RECORD_BYTES)
    kinds = _valid_kinds(
        np.ascontiguousarray(table[:, 0]), int(header["chunk_bytes"]) // layout.RECORD_BYTES
    )
    if kinds.bad_chunks:
        notices.append(
            f"{path.name}: event {kinds.first_bad}: {kinds.bad_chunks} chunk(s) do not begin with "
            "a chunk record and were left out"
        )

    def take(
        kind: int, dtype: np.dtype[Any], checks: Callable[[Records], list[Check]]
    ) -> tuple[Records, Index]:
        where = np.flatnonzero(kinds.of_record == kind)
        found: Records = table[where].view(dtype).reshape(-1)
        keep = _possible(where, checks(found), path.name, notices)
        return (found, where) if keep is None else (found[keep], where[keep])

    ranks = int(header["ranks"])
    messages, message_index = take(
        layout.KIND_MESSAGE, layout.MESSAGE, lambda f: _check_messages(f, ranks)
    )
    result = RankFile(
        rank=int(header["rank"]),
        ranks=ranks,
        wall_ns=int(header["wall_ns"]),
        tasks=take(layout.KIND_TASK, layout.TASK, lambda found: _check_tasks(found, ranks))[0],
        messages=messages,
        spans=take(layout.KIND_SPAN, layout.SPAN, lambda f: _check_interval(f, "span"))[0],
        gaps=take(layout.KIND_GAP, layout.GAP, lambda f: _check_interval(f, "poll gap"))[0],
        counters=take(layout.KIND_COUNTER, layout.COUNTER, _check_counters)[0],
        clocks=take(layout.KIND_CLOCK, layout.CLOCK, _check_clocks)[0],
        graph_tasks=take(layout.KIND_GRAPH_TASK, layout.GRAPH_TASK, _check_graph_tasks)[0],
        graph_runs=take(layout.KIND_GRAPH_RUN, layout.GRAPH_RUN, _check_graph_runs)[0],
        calls=take(layout.KIND_CALL, layout.CALL, lambda f: _check_calls(f, ranks))[0],
        communicators=take(
            layout.KIND_COMMUNICATOR, layout.COMMUNICATOR, lambda f: _check_communicators(f, ranks)
        )[0],
        shares=take(layout.KIND_SHARES, layout.SHARES, _check_shares)[0],
        message_threads=kinds.threads(table, message_index),
        names={},
        notices=notices,
    )
    for name in take(layout.KIND_NAME, layout.NAME, lambda found: [])[0]:
        text = bytes(name["text"])[: min(int(name["length"]), layout.NAME_BYTES)]
        key = (int(name["role"]), int(name["number"]))
        shown = text.decode("utf-8", "replace").rstrip("\0")
        result.names[key] = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return result


def _read_header(raw: npt.NDArray[np.uint8]) -> Any:
    if raw.size < layout.HEADER_BYTES:
        raise UnusableFileError(f"is only {raw.size} bytes long, shorter than its header")
    header = raw[: layout.HEADER_BYTES].view(layout.HEADER)[0]
    if raw[:8].tobytes() != layout.MAGIC:
        raise UnusableFileError("is no plait trace (it does not begin with PLAITTRC)")
    if header["version"] != layout.VERSION:
        raise UnusableFileError(
            f"has format version {header['version']}, this plait reads version {layout.VERSION}"
        )
    if header["record_bytes"] != layout.RECORD_BYTES:
        raise UnusableFileError(f"has records of {header['record_bytes']} bytes instead of 64")
    chunk_bytes = int(header["chunk_bytes"])
    if chunk_bytes < 128 or chunk_bytes % 64:
        raise UnusableFileError(f"has chunks of {chunk_bytes} bytes, which is no multiple of 64")
    if not 0 < int(header["ranks"]) <= RANKS_MAX or header["rank"] >= header["ranks"]:
        raise UnusableFileError(f"says it is rank {header['rank']} of {header['ranks']}")
    return header


@dataclass
class _Kinds:
    of_record: npt.NDArray[np.uint8]  # 0 for every record that is not valid
    bad_chunks: int
    first_bad: int
    chunk_records: int

    def threads(self, table: npt.NDArray[np.uint8], where: Index) -> npt.NDArray[np.uint16]:
        """The thread in whose chunk each of these records stands."""
        heads = np.ascontiguousarray(table[:: self.chunk_records]).view(layout.CHUNK).reshape(-1)
        found: npt.NDArray[np.uint16] = heads["thread"][where // self.chunk_records]
        return found


def _valid_kinds(kinds: npt.NDArray[np.uint8], chunk_records: int) -> _Kinds:
    """The kind of each record, 0 from the first 0 of its chunk on and in chunks without a head."""
    chunks = -(-kinds.size // chunk_records)
    # A damaged chunk size may exceed the file by far: then there is one chunk, cut short.
    if chunks <= 1:
        chunk_records = max(1, kinds.size)
    padded = np.zeros(max(1, chunks) * chunk_records, dtype=np.uint8)
    padded[: kinds.size] = kinds
    grid = padded.reshape(-1, chunk_records)
    headless = (grid[:, 0] != layout.KIND_CHUNK) & (grid[:, 0] != layout.KIND_NONE)
    alive = np.logical_and.accumulate(grid != layout.KIND_NONE, axis=1)
    alive &= (grid[:, 0] == layout.KIND_CHUNK)[:, None]
    valid = np.where(alive, grid, np.uint8(0)).reshape(-1)[: kinds.size]
    first_bad = int(np.flatnonzero(headless)[0]) * chunk_records if headless.any() else 0
    return _Kinds(valid, int(headless.sum()), first_bad, chunk_records)


@dataclass(frozen=True)
class Check:
    """Records for which `bad` holds cannot be true; `what` says why."""

    bad: Mask
    what: str


def _outside(times: npt.NDArray[np.int64]) -> Mask:
    far: Mask = np.abs(times) > TIME_MAX_NS
    outside: Mask = far | (times == np.iinfo(np.int64).min)
    return outside


def _bad_worker(worker: npt.NDArray[np.uint16]) -> Mask:
    bad: Mask = (worker >= WORKERS_MAX) & (worker != events.NO_WORKER)
    return bad


def _check_interval(found: Records, noun: str) -> list[Check]:
    start, end = found["start"], found["end"]
    return [
        Check(_outside(start) | _outside(end), f"{noun} with an impossible time"),
        Check(end < start, f"{noun} ends before it starts"),
        Check(_bad_worker(found["worker"]), f"{noun} of an impossible worker"),
    ]


def _check_tasks(found: Records, ranks: int) -> list[Check]:
    peer = found["object"] >> np.uint64(32)
    message = (found["flags"] & 3) != 0
    return [
        *_check_interval(found, "task"),
        Check(_outside(found["ready"]), "task with an impossible time"),
        Check((found["flags"] & 3) == 3, "task is both a send and a receive"),
        Check(message & (peer >= ranks), "send or receive task of a rank that is not in the run"),
    ]


def _check_messages(found: Records, ranks: int) -> list[Check]:
    times = ("posted", "handed", "arrived", "completed")
    late = np.zeros(found.size, dtype=np.bool_)
    for name in times:
        late |= _outside(found[name])
    # A receive from any source that never got a message.
    from_any = (found["peer"] == layout.NOTHING) & ((found["flags"] & layout.UNFINISHED) != 0)
    return [
        Check(late, "message with an impossible time"),
        Check((found["peer"] >= ranks) & ~from_any, "message of a rank that is not in the run"),
        Check(found["bytes"] > SIZE_MAX_BYTES, "message of an impossible size"),
        Check(found["direction"] > 1, "message that was neither sent nor received"),
        Check(found["protocol"] >= len(events.PROTOCOLS), "message of an unknown protocol"),
        Check(
            (found["completed"] != 0) & (found["completed"] < found["posted"]),
            "message ends before it starts",
        ),
    ]


def _check_counters(found: Records) -> list[Check]:
    return [
        Check(_outside(found["time"]), "counter with an impossible time"),
        Check(~np.isfinite(found["value"]), "counter whose value is not finite"),
    ]


def _check_clocks(found: Records) -> list[Check]:
    bad = _outside(found["time"]) | _outside(found["offset"]) | (found["round_trip"] < 0)
    return [Check(bad, "clock exchange with an impossible time")]


def _check_graph_tasks(found: Records) -> list[Check]:
    return [
        Check(found["part"] > events.ROLE_JOIN, "task of a graph that is nothing known"),
        Check(
            found["later_count"] > layout.LATER_IN_RECORD,
            "task of a graph with more after it than its record holds",
        ),
    ]


def _check_graph_runs(found: Records) -> list[Check]:
    return [Check(_outside(found["start"]), "run of a graph with an impossible time")]


def _check_calls(found: Records, ranks: int) -> list[Check]:
    start, end, thread = found["start"], found["end"], found["thread"]
    given, got = found["bytes_given"], found["bytes_got"]
    return [
        Check(_outside(start) | _outside(end), "call with an impossible time"),
        Check(end < start, "call ends before it starts"),
        Check(_bad_worker(thread), "call of an impossible thread"),
        Check(found["what"] >= len(events.CALL_CLASSES), "call that does nothing known"),
        Check((given > SIZE_MAX_BYTES) | (got > SIZE_MAX_BYTES), "call of an impossible size"),
        Check(
            (found["peer"] >= ranks) & (found["peer"] != layout.NOTHING),
            "call with a peer that is not in the run",
        ),
    ]


def _check_communicators(found: Records, ranks: int) -> list[Check]:
    first = found["first"].astype(np.int64)
    index = first[:, None] + np.arange(layout.MEMBERS_IN_RECORD)
    members, size = found["members"], found["size"]
    used: Mask = (index < size[:, None]) & (members != layout.NOTHING)
    return [
        Check(size > 2 * ranks, "communicator of more members than the run has ranks"),
        Check(
            np.any(used & (members >= ranks), axis=1), "communicator of a rank that is not in the run"
        ),
    ]


def _check_shares(found: Records) -> list[Check]:
    return [
        Check(found["count"] > layout.SHARES_IN_RECORD, "shares of more members than its record holds"),
        Check(np.any(found["bytes"] > SIZE_MAX_BYTES, axis=1), "share of an impossible size"),
    ]


def _possible(where: Index, checks: list[Check], name: str, notices: list[str]) -> Mask | None:
    """Which records can be true; None: all."""
    keep = np.ones(where.size, dtype=np.bool_)
    for check in checks:
        bad = check.bad & keep
        if bad.any():
            more = int(bad.sum()) - 1
            also = f" (and {more:,} more such)" if more else ""
            event = int(where[np.flatnonzero(bad)[0]])
            notices.append(f"{name}: event {event}: {check.what}; left out{also}")
            keep &= ~bad
    return None if keep.all() else keep
