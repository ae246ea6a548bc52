# SPDX-License-Identifier: Apache-2.0
"""Reads a run's folder (docs/trace-format.md) into event tables."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._errors import PlaitError
from plait._events import Run
from plait._launcher import name_signals
from plait.readers import _layout as layout
from plait.readers._calls import add_postings, call_tables, read_sites
from plait.readers._clocks import ClockMap, fit_clock
from plait.readers._frames import frame, rank_column
from plait.readers._graphs import graph_tables
from plait.readers._match_by_order import match_by_order
from plait.readers._rank_file import RankFile, UnusableFileError, read_rank_file

_ROLES = {0: "kind", 1: "span", 2: "counter", 3: "function", 4: "place"}
_MISSING_SHOWN_MAX = 8
#: Files read at once. numpy lets other threads run; each needs its file in memory.
_THREADS_MAX = 4


def read_run(folder: Path) -> Run:
    """Everything readable of a run, with notices about what is not.

    Raises PlaitError, a sentence for the user, when there is nothing usable at all.
    """
    if not folder.is_dir():
        raise PlaitError(
            f"{folder} is no folder; give the run's folder, as printed by `plait run` (it holds "
            "meta.json and rank-0000.plt)"
        )
    notices: list[str] = []
    meta = _read_meta(folder / "meta.json", notices)
    meta = _add_launch(meta, folder / "run.json", notices)
    files = _read_files(folder, notices)
    if not files:
        why = f" ({notices[-1]})" if notices and ".plt" in notices[-1] else ""
        raise PlaitError(
            f"{folder} holds no readable rank-NNNN.plt{why}; was the program started with "
            "`plait run`, and does it use plait? (`plait record` records programs that do not)"
        )
    ranks = max(file.ranks for file in files)
    _note_missing(files, ranks, meta, notices)
    for file in files:
        notices.extend(file.notices)
    return _assemble(folder, meta, ranks, files, notices)


def _read_meta(path: Path, notices: list[str]) -> dict[str, Any]:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        notices.append("meta.json is missing: the run ended before rank 0 could write it")
        return {}
    except (OSError, ValueError, RecursionError) as error:
        notices.append(f"meta.json cannot be read ({error}); what ran is not known")
        return {}
    if not isinstance(meta, dict):
        notices.append("meta.json is no JSON object; what ran is not known")
        return {}
    if meta.get("ended") is None:
        notices.append(
            "The run did not end in good order, or still runs: this shows what had been written"
        )
    return meta


def _add_launch(meta: dict[str, Any], path: Path, notices: list[str]) -> dict[str, Any]:
    """What `plait run` noted: the command, where the program did not tell it, and how it ended."""
    try:
        launch = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return meta
    if not isinstance(launch, dict) or not isinstance(launch.get("command"), list):
        return meta
    command = [str(word) for word in launch["command"]]
    if not meta.get("command"):
        meta = {**meta, "command": command}
    if not meta.get("program") and command:
        meta = {**meta, "program": Path(command[0]).name}
    status = launch.get("status")
    if isinstance(status, int) and status != 0:
        number = name_signals(status)
        how = f"by signal {number}" if number is not None else f"with exit status {status}"
        notices.append(f"The program was ended {how}")
    return meta


def _try_file(path: Path) -> RankFile | UnusableFileError:
    try:
        return read_rank_file(path)
    except UnusableFileError as error:
        return error


def _read_files(folder: Path, notices: list[str]) -> list[RankFile]:
    files: dict[int, RankFile] = {}
    paths = [
        path
        for path in sorted(folder.glob("rank-*.plt"))
        if path.is_file() and re.fullmatch(r"rank-\d+\.plt", path.name)
    ]
    with ThreadPoolExecutor(max_workers=min(_THREADS_MAX, os.cpu_count() or 1)) as pool:
        found = list(pool.map(_try_file, paths))
    for path, file in zip(paths, found, strict=True):
        if isinstance(file, UnusableFileError):
            notices.append(f"{path.name} {file}; it was left out")
            continue
        if file.rank in files:
            notices.append(f"{path.name} says it is rank {file.rank} as well; it was left out")
            continue
        files[file.rank] = file
    return [files[rank] for rank in sorted(files)]


def _note_missing(files: list[RankFile], ranks: int, meta: dict[str, Any], notices: list[str]) -> None:
    missing = ranks - len(files)
    if missing:
        present = {file.rank for file in files}
        some = [
            str(rank)
            for rank in range(min(ranks, len(files) + _MISSING_SHOWN_MAX))
            if rank not in present
        ]
        more = " ..." if len(some) < missing else ""
        notices.append(
            f"The files of {missing} of {ranks} ranks are missing or unreadable (rank "
            f"{', '.join(some)}{more}): figures show the others"
        )
    told = meta.get("ranks")
    if isinstance(told, int) and told != ranks:
        notices.append(f"meta.json tells of {told} ranks, the files of {ranks}")


def _assemble(
    folder: Path, meta: dict[str, Any], ranks: int, files: list[RankFile], notices: list[str]
) -> Run:
    numbering = _Numbering()
    tables: dict[str, list[pl.DataFrame]] = {}
    present = tuple(file.rank for file in files)
    reference_ns = files[0].wall_ns
    error_ns = 0
    are_compared = any(file.clocks.size for file in files)
    by_order = np.concatenate([_is_by_order(file) for file in files])
    while files:  # each is let go of before the next one's tables are made
        file = files.pop(0)
        clock = fit_clock(file.clocks, _last_ns(file), file.wall_ns - reference_ns)
        if file.rank == 0:
            clock = ClockMap(0)
        error_ns = max(error_ns, clock.error_ns)
        for name, table in _tables(file, clock, numbering).items():
            tables.setdefault(name, []).append(table)
    if len(present) > 1 and not are_compared:
        notices.append(
            "The ranks' clocks were not compared in this run: they are aligned by the hosts' wall "
            "clocks, so times of different ranks may be off by milliseconds"
        )
    whole = {name: pl.concat(tables.pop(name)) for name in list(tables)}
    whole["communicators"] = whole["communicators"].unique(maintain_order=True)
    messages = match_by_order(whole["messages"], by_order)
    is_own = messages["communicator"] >= events.OWN_COMMUNICATORS
    own_messages = int(is_own.sum())
    if own_messages:
        messages = messages.filter(~is_own)
    whole["messages"] = messages
    _note_unended(meta, ranks, whole["calls"], numbering.names(layout.ROLE_FUNCTION), notices)
    return Run(
        meta=meta,
        ranks=ranks,
        ranks_present=present,
        kinds=numbering.names(0),
        span_kinds=numbering.names(1),
        counter_kinds=numbering.names(2),
        functions=numbering.names(layout.ROLE_FUNCTION),
        sites=read_sites(folder / "sites.json", numbering.names(layout.ROLE_SITE), notices),
        clock_error_ns=error_ns,
        own_messages=own_messages,
        notices=tuple(notices),
        **whole,
    )


def _is_by_order(file: RankFile) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (file.messages["flags"] & layout.MATCHED_BY_ORDER) != 0
    return found


def _note_unended(
    meta: dict[str, Any], ranks: int, calls: pl.DataFrame, functions: tuple[str, ...], notices: list[str]
) -> None:
    """Ranks of a recorded MPI program that ended without MPI_Finalize."""
    if meta.get("recorder") != "mpi" or not calls.height:
        return
    ends = [index for index, name in enumerate(functions) if name.lower().startswith("mpi_finalize")]
    ended = calls.filter(pl.col("function").is_in(ends))["rank"].unique()
    left = calls.filter(~pl.col("rank").is_in(ended.implode()))["rank"].unique().sort().to_list()
    if left:
        some = ", ".join(str(rank) for rank in left[:_MISSING_SHOWN_MAX])
        more = " ..." if len(left) > _MISSING_SHOWN_MAX else ""
        notices.append(
            f"{len(left)} of {ranks} ranks never came back from MPI_Finalize (rank {some}{more}): "
            "what they did last, and what they still waited for, may be missing"
        )


def _last_ns(file: RankFile) -> int:
    lasts = [int(file.clocks["time"].max())] if file.clocks.size else []
    for records, column in (
        *((file.tasks, "end"), (file.messages, "completed"), (file.spans, "end"), (file.calls, "end")),
    ):
        if records.size:
            lasts.append(int(records[column].max()))
    return max(lasts, default=0)


class _Numbering:
    """One number for each name over all ranks; names keep the order in which they turn up."""

    def __init__(self) -> None:
        self._of: dict[int, dict[str, int]] = {role: {} for role in _ROLES}

    def renumber(
        self, numbers: npt.NDArray[np.uint32], names: dict[tuple[int, int], str], role: int
    ) -> npt.NDArray[np.int32]:
        found, inverse = _distinct(numbers)
        known = self._of[role]
        mapped = [
            known.setdefault(names.get((role, int(number))) or f"{_ROLES[role]} {number}", len(known))
            for number in found
        ]
        result: npt.NDArray[np.int32] = np.asarray(mapped, dtype=np.int32)[inverse]
        return result

    def names(self, role: int) -> tuple[str, ...]:
        return tuple(self._of[role])


def _distinct(numbers: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The numbers that turn up, sorted, and which of them stands in each place."""
    most = int(numbers.max()) if numbers.size else 0
    if most > max(1 << 16, numbers.size):
        return np.unique(numbers, return_inverse=True)
    there = np.zeros(most + 1, dtype=np.bool_)  # counted, where there are few: names are numbered from 0
    there[numbers] = True
    return np.flatnonzero(there) if numbers.size else numbers, (np.cumsum(there) - 1)[numbers]


