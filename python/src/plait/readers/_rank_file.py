# SPDX-License-Identifier: Apache-2.0
"""One rank's file: finds the valid records, leaves out the impossible ones and reports which."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait import _schema
from plait._schema import SCHEMA, Field, Record, Schema
from plait.readers import _blocks
from plait.readers._columns import Columns, Index, gather

Mask = npt.NDArray[np.bool_]

KIND_NONE = 0  # ends a chunk
#: Records behind the end of a chunk that a killed process may leave: the durations of a sum, which gets
#: its kind last.
_UNFINISHED_MAX = 2


class UnusableFileError(Exception):
    """The file as a whole cannot be read; the text has the reason."""


class NewerFormatError(UnusableFileError):
    """The file is of a later major version of the format."""

    def __init__(self, version: int) -> None:
        super().__init__(f"was made by a newer plait (format {version}): update plait")
        self.version = version


@dataclass
class RankFile:
    rank: int
    ranks: int
    wall_ns: int  # wall-clock time at time 0
    clock_ns: int  # reading of the monotonic clock at time 0
    records: dict[str, Columns]  # by their names in the schema
    message_threads: npt.NDArray[np.uint16]  # which recorded each message
    names: dict[tuple[int, int], str]  # (role, number) -> text
    notices: list[str] = field(default_factory=list)
    #: How many records are of kinds that the schema lacks, by kind.
    unknown: dict[int, int] = field(default_factory=dict)

    def __getitem__(self, record: str) -> Columns:
        return self.records[record]


@dataclass(frozen=True)
class Head:
    """What the header of a rank's file has."""

    rank: int
    ranks: int
    wall_ns: int  # wall-clock time at time 0
    clock_ns: int  # reading of the monotonic clock at time 0


def read_head(path: Path) -> Head:
    """Reads the header only. Raises UnusableFileError where it is not valid."""
    header = _read_header(_read_bytes(path, _schema.HEADER_BYTES))
    return Head(
        rank=int(header["rank"]),
        ranks=int(header["rank_count"]),
        wall_ns=int(header["wall_clock_ns"]),
        clock_ns=int(header["clock_ns"]),
    )


def _read_bytes(path: Path, count: int = -1) -> npt.NDArray[np.uint8]:
    """The first bytes of the file; -1: all."""
    try:
        return np.fromfile(path, dtype=np.uint8, count=count)
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from error


