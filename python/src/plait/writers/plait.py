# SPDX-License-Identifier: Apache-2.0
"""Writes event tables as the folder of a run (docs/reference/trace-format.md)."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait import _schema
from plait._events import Run, Site
from plait._files import make_folder, write_file, write_text
from plait._schema import ROLES, SCHEMA, Record, Schema

_CHUNK_BYTES = 1 << 16
_ROWS = _CHUNK_BYTES // _schema.RECORD_BYTES - 1  # beside the chunk's first record
#: The wall-clock time of all ranks' time 0: their times are comparable as they are.
_WALL_NS = 10**18

Bytes = npt.NDArray[np.uint8]


def write_run(run: Run, folder: Path, schema: Schema = SCHEMA) -> None:
    """Writes meta.json, the ranks' files and sites.json. Reading them back gives the same tables.

    Times are taken as those of rank 0's clock, which they are in every table, so each rank's file has a
    clock that agrees within `run.clock_error_ns`. Messages with a `number` are written as such that
    are matched by order. A time of 0 means "not known" in files: let times begin above it. Names are cut
    to 56 bytes. Raises PlaitError where the folder cannot be written; files of the same names are
    replaced. `schema`: as the run was read with, for `Run.other`.
    """
    make_folder(folder)
    meta = {
        "format": "plait-trace",
        "version": _schema.VERSION,
        **run.meta,
        "ranks": run.ranks,
    }
    write_text(folder / "meta.json", json.dumps(meta, indent=2) + "\n")
    names = _names(run)
    for rank in run.ranks_present:
        data = _rank_bytes(run, rank, names, schema)
        write_file(folder / f"rank-{rank:04d}.plt", lambda file, data=data: file.write(data))  # type: ignore[misc]
    told = {}
    for path in run.sites:
        whole = [path, *path.callers]
        for site, caller in zip(whole, [*whole[1:], None], strict=True):
            entry = _told(site, caller)
            if any(entry.values()):
                told[site.place] = entry
    if told:
        write_text(folder / "sites.json", json.dumps(told, indent=1) + "\n")


def _told(site: Site, caller: Site | None) -> dict[str, Any]:
    told: dict[str, Any] = {"function": site.function, "file": site.file, "line": site.line}
    told |= {"start": site.start} if site.start is not None else {}
    return told | ({"caller": caller.place} if caller is not None else {})


def _rank_bytes(run: Run, rank: int, names: Bytes, schema: Schema) -> bytes:
    header = np.zeros(1, dtype=_schema.HEADER)
    header["magic"] = _schema.MAGIC
    for name, value in (
        *(("version", _schema.VERSION), ("rank", rank), ("rank_count", run.ranks)),
        *(
            ("record_bytes", _schema.RECORD_BYTES),
            ("chunk_bytes", _CHUNK_BYTES),
            ("wall_clock_ns", _WALL_NS),
            ("clock_ns", run.clock_ns),
        ),
    ):
        header[name] = value
    parts = [header.tobytes()]
    own = pl.col("rank") == rank
    begun = [
        _records(SCHEMA["clock"], 1, round_trip=2 * run.clock_error_ns),
        names,
        _graph_tasks(run.graph_tasks.filter(own), run.dependencies.filter(own)),
        _shares(run.shares.filter(own)),
        _communicators(run.communicators, rank),
    ]
    by_thread: dict[int, list[tuple[Bytes, npt.NDArray[np.int64]]]] = {}
    for record in schema.records.values():
        table = run.other.get(record.table or "", getattr(run, record.table or "", None))
        if table is None or record.list is not None or record.name in ("sum", "engine_sum"):
            continue
        make = _messages if record.name == "message" else partial(_plain, record)
        if "worker" not in table.columns:
            begun.append(make(table.filter(own)))
            continue
        last = next(field.column for field in reversed(record.plain) if field.type == "time")
        for (thread,), part in table.filter(own).partition_by("worker", as_dict=True).items():
            by_thread.setdefault(int(thread), []).append((make(part), part[last].to_numpy()))
    parts.append(_chunks(np.concatenate(begun), events.NO_WORKER, "recorder"))
    for name, sums in (("sum", run.sums), ("engine_sum", run.engine_sums)):
        parts.append(_chunks(_sums(name, sums.filter(own)), events.NO_WORKER, "profile"))
    for thread, records in sorted(by_thread.items()):
        order = np.argsort(np.concatenate([ends for _, ends in records]), kind="stable")
        whole = np.concatenate([made for made, _ in records])[order]
        name = "thread" if thread == events.NO_WORKER else f"worker {thread}"
        parts.append(_chunks(whole, thread, name))
    return b"".join(parts)


def _chunks(records: Bytes, thread: int, name: str) -> bytes:
    """The records of one thread behind the heads of their chunks; the last is padded with zeros."""
    count = -(-records.shape[0] // _ROWS)
    if count == 0:
        return b""
    head = np.zeros(count, dtype=SCHEMA["chunk"].dtype)
    head["record"], head["thread"], head["number"] = SCHEMA["chunk"].kind, thread, np.arange(count)
    head["name"] = np.void(name.encode().ljust(_schema.NAME_BYTES, b"\0"))
    padded = np.zeros((count * _ROWS, _schema.RECORD_BYTES), dtype=np.uint8)
    padded[: records.shape[0]] = records
    heads = head.view(np.uint8).reshape(count, 1, _schema.RECORD_BYTES)
    body = padded.reshape(count, _ROWS, _schema.RECORD_BYTES)
    return np.concatenate((heads, body), axis=1).tobytes()


def _records(record: Record, rows: int, **values: Any) -> Bytes:
    made = np.zeros(rows, dtype=record.dtype)
    made["record"] = record.kind
    for name, column in values.items():
        made[name] = column
    return made.view(np.uint8).reshape(rows, _schema.RECORD_BYTES)


def _or_nothing(column: pl.Series) -> npt.NDArray[np.uint32]:
    values = column.to_numpy().astype(np.int64)
    return np.where(values < 0, _schema.NOTHING, values).astype(np.uint32)


def _names(run: Run) -> Bytes:
    roles: tuple[tuple[str, ...], ...] = (
        *(run.kinds, run.span_kinds, run.counter_kinds, run.functions),
        tuple(site.place for site in run.sites),
    )
    told = [
        (role, number, text) for role, texts in enumerate(roles) for number, text in enumerate(texts)
    ]
    texts = [_cut(text, at_left=role == ROLES["call_site"]) for role, _, text in told]
    padded = b"".join(text.ljust(_schema.NAME_BYTES, b"\0") for text in texts)
    return _records(
        SCHEMA["name"],
        len(told),
        role=[role for role, _, _ in told],
        number=[number for _, number, _ in told],
        length=[len(text) for text in texts],
        text=np.frombuffer(padded, dtype=f"V{_schema.NAME_BYTES}"),
    )


def _cut(text: str, *, at_left: bool) -> bytes:
    """At most 56 bytes, of whole characters."""
    while len(raw := text.encode()) > _schema.NAME_BYTES:
        text = text[1:] if at_left else text[:-1]
    return raw


def _plain(record: Record, table: pl.DataFrame, **lists: Any) -> Bytes:
    """One record for each row, from its columns; `lists`: the list, and what is beside it."""
    values: dict[str, Any] = {
        field.name: _or_nothing(table[field.column])
        if field.optional
        else table[field.column].to_numpy()
        for field in record.plain
        if field.type != "flag"
    }
    if record.flags:
        values["flags"] = sum(
            table[flag.column].to_numpy() * flag.options["bit"] for flag in record.flags
        )
    return _records(record, table.height, **values, **lists)


def _messages(table: pl.DataFrame) -> Bytes:
    received, by_order = pl.col("received"), pl.col("number") > 0
    ends = pl.when("unfinished").then(0).otherwise("completed_ns")
    return _plain(
        SCHEMA["message"],
        table.with_columns(
            received.alias("direction"),
            by_order.alias("is_matched_by_order"),
            pl.when(received).then("source").otherwise("destination").alias("peer"),
            pl.when(by_order).then("number").otherwise("sequence").alias("sequence"),
            ends.alias("completed_ns"),
        ),
    )


def _graph_tasks(tasks: pl.DataFrame, dependencies: pl.DataFrame) -> Bytes:
    """One record for each task and twelve of those after it; one where there is none."""
    record = SCHEMA["graph_task"]
    later = dependencies.with_columns(
        (pl.int_range(pl.len()).over("graph", "earlier") // _length(record)).alias("part")
    )
    later = later.group_by("graph", "earlier", "part").agg(pl.col("later"))
    rows = tasks.join(later, left_on=["graph", "place"], right_on=["graph", "earlier"], how="left")
    rows = rows.sort("graph", "place", "part")
    lists = [list(entry or ()) for entry in rows["later"].to_list()]
    return _plain(record, rows, count=[len(entry) for entry in lists], later=_grid(record, lists, 0))


def _communicators(table: pl.DataFrame, rank: int) -> Bytes:
    """Those that the rank is a member of."""
    record = SCHEMA["communicator"]
    own = table.filter(pl.col("rank") == rank)["communicator"].unique()
    rows = (
        table.filter(pl.col("communicator").is_in(own.implode()))
        .with_columns((pl.col("index").max() + 1).over("communicator").alias("size"))
        .with_columns((pl.col("index") // _length(record) * _length(record)).alias("first"))
        .sort("communicator", "index")
        .group_by("communicator", "size", "first", maintain_order=True)
        .agg(pl.col("rank"))
    )
    return _plain(
        record,
        rows,
        size=rows["size"].to_numpy(),
        first=rows["first"].to_numpy(),
        members=_grid(record, rows["rank"].to_list(), _schema.NOTHING),
    )


def _sums(name: str, table: pl.DataFrame) -> Bytes:
    """Each with the records of its durations behind it, which no chunk separates."""
    record = SCHEMA["sum_times"]
    assert record.list is not None
    length, halves = record.list.length, events.TIME_BINS // record.list.length
    assert _ROWS % (1 + halves) == 0
    bins = table.select(events.BIN_COLUMNS).to_numpy()
    made = [_plain(SCHEMA[name], table)]
    for low in range(0, events.TIME_BINS, length):
        times = {"count": length, "low": low, record.list.name: bins[:, low : low + length]}
        made.append(_records(record, table.height, **times))
    return np.stack(made, axis=1).reshape(-1, _schema.RECORD_BYTES)


def _shares(table: pl.DataFrame) -> Bytes:
    record = SCHEMA["shares"]
    rows = (
        table.with_columns((pl.col("index") // _length(record) * _length(record)).alias("first"))
        .sort("number", "index")
        .group_by("number", "first", maintain_order=True)
        .agg(pl.col("bytes_given"))
        .rename({"number": "call"})
    )
    lists = rows["bytes_given"].to_list()
    return _plain(
        record,
        rows,
        first=rows["first"].to_numpy(),
        count=[len(entry) for entry in lists],
        bytes=_grid(record, lists, 0),
    )


def _length(record: Record) -> int:
    assert record.list is not None
    return record.list.length


def _grid(record: Record, lists: list[list[int]], fill: int) -> npt.NDArray[Any]:
    assert record.list is not None
    grid = np.full((len(lists), _length(record)), fill, dtype=record.dtype[record.list.name].base)
    for row, entry in zip(grid, lists, strict=True):
        row[: len(entry)] = entry
    return grid