def _tables(file: RankFile, clock: ClockMap, numbering: _Numbering) -> dict[str, pl.DataFrame]:
    calls = call_tables(file, clock, numbering.renumber)
    return {
        **calls,
        "tasks": _task_table(file, clock, numbering),
        "messages": add_postings(_message_table(file, clock), calls["calls"]),
        "spans": _span_table(file, clock, numbering),
        "gaps": _gap_table(file, clock),
        "counters": _counter_table(file, clock, numbering),
        **graph_tables(file, clock, numbering.renumber),
    }


def _task_table(file: RankFile, clock: ClockMap, numbering: _Numbering) -> pl.DataFrame:
    found = file.tasks
    ready = np.where(found["ready"] == 0, found["start"], found["ready"])
    return frame(
        {
            "rank": rank_column(file, found),
            "worker": found["worker"],
            "kind": numbering.renumber(found["name"], file.names, 0),
            "role": found["flags"] & 3,
            "object": found["object"],
            "ready_ns": clock.apply(np.minimum(ready, found["start"])),
            "start_ns": clock.apply(found["start"]),
            "end_ns": clock.apply(found["end"]),
            "id": found["id"],
            "released_by": found["released_by"],
            "step": found["step"],
            "place": found["place"],
        },
        events.TASKS,
    )