def read_rank_file(path: Path, schema: Schema = SCHEMA) -> RankFile:
    """Reads what is valid. Raises UnusableFileError where not even the header is."""
    raw = _read_bytes(path)
    header = _read_header(raw)
    notices: list[str] = []
    records = raw[_schema.HEADER_BYTES :]
    records = records[: records.size // _schema.RECORD_BYTES * _schema.RECORD_BYTES]
    table = records.reshape(-1, _schema.RECORD_BYTES)
    chunk_records = int(header["chunk_bytes"]) // _schema.RECORD_BYTES
    found_kinds = np.ascontiguousarray(table[:, 0])
    damaged = _blocks.damaged_blocks(table, found_kinds, chunk_records)
    kinds = _valid_kinds(found_kinds, chunk_records, damaged)
    notices += _about_damage(path.name, table, damaged, chunk_records)
    if kinds.bad_chunks:
        notices.append(
            f"{path.name}: event {kinds.first_bad}: {kinds.bad_chunks} chunk(s) do not begin with "
            "a chunk record and were left out"
        )
    if kinds.cut_off:
        offset = _schema.HEADER_BYTES + kinds.first_cut * _schema.RECORD_BYTES
        notices.append(
            f"{path.name}: byte {offset:,}: a record without a kind, and {kinds.cut_off:,} records "
            "behind it in its chunk: the file is damaged; they were left out"
        )

    if kinds.of_record.size % chunk_records and kinds.of_record[-1] != KIND_NONE:
        notices.append(
            f"{path.name} ends in the middle of its records, at byte {raw.size:,}: it was cut off, or "
            "its rank was killed while it wrote; what came after is missing"
        )
    ranks = int(header["rank_count"])
    gathered = gather(table, kinds.of_record, {r.kind: r.dtype for r in schema.records.values()})
    found = {}
    for record in schema.records.values():
        of_kind = gathered[record.kind]
        checks = _checks(record, of_kind, ranks) if of_kind.size else []
        found[record.name] = _keep_possible(of_kind, checks, path.name, notices)
    return RankFile(
        rank=int(header["rank"]),
        ranks=ranks,
        wall_ns=int(header["wall_clock_ns"]),
        clock_ns=int(header["clock_ns"]),
        records=found,
        message_threads=kinds.threads(table, found["message"].where),
        names=_read_names(found["name"]),
        notices=notices,
        unknown=_unknown(kinds.of_record, schema),
    )


def _about_damage(
    name: str, table: npt.NDArray[np.uint8], damaged: Mask, chunk_records: int
) -> list[str]:
    """Of a file with checksums: its damaged blocks, and chunks that were never written."""
    found = []
    if damaged.any():
        count, first = int(damaged.sum()), int(np.flatnonzero(damaged)[0])
        block_bytes = _blocks.RECORDS * _schema.RECORD_BYTES
        also = f", and {count - 1:,} further ones" if count > 1 else ""
        found.append(
            f"{name}: byte {_schema.HEADER_BYTES + first * block_bytes:,}: a block of {block_bytes:,} "
            f"bytes is damaged (its checksum differs){also}: {count * (_blocks.RECORDS - 1):,} records "
            "were left out, all others were read; copy the file again, or check its disk"
        )
    if damaged.size:
        chunks = table[: table.shape[0] // chunk_records * chunk_records].reshape(
            -1, chunk_records * _schema.RECORD_BYTES
        )
        is_used = chunks[:, 0] != KIND_NONE
        # A chunk gets its first record as soon as it is there.
        empty = [
            n for n in np.flatnonzero(~is_used).tolist() if is_used[n:].any() and not chunks[n].any()
        ]
        if empty:
            offset = _schema.HEADER_BYTES + empty[0] * chunks.shape[1]
            found.append(
                f"{name}: byte {offset:,}: {len(empty)} chunk(s) of {chunks.shape[1]:,} bytes have "
                "zeros only, but others follow: the file was not copied whole, or is damaged"
            )
    return found


def _unknown(kinds: npt.NDArray[np.uint8], schema: Schema) -> dict[int, int]:
    known = {KIND_NONE, *(record.kind for record in schema.records.values())}
    counts = np.bincount(kinds, minlength=256)
    return {int(kind): int(counts[kind]) for kind in np.flatnonzero(counts) if int(kind) not in known}


def _read_names(found: Columns) -> dict[tuple[int, int], str]:
    names = {}
    for role, number, length, raw in zip(
        *(found[name] for name in ("role", "number", "length", "text")), strict=True
    ):
        text = bytes(raw)[: min(int(length), _schema.NAME_BYTES)]
        shown = text.decode("utf-8", "replace").rstrip("\0")
        readable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
        names[int(role), int(number)] = readable
    return names


def _read_header(raw: npt.NDArray[np.uint8]) -> Any:
    if raw.size < _schema.HEADER_BYTES:
        raise UnusableFileError(f"is only {raw.size} bytes long, shorter than its header")
    header = raw[: _schema.HEADER_BYTES].view(_schema.HEADER)[0]
    if raw[:8].tobytes() != _schema.MAGIC:
        raise UnusableFileError("is no plait trace (it does not begin with PLAITTRC)")
    if header["version"] > _schema.VERSION:
        raise NewerFormatError(int(header["version"]))
    if header["version"] != _schema.VERSION:
        raise UnusableFileError(
            f"has format version {header['version']}, this plait reads version {_schema.VERSION}"
        )
    if header["record_bytes"] != _schema.RECORD_BYTES:
        raise UnusableFileError(f"has records of {header['record_bytes']} bytes instead of 64")
    chunk_bytes = int(header["chunk_bytes"])
    if chunk_bytes < _schema.CHUNK_BYTES_MIN or chunk_bytes % _schema.RECORD_BYTES:
        raise UnusableFileError(f"has chunks of {chunk_bytes} bytes, which is no multiple of 64")
    if not 0 < int(header["rank_count"]) <= _schema.RANKS_MAX or header["rank"] >= header["rank_count"]:
        raise UnusableFileError(f"claims to be rank {header['rank']} of {header['rank_count']}")
    return header


@dataclass
class _Kinds:
    of_record: npt.NDArray[np.uint8]  # 0 for every record that is not valid
    bad_chunks: int
    first_bad: int
    chunk_records: int
    cut_off: int  # records behind one without a kind, which ends a chunk
    first_cut: int
    is_headless: Mask  # chunks whose first record is damaged: their thread is not known

    def threads(self, table: npt.NDArray[np.uint8], where: Index) -> npt.NDArray[np.uint16]:
        """The thread in whose chunk each of these records is."""
        heads = (
            np.ascontiguousarray(table[:: self.chunk_records]).view(SCHEMA["chunk"].dtype).reshape(-1)
        )
        of_chunk = np.where(self.is_headless, np.uint16(_schema.NO_WORKER), heads["thread"])
        found: npt.NDArray[np.uint16] = of_chunk[where // self.chunk_records]
        return found


def _valid_kinds(kinds: npt.NDArray[np.uint8], chunk_records: int, damaged: Mask) -> _Kinds:
    """The kind of each record, 0 from the first 0 of its chunk on, in chunks without a head, and in
    damaged blocks, which end no chunk. Changes `kinds`."""
    chunks = -(-kinds.size // chunk_records)
    lost = kinds[: damaged.size * _blocks.RECORDS].reshape(-1, _blocks.RECORDS)
    lost[damaged] = SCHEMA["chunk"].kind
    # A damaged chunk size may exceed the file by far: then there is one chunk, cut short.
    if chunks <= 1:
        chunk_records = max(1, kinds.size)
    padded = np.zeros(max(1, chunks) * chunk_records, dtype=np.uint8)
    padded[: kinds.size] = kinds
    grid = padded.reshape(-1, chunk_records)
    is_lost = np.zeros(padded.size, dtype=np.bool_)
    is_lost[: lost.size] = np.repeat(damaged, _blocks.RECORDS)
    headless = (grid[:, 0] != SCHEMA["chunk"].kind) & (grid[:, 0] != KIND_NONE)
    alive = np.logical_and.accumulate(grid != KIND_NONE, axis=1)
    alive &= (grid[:, 0] == SCHEMA["chunk"].kind)[:, None]
    valid = np.where(alive, grid, np.uint8(0)).reshape(-1)[: kinds.size]
    valid[is_lost[: kinds.size]] = KIND_NONE
    first_bad = int(np.flatnonzero(headless)[0]) * chunk_records if headless.any() else 0
    ended = (grid != KIND_NONE) & ~alive & ~headless[:, None]
    cut = ended.sum(axis=1)
    cut[cut <= _UNFINISHED_MAX] = 0
    first_cut = 0
    if cut.any():
        chunk = int(np.flatnonzero(cut)[0])
        first_cut = chunk * chunk_records + int(np.flatnonzero(~alive[chunk])[0])
    return _Kinds(
        of_record=valid,
        bad_chunks=int(headless.sum()),
        first_bad=first_bad,
        chunk_records=chunk_records,
        cut_off=int(cut.sum()),
        first_cut=first_cut,
        is_headless=is_lost.reshape(-1, chunk_records)[:, 0],
    )


@dataclass(frozen=True)
class Check:
    """Records for which `bad` holds cannot be true; `what` is the reason."""

    bad: Mask | None  # None: it holds for none
    what: str


def _outside(times: list[npt.NDArray[np.int64]]) -> Mask | None:
    """Where any of the times is too far away; None: nowhere."""
    if all(time.size == 0 or _is_near(int(time.min()), int(time.max())) for time in times):
        return None
    outside = np.zeros(times[0].size, dtype=np.bool_)
    for time in times:
        outside |= (time > _schema.TIME_MAX_NS) | (time < -_schema.TIME_MAX_NS)
    return outside


def _is_near(least_ns: int, most_ns: int) -> bool:
    return least_ns >= -_schema.TIME_MAX_NS and most_ns <= _schema.TIME_MAX_NS


def _checks(record: Record, found: Columns, ranks: int) -> list[Check]:
    """What the types of its fields allow; as detail/decode.hpp has it in C++."""
    noun = record.noun
    times = [found[one.name] for one in record.fields if one.is_time]
    checks = [Check(_outside(times), f"{noun} with an impossible time")]
    if record.interval:
        first, last = (found[one.name] for one in record.interval)
        is_known: Any = last != 0 if record.interval[1].options.get("unknown") else True
        checks.append(Check((last < first) & is_known, f"{noun} ends before it starts"))
    for one in record.fields:
        checks += _checks_of_field(record, one, found, ranks)
    return [*checks, *_checks_of_list(record, found, ranks)]


def _checks_of_field(record: Record, field: Field, found: Columns, ranks: int) -> list[Check]:
    if field.is_list or field.type == "flag":
        return []
    noun, values = record.noun, found[field.name]
    not_there = f"{noun} of a rank that is not in the run"
    if field.is_enum:
        return [Check(values > field.last, f"{noun} with an unknown {field.column}")]
    if field.type == "worker":
        bad = (values >= _schema.WORKERS_MAX) & (values != _schema.NO_WORKER)
        return [Check(bad, f"{noun} of an impossible worker")]
    if field.type == "size":
        return [Check(values > _schema.SIZE_MAX_BYTES, f"{noun} of an impossible size")]
    if field.type == "f64":
        return [Check(~np.isfinite(values), f"{noun} whose {field.name} is not finite")]
    if field.type == "duration":
        return [Check(values < 0, f"{noun} with a negative {field.name.replace('_', ' ')}")]
    if field.type == "message_object":
        return [Check((found["role"] != 0) & (values >> np.uint64(32) >= ranks), not_there)]
    if field.type in ("rank", "rank_number"):
        is_none = (values == _schema.NOTHING) & bool(field.optional)
        if isinstance(field.optional, str):
            flag = next(one for one in record.flags if one.name == field.optional)
            is_none = is_none & ((found["flags"] & flag.options["bit"]) != 0)
        return [Check((values >= ranks) & ~is_none, not_there)]
    return []


def _checks_of_list(record: Record, found: Columns, ranks: int) -> list[Check]:
    if record.list is None:
        return []
    noun, entries = record.noun, found[record.list.name]
    counts = list_counts(record, found)
    used: Mask = np.arange(record.list.length) < counts[:, None]
    checks = [
        Check(counts > record.list.length, f"{noun} with more {record.list.name} than a record holds")
    ]
    if record.has("first"):
        first = found["first"].astype(np.int64)
        end = found["size"] if record.has("size") else first + counts
        checks.append(Check(end > 2 * ranks, f"{noun} of more members than the run has ranks"))
        if record.has("size"):
            checks.append(Check(first >= end, f"{noun} with a member beyond its size"))
    if record.list.element == "rank_number":
        bad: Mask = used & (entries >= ranks) & (entries != _schema.NOTHING)
        checks.append(Check(np.any(bad, axis=1), f"{noun} of a rank that is not in the run"))
    elif record.list.element == "size":
        bad = used & (entries > _schema.SIZE_MAX_BYTES)
        checks.append(Check(np.any(bad, axis=1), f"{noun} of an impossible size"))
    return checks


def list_counts(record: Record, found: Columns) -> npt.NDArray[np.int64]:
    """How many entries of its list are in each record."""
    assert record.list is not None
    if record.has("count"):
        counts: npt.NDArray[np.int64] = found["count"].astype(np.int64)
        return counts
    rest = found["size"].astype(np.int64) - found["first"]
    return np.clip(rest, 0, record.list.length)


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
