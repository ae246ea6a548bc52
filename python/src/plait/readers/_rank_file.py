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
from plait.readers._columns import Columns, Index, gather

Mask = npt.NDArray[np.bool_]

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
    tasks: Columns
    messages: Columns
    spans: Columns
    gaps: Columns
    counters: Columns
    clocks: Columns
    graph_tasks: Columns
    graph_runs: Columns
    calls: Columns
    communicators: Columns
    shares: Columns
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

    chunk_records = int(header["chunk_bytes"]) // layout.RECORD_BYTES
    if kinds.of_record.size % chunk_records and kinds.of_record[-1] != layout.KIND_NONE:
        notices.append(
            f"{path.name} ends in the middle of its records: it was cut off, or its rank was killed "
            "while it wrote; what came after is missing"
        )
    ranks = int(header["ranks"])
    checks: dict[int, tuple[np.dtype[Any], Callable[[Columns], list[Check]]]] = {
        layout.KIND_TASK: (layout.TASK, lambda found: _check_tasks(found, ranks)),
        layout.KIND_MESSAGE: (layout.MESSAGE, lambda found: _check_messages(found, ranks)),
        layout.KIND_SPAN: (layout.SPAN, lambda found: _check_interval(found, "span")),
        layout.KIND_GAP: (layout.GAP, lambda found: _check_interval(found, "poll gap")),
        layout.KIND_COUNTER: (layout.COUNTER, _check_counters),
        layout.KIND_CLOCK: (layout.CLOCK, _check_clocks),
        layout.KIND_GRAPH_TASK: (layout.GRAPH_TASK, _check_graph_tasks),
        layout.KIND_GRAPH_RUN: (layout.GRAPH_RUN, _check_graph_runs),
        layout.KIND_CALL: (layout.CALL, lambda found: _check_calls(found, ranks)),
        layout.KIND_COMMUNICATOR: (
            layout.COMMUNICATOR,
            lambda found: _check_communicators(found, ranks),
        ),
        layout.KIND_SHARES: (layout.SHARES, _check_shares),
        layout.KIND_NAME: (layout.NAME, lambda found: []),
    }
    found = gather(table, kinds.of_record, {kind: dtype for kind, (dtype, _) in checks.items()})
    for kind, (_, check) in checks.items():
        found[kind] = _keep_possible(found[kind], check(found[kind]), path.name, notices)
    return RankFile(
        rank=int(header["rank"]),
        ranks=ranks,
        wall_ns=int(header["wall_ns"]),
        tasks=found[layout.KIND_TASK],
        messages=found[layout.KIND_MESSAGE],
        spans=found[layout.KIND_SPAN],
        gaps=found[layout.KIND_GAP],
        counters=found[layout.KIND_COUNTER],
        clocks=found[layout.KIND_CLOCK],
        graph_tasks=found[layout.KIND_GRAPH_TASK],
        graph_runs=found[layout.KIND_GRAPH_RUN],
        calls=found[layout.KIND_CALL],
        communicators=found[layout.KIND_COMMUNICATOR],
        shares=found[layout.KIND_SHARES],
        message_threads=kinds.threads(table, found[layout.KIND_MESSAGE].where),
        names=_read_names(found[layout.KIND_NAME]),
        notices=notices,
    )


def _read_names(found: Columns) -> dict[tuple[int, int], str]:
    names = {}
    for role, number, length, raw in zip(
        *(found[name] for name in ("role", "number", "length", "text")), strict=True
    ):
        text = bytes(raw)[: min(int(length), layout.NAME_BYTES)]
        shown = text.decode("utf-8", "replace").rstrip("\0")
        readable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
        names[int(role), int(number)] = readable
    return names


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

    bad: Mask | None  # None: it holds for none
    what: str


def _outside(*times: npt.NDArray[np.int64]) -> Mask | None:
    """Where any of the times is too far away; None: nowhere."""
    if all(time.size == 0 or _is_near(int(time.min()), int(time.max())) for time in times):
        return None
    outside = np.zeros(times[0].size, dtype=np.bool_)
    for time in times:
        outside |= (time > TIME_MAX_NS) | (time < -TIME_MAX_NS)
    return outside


def _is_near(least_ns: int, most_ns: int) -> bool:
    return least_ns >= -TIME_MAX_NS and most_ns <= TIME_MAX_NS


def _bad_worker(worker: npt.NDArray[np.uint16]) -> Mask:
    bad: Mask = (worker >= WORKERS_MAX) & (worker != events.NO_WORKER)
    return bad