def _message_table(file: RankFile, clock: ClockMap) -> pl.DataFrame:
    found = file.messages
    posted, handed, arrived, completed = (
        found[name] for name in ("posted", "handed", "arrived", "completed")
    )
    posted = np.where(posted == 0, handed, posted)
    handed = np.where(handed == 0, posted, handed)
    completed = np.where(completed == 0, np.maximum(handed, arrived), completed)
    arrived = np.where(arrived == 0, completed, arrived)
    received = found["direction"] == 1
    peer = found["peer"].astype(np.int64)
    peer[found["peer"] == layout.NOTHING] = -1
    by_order = _is_by_order(file)
    unknown = np.full(found.size, -1, dtype=np.int32)
    return frame(
        {
            "rank": rank_column(file, found),
            "received": received,
            "protocol": found["protocol"],
            "source": np.where(received, peer, file.rank),
            "destination": np.where(received, file.rank, peer),
            "communicator": found["communicator"],
            "sequence": found["sequence"],
            "tag": found["tag"],
            "size_bytes": found["bytes"],
            "posted_ns": clock.apply(posted),
            "handed_ns": clock.apply(handed),
            "arrived_ns": clock.apply(arrived),
            "completed_ns": clock.apply(completed),
            "unfinished": (found["flags"] & layout.UNFINISHED) != 0,
            "worker": file.message_threads,
            "number": np.where(by_order, found["sequence"], 0),
            "function": unknown,
            "site": unknown,
        },
        events.MESSAGES,
    )


def _span_table(file: RankFile, clock: ClockMap, numbering: _Numbering) -> pl.DataFrame:
    found = file.spans
    return frame(
        {
            "rank": rank_column(file, found),
            "worker": found["worker"],
            "kind": numbering.renumber(found["name"], file.names, 1),
            "object": found["object"],
            "start_ns": clock.apply(found["start"]),
            "end_ns": clock.apply(found["end"]),
            "step": found["step"],
        },
        events.SPANS,
    )


def _gap_table(file: RankFile, clock: ClockMap) -> pl.DataFrame:
    found = file.gaps
    return frame(
        {
            "rank": rank_column(file, found),
            "worker": found["worker"],
            "start_ns": clock.apply(found["start"]),
            "end_ns": clock.apply(found["end"]),
        },
        events.GAPS,
    )


def _counter_table(file: RankFile, clock: ClockMap, numbering: _Numbering) -> pl.DataFrame:
    found = file.counters
    return frame(
        {
            "rank": rank_column(file, found),
            "kind": numbering.renumber(found["name"], file.names, 2),
            "time_ns": clock.apply(found["time"]),
            "value": found["value"],
            "step": found["step"],
        },
        events.COUNTERS,
    )
