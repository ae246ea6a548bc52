# SPDX-License-Identifier: Apache-2.0
"""Writes event tables as a run's folder (docs/trace-format.md): for imports, and what is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run, Site
from plait._files import make_folder, write_file, write_text
from plait.readers import _layout as layout

_CHUNK_BYTES = 1 << 16
_ROWS = _CHUNK_BYTES // layout.RECORD_BYTES - 1  # beside the chunk's first record
#: The wall-clock time of all ranks' time 0: their times are comparable as they are.
_WALL_NS = 10**18

Bytes = npt.NDArray[np.uint8]


def write_run(run: Run, folder: Path) -> None:
    """Writes meta.json, the ranks' files and sites.json. Reading them back gives the same tables.

    Times are taken as those of rank 0's clock, which they are in every table, so each rank's file says
    that its clock agrees within `run.clock_error_ns`. Messages with a `number` are written as such that
    are matched by order. A time of 0 reads as "not known" (docs/trace-format.md): let times begin above
    it. Names are cut to 56 bytes. Raises PlaitError where the folder cannot be written; files of the
    same names are replaced.
    """
    make_folder(folder)
    meta = {
        "format": "plait-trace",
        "version": layout.VERSION,
        **run.meta,
        "ranks": run.ranks,
    }
    write_text(folder / "meta.json", json.dumps(meta, indent=2) + "\n")
    names = _names(run)
    for rank in run.ranks_present:
        data = _rank_bytes(run, rank, names)
        write_file(folder / f"rank-{rank:04d}.plt", lambda file, data=data: file.write(data))  # type: ignore[misc]
    told = {site.place: _told(site) for site in run.sites if site != Site(site.place)}
    if told:
        write_text(folder / "sites.json", json.dumps(told, indent=1) + "\n")


def _told(site: Site) -> dict[str, Any]:
    return {"function": site.function, "file": site.file, "line": site.line}


def _rank_bytes(run: Run, rank: int, names: Bytes) -> bytes:
    header = np.zeros(1, dtype=layout.HEADER)
    header["magic"] = layout.MAGIC
    for name, value in (
        *(("version", layout.VERSION), ("rank", rank), ("ranks", run.ranks)),
        *(("record_bytes", layout.RECORD_BYTES), ("chunk_bytes", _CHUNK_BYTES), ("wall_ns", _WALL_NS)),
    ):
        header[name] = value
    parts = [header.tobytes()]
    own = pl.col("rank") == rank
    begun = [
        _clock_records(run),
        names,
        _graph_tasks(run.graph_tasks.filter(own), run.dependencies.filter(own)),
        _graph_runs(run.graph_runs.filter(own)),
        _counters(run.counters.filter(own)),
        _shares(run.shares.filter(own)),
        _communicators(run.communicators, rank),
    ]
    parts.append(_chunks(np.concatenate(begun), events.NO_WORKER, "recorder"))
    by_thread: dict[int, list[tuple[Bytes, npt.NDArray[np.int64]]]] = {}
    for table, make, last in (
        (run.tasks, _tasks, "end_ns"),
        (run.messages, _messages, "completed_ns"),
        (run.spans, _spans, "end_ns"),
        (run.gaps, _gaps, "end_ns"),
        (run.calls, _calls, "end_ns"),
    ):
        for (thread,), part in table.filter(own).partition_by("worker", as_dict=True).items():
            by_thread.setdefault(int(thread), []).append((make(part), part[last].to_numpy()))
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
    head = np.zeros(count, dtype=layout.CHUNK)
    head["kind"], head["thread"], head["number"] = layout.KIND_CHUNK, thread, np.arange(count)
    head["name"] = np.void(name.encode().ljust(layout.NAME_BYTES, b"\0"))
    padded = np.zeros((count * _ROWS, layout.RECORD_BYTES), dtype=np.uint8)
    padded[: records.shape[0]] = records
    heads = head.view(np.uint8).reshape(count, 1, layout.RECORD_BYTES)
    body = padded.reshape(count, _ROWS, layout.RECORD_BYTES)
    return np.concatenate((heads, body), axis=1).tobytes()


def _records(kind: int, dtype: np.dtype[Any], rows: int, **fields: Any) -> Bytes:
    made = np.zeros(rows, dtype=dtype)
    made["kind"] = kind
    for name, values in fields.items():
        made[name] = values
    return made.view(np.uint8).reshape(rows, layout.RECORD_BYTES)


def _or_nothing(column: pl.Series) -> npt.NDArray[np.uint32]:
    values = column.to_numpy().astype(np.int64)
    return np.where(values < 0, layout.NOTHING, values).astype(np.uint32)


def _names(run: Run) -> Bytes:
    roles: tuple[tuple[str, ...], ...] = (
        *(run.kinds, run.span_kinds, run.counter_kinds, run.functions),
        tuple(site.place for site in run.sites),
    )
    told = [
        (role, number, text) for role, texts in enumerate(roles) for number, text in enumerate(texts)
    ]
    texts = [_cut(text, at_left=role == layout.ROLE_SITE) for role, _, text in told]
    padded = b"".join(text.ljust(layout.NAME_BYTES, b"\0") for text in texts)
    return _records(
        layout.KIND_NAME,
        layout.NAME,
        len(told),
        role=[role for role, _, _ in told],
        number=[number for _, number, _ in told],
        length=[len(text) for text in texts],
        text=np.frombuffer(padded, dtype=f"V{layout.NAME_BYTES}"),
    )


def _cut(text: str, *, at_left: bool) -> bytes:
    """At most 56 bytes, of whole characters."""
    while len(raw := text.encode()) > layout.NAME_BYTES:
        text = text[1:] if at_left else text[:-1]
    return raw


def _clock_records(run: Run) -> Bytes:
    return _records(layout.KIND_CLOCK, layout.CLOCK, 1, round_trip=2 * run.clock_error_ns)


def _tasks(table: pl.DataFrame) -> Bytes:
    return _records(
        layout.KIND_TASK,
        layout.TASK,
        table.height,
        flags=table["role"].to_numpy(),
        worker=table["worker"].to_numpy(),
        name=table["kind"].to_numpy(),
        object=table["object"].to_numpy(),
        ready=table["ready_ns"].to_numpy(),
        start=table["start_ns"].to_numpy(),
        end=table["end_ns"].to_numpy(),
        id=table["id"].to_numpy(),
        released_by=table["released_by"].to_numpy(),
        step=table["step"].to_numpy(),
        place=table["place"].to_numpy(),
    )


def _messages(table: pl.DataFrame) -> Bytes:
    received, unfinished = table["received"].to_numpy(), table["unfinished"].to_numpy()
    number = table["number"].to_numpy()
    by_order = number > 0
    flags = by_order * layout.MATCHED_BY_ORDER + unfinished * layout.UNFINISHED
    return _records(
        layout.KIND_MESSAGE,
        layout.MESSAGE,
        table.height,
        direction=received,
        protocol=table["protocol"].to_numpy(),
        flags=flags,
        peer=np.where(received, _or_nothing(table["source"]), _or_nothing(table["destination"])),
        communicator=table["communicator"].to_numpy(),
        sequence=np.where(by_order, number, table["sequence"].to_numpy()),
        tag=table["tag"].to_numpy(),
        bytes=table["size_bytes"].to_numpy(),
        posted=table["posted_ns"].to_numpy(),
        handed=table["handed_ns"].to_numpy(),
        arrived=table["arrived_ns"].to_numpy(),
        completed=np.where(unfinished, 0, table["completed_ns"].to_numpy()),
    )


def _spans(table: pl.DataFrame) -> Bytes:
    return _records(
        layout.KIND_SPAN,
        layout.SPAN,
        table.height,
        worker=table["worker"].to_numpy(),
        name=table["kind"].to_numpy(),
        object=table["object"].to_numpy(),
        start=table["start_ns"].to_numpy(),
        end=table["end_ns"].to_numpy(),
        step=table["step"].to_numpy(),
    )


def _gaps(table: pl.DataFrame) -> Bytes:
    return _records(
        layout.KIND_GAP,
        layout.GAP,
        table.height,
        worker=table["worker"].to_numpy(),
        start=table["start_ns"].to_numpy(),
        end=table["end_ns"].to_numpy(),
    )


def _calls(table: pl.DataFrame) -> Bytes:
    return _records(
        layout.KIND_CALL,
        layout.CALL,
        table.height,
        what=table["class"].to_numpy(),
        thread=table["worker"].to_numpy(),
        function=table["function"].to_numpy(),
        site=_or_nothing(table["site"]),
        communicator=_or_nothing(table["communicator"]),
        start=table["start_ns"].to_numpy(),
        end=table["end_ns"].to_numpy(),
        bytes_given=table["bytes_given"].to_numpy(),
        bytes_got=table["bytes_got"].to_numpy(),
        peer=_or_nothing(table["peer"]),
        number=table["number"].to_numpy(),
        count=table["count"].to_numpy(),
    )


def _counters(table: pl.DataFrame) -> Bytes:
    return _records(
        layout.KIND_COUNTER,
        layout.COUNTER,
        table.height,
        name=table["kind"].to_numpy(),
        time=table["time_ns"].to_numpy(),
        value=table["value"].to_numpy(),
        step=table["step"].to_numpy(),
    )


def _graph_runs(table: pl.DataFrame) -> Bytes:
    return _records(
        layout.KIND_GRAPH_RUN,
        layout.GRAPH_RUN,
        table.height,
        graph=table["graph"].to_numpy(),
        start=table["start_ns"].to_numpy(),
        step=table["step"].to_numpy(),
        active=table["active"].to_numpy(),
    )


def _graph_tasks(tasks: pl.DataFrame, dependencies: pl.DataFrame) -> Bytes:
    """One record for each task and twelve of those after it; one where there is none."""
    width = layout.LATER_IN_RECORD
    later = dependencies.with_columns(
        (pl.int_range(pl.len()).over("graph", "earlier") // width).alias("part")
    )
    later = later.group_by("graph", "earlier", "part").agg(pl.col("later"))
    rows = tasks.join(later, left_on=["graph", "place"], right_on=["graph", "earlier"], how="left")
    rows = rows.sort("graph", "place", "part")
    lists = [list(entry or ()) for entry in rows["later"].to_list()]
    return _records(
        layout.KIND_GRAPH_TASK,
        layout.GRAPH_TASK,
        rows.height,
        part=rows["role"].to_numpy(),
        later_count=[len(entry) for entry in lists],
        name=rows["kind"].to_numpy(),
        graph=rows["graph"].to_numpy(),
        place=rows["place"].to_numpy(),
        later=_grid(lists, width, 0, np.uint32),
    )


def _communicators(table: pl.DataFrame, rank: int) -> Bytes:
    """Those that the rank is a member of."""
    own = table.filter(pl.col("rank") == rank)["communicator"].unique()
    width = layout.MEMBERS_IN_RECORD
    rows = (
        table.filter(pl.col("communicator").is_in(own.implode()))
        .with_columns((pl.col("index").max() + 1).over("communicator").alias("size"))
        .with_columns((pl.col("index") // width * width).alias("first"))
        .sort("communicator", "index")
        .group_by("communicator", "size", "first", maintain_order=True)
        .agg(pl.col("rank"))
    )
    members = _grid(rows["rank"].to_list(), width, layout.NOTHING, np.uint32)
    return _records(
        layout.KIND_COMMUNICATOR,
        layout.COMMUNICATOR,
        rows.height,
        communicator=rows["communicator"].to_numpy(),
        size=rows["size"].to_numpy(),
        first=rows["first"].to_numpy(),
        members=members,
    )


def _shares(table: pl.DataFrame) -> Bytes:
    width = layout.SHARES_IN_RECORD
    rows = (
        table.with_columns((pl.col("index") // width * width).alias("first"))
        .sort("number", "index")
        .group_by("number", "first", maintain_order=True)
        .agg(pl.col("bytes_given"))
    )
    lists = rows["bytes_given"].to_list()
    return _records(
        layout.KIND_SHARES,
        layout.SHARES,
        rows.height,
        call=rows["number"].to_numpy(),
        first=rows["first"].to_numpy(),
        count=[len(entry) for entry in lists],
        bytes=_grid(lists, width, 0, np.uint64),
    )


def _grid(lists: list[list[int]], width: int, fill: int, kind: Any) -> npt.NDArray[Any]:
    grid = np.full((len(lists), width), fill, dtype=kind)
    for row, entry in zip(grid, lists, strict=True):
        row[: len(entry)] = entry
    return grid