def _check_interval(found: Columns, noun: str) -> list[Check]:
    start, end = found["start"], found["end"]
    return [
        Check(_outside(start, end), f"{noun} with an impossible time"),
        Check(end < start, f"{noun} ends before it starts"),
        Check(_bad_worker(found["worker"]), f"{noun} of an impossible worker"),
    ]


def _check_tasks(found: Columns, ranks: int) -> list[Check]:
    peer = found["object"] >> np.uint64(32)
    message = (found["flags"] & 3) != 0
    return [
        *_check_interval(found, "task"),
        Check(_outside(found["ready"]), "task with an impossible time"),
        Check((found["flags"] & 3) == 3, "task is both a send and a receive"),
        Check(message & (peer >= ranks), "send or receive task of a rank that is not in the run"),
    ]


def _check_messages(found: Columns, ranks: int) -> list[Check]:
    times = ("posted", "handed", "arrived", "completed")
    # A receive from any source that never got a message.
    from_any = (found["peer"] == layout.NOTHING) & ((found["flags"] & layout.UNFINISHED) != 0)
    return [
        Check(_outside(*(found[name] for name in times)), "message with an impossible time"),
        Check((found["peer"] >= ranks) & ~from_any, "message of a rank that is not in the run"),
        Check(found["bytes"] > SIZE_MAX_BYTES, "message of an impossible size"),
        Check(found["direction"] > 1, "message that was neither sent nor received"),
        Check(found["protocol"] >= len(events.PROTOCOLS), "message of an unknown protocol"),
        Check(
            (found["completed"] != 0) & (found["completed"] < found["posted"]),
            "message ends before it starts",
        ),
    ]


def _check_counters(found: Columns) -> list[Check]:
    return [
        Check(_outside(found["time"]), "counter with an impossible time"),
        Check(~np.isfinite(found["value"]), "counter whose value is not finite"),
    ]


def _check_clocks(found: Columns) -> list[Check]:
    return [
        Check(_outside(found["time"], found["offset"]), "clock exchange with an impossible time"),
        Check(found["round_trip"] < 0, "clock exchange that was answered before it was asked"),
    ]


def _check_graph_tasks(found: Columns) -> list[Check]:
    return [
        Check(found["part"] > events.ROLE_JOIN, "task of a graph that is nothing known"),
        Check(
            found["later_count"] > layout.LATER_IN_RECORD,
            "task of a graph with more after it than its record holds",
        ),
    ]


def _check_graph_runs(found: Columns) -> list[Check]:
    return [Check(_outside(found["start"]), "run of a graph with an impossible time")]


def _check_calls(found: Columns, ranks: int) -> list[Check]:
    start, end, thread = found["start"], found["end"], found["thread"]
    given, got = found["bytes_given"], found["bytes_got"]
    return [
        Check(_outside(start, end), "call with an impossible time"),
        Check(end < start, "call ends before it starts"),
        Check(_bad_worker(thread), "call of an impossible thread"),
        Check(found["what"] >= len(events.CALL_CLASSES), "call that does nothing known"),
        Check((given > SIZE_MAX_BYTES) | (got > SIZE_MAX_BYTES), "call of an impossible size"),
        Check(
            (found["peer"] >= ranks) & (found["peer"] != layout.NOTHING),
            "call with a peer that is not in the run",
        ),
    ]


def _check_communicators(found: Columns, ranks: int) -> list[Check]:
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


def _check_shares(found: Columns) -> list[Check]:
    return [
        Check(found["count"] > layout.SHARES_IN_RECORD, "shares of more members than its record holds"),
        Check(np.any(found["bytes"] > SIZE_MAX_BYTES, axis=1), "share of an impossible size"),
    ]


def _keep_possible(found: Columns, checks: list[Check], name: str, notices: list[str]) -> Columns:
    keep: Mask | None = None
    for check in checks:
        if check.bad is None or not check.bad.any():
            continue
        keep = np.ones(found.size, dtype=np.bool_) if keep is None else keep
        bad = check.bad & keep
        if bad.any():
            more = int(bad.sum()) - 1
            also = f" (and {more:,} more such)" if more else ""
            event = int(found.where[np.flatnonzero(bad)[0]])
            notices.append(f"{name}: event {event}: {check.what}; left out{also}")
            keep &= ~bad
    return found if keep is None else found.kept(keep)
