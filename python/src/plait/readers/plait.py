# SPDX-License-Identifier: Apache-2.0
"""Reads a run's folder (docs/reference/trace-format.md) into event tables."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._errors import PlaitError
from plait._events import TABLES, Run
from plait._launcher import name_signals
from plait._schema import ROLES, SCHEMA, Schema
from plait.readers._calls import add_postings, call_tables, read_sites, with_places
from plait.readers._clocks import ClockMap, fit_clock
from plait.readers._engine import join_engine, read_engine_file
from plait.readers._frames import event_columns, event_table, frame
from plait.readers._graphs import graph_tables
from plait.readers._match_by_order import match_by_order
from plait.readers._profile import choose_part, name_folded, sum_table, with_both_sides
from plait.readers._rank_file import NewerFormatError, RankFile, UnusableFileError, read_rank_file

#: What an unnamed one is called, by role.
_UNNAMED = {
    **{role: number for number, role in ROLES.items()},
    ROLES["task"]: "kind",
    ROLES["call_site"]: "place",
}
#: Records that have no table of their own: their contents go into other tables and notices.
_NO_TABLE = ("chunk", "name", "clock")
_MISSING_SHOWN_MAX = 8
#: Files read at once. numpy lets other threads run; each needs its file in memory.
_THREADS_MAX = 4


def read_run(
    folder: Path,
    schema: Schema = SCHEMA,
    window: int | None = None,
    ranks: Collection[int] | None = None,
) -> Run:
    """Everything readable of a run, with notices about what is not.

    `schema`: with more records than plait's own, which are then in `Run.other`. `window`: of a profile,
    the events of this one in the place of its sums. Raises PlaitError, a sentence for the user, when
    there is nothing usable at all, or no such window. `ranks`: only the files of these are read.
    """
    paths = wanted_files(require_run(folder), ranks)
    notices: list[str] = []
    meta = _read_meta(folder / "meta.json", notices)
    meta = _add_launch(meta, folder / "run.json", notices)
    files, unusable = _read_files(paths, schema, notices)
    read = {file.rank for file in files}
    files = _of_one_run(files, meta, notices)
    if not files:
        _refuse_newer(folder, paths[0], schema)
        raise _no_files(folder, f" ({notices[-1]})" if notices and ".plt" in notices[-1] else "")
    unusable += [f"rank-{rank:04d}.plt" for rank in sorted(read - {file.rank for file in files})]
    rank_count = max(file.ranks for file in files)
    _note_missing(files, rank_count, meta, notices, ranks)
    for file in files:
        notices.extend(file.notices)
    _note_unknown(files, notices)
    run = _assemble(folder, meta, rank_count, files, schema, notices, window)
    return replace(run, unusable=tuple(unusable), is_part=ranks is not None)


def require_run(folder: Path) -> list[Path]:
    """The files of a run's ranks, which are not opened. Raises PlaitError when there are none."""
    if not folder.is_dir():
        raise PlaitError(
            f"{folder} is no folder; give the run's folder, as printed by `plait run` (it holds "
            "meta.json and rank-0000.plt)"
        )
    paths = [
        path
        for path in sorted(folder.glob("rank-*.plt"))
        if path.is_file() and re.fullmatch(r"rank-\d+\.plt", path.name)
    ]
    if not paths:
        raise _no_files(folder)
    return paths


def wanted_files(paths: list[Path], ranks: Collection[int] | None) -> list[Path]:
    """Those of some ranks; None: all. Raises PlaitError when there are none."""
    if ranks is None:
        return paths
    wanted = set(ranks)
    found = [path for path in paths if int(path.stem.removeprefix("rank-")) in wanted]
    if not found:
        raise PlaitError(f"{paths[0].parent} has no file of the ranks that --only-ranks names")
    return found


def _no_files(folder: Path, why: str = "") -> PlaitError:
    return PlaitError(
        f"{folder} holds no readable rank-NNNN.plt{why}; was the program started with "
        "`plait run`, and does it use plait? (`plait record` records programs that do not)"
    )


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
    """What `plait run` noted: the command, where the program did not report it, and how it ended."""
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


def _try_file(path: Path, schema: Schema) -> RankFile | UnusableFileError:
    try:
        return read_rank_file(path, schema)
    except UnusableFileError as error:
        return error


def _read_files(
    paths: list[Path], schema: Schema, notices: list[str]
) -> tuple[list[RankFile], list[str]]:
    """The files that can be read, and the names of those that cannot."""
    unusable: list[str] = []
    files: dict[int, RankFile] = {}
    with ThreadPoolExecutor(max_workers=min(_THREADS_MAX, os.cpu_count() or 1)) as pool:
        found = list(pool.map(_try_file, paths, repeat(schema)))
    for path, file in zip(paths, found, strict=True):
        if isinstance(file, UnusableFileError):
            notices.append(f"{path.name} {file}; it was left out")
            unusable.append(path.name)
            continue
        if file.rank in files:
            notices.append(f"{path.name} claims to be rank {file.rank} as well; it was left out")
            unusable.append(path.name)
            continue
        files[file.rank] = file
    return [files[rank] for rank in sorted(files)], unusable


def _refuse_newer(folder: Path, path: Path, schema: Schema) -> None:
    """Raises PlaitError where the file is of a later major version."""
    error = _try_file(path, schema)
    if isinstance(error, NewerFormatError):
        raise PlaitError(f"{folder} {error}, as with pip install --upgrade plait-hpc")


def _note_unknown(files: list[RankFile], notices: list[str]) -> None:
    """Records of kinds that a later minor version added."""
    kinds = sorted({kind for file in files for kind in file.unknown})
    if kinds:
        count = sum(sum(file.unknown.values()) for file in files)
        what = "kind" if len(kinds) == 1 else "kinds"
        notices.append(
            f"{count:,} records of {what} {', '.join(map(str, kinds))} are not known to this plait, and "
            "were left out: a newer plait made the run; update to see them"
        )


def _of_one_run(files: list[RankFile], meta: dict[str, Any], notices: list[str]) -> list[RankFile]:
    """Without files of another number of ranks than most have: one of these is damaged, or of another
    run."""
    counts = Counter(file.ranks for file in files)
    if len(counts) < 2:
        return files
    declared = meta.get("ranks")
    ranks = max(counts, key=lambda each: (each == declared, counts[each], -abs(each - len(files))))
    for file in files:
        if file.ranks != ranks:
            notices.append(
                f"rank-{file.rank:04d}.plt claims {file.ranks} ranks and the run has {ranks}: the file "
                "is damaged, or of another run; it was left out"
            )
    return [file for file in files if file.ranks == ranks]


def _note_missing(
    files: list[RankFile],
    ranks: int,
    meta: dict[str, Any],
    notices: list[str],
    wanted: Collection[int] | None,
) -> None:
    missing = ranks - len(files)
    if wanted is not None:
        notices.append(
            f"{len(files)} of {ranks} ranks were read, as requested: messages to and from others have "
            "one side only, and figures show no others"
        )
    elif missing:
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
    declared = meta.get("ranks")
    if isinstance(declared, int) and declared != ranks:
        notices.append(f"meta.json has {declared} ranks, the files {ranks}")


def _assemble(
    folder: Path,
    meta: dict[str, Any],
    ranks: int,
    files: list[RankFile],
    schema: Schema,
    notices: list[str],
    window: int | None,
) -> Run:
    numbering = _Numbering()
    tables: dict[str, list[pl.DataFrame]] = {}
    present = tuple(file.rank for file in files)
    reference_ns, clock_ns = files[0].wall_ns, files[0].clock_ns
    error_ns = 0
    are_compared = any(file["clock"].size for file in files)
    by_order: list[npt.NDArray[np.bool_]] = []
    while files:  # each is let go of before the next one's tables are made
        file = files.pop(0)
        clock = fit_clock(file["clock"], _last_ns(file), file.wall_ns - reference_ns)
        if file.rank == 0:
            clock = ClockMap(0)
        error_ns = max(error_ns, clock.error_ns)
        of_rank = _tables(file, schema, clock, numbering)
        is_by_order = _is_by_order(file)
        is_by_order = _separate_engine(of_rank, file, is_by_order)
        engine = read_engine_file(folder, file, schema, notices)
        if engine is not None:
            _add_engine(of_rank, engine, clock.since(engine.clock_ns - file.clock_ns), numbering)
        by_order.append(is_by_order)
        for name, table in of_rank.items():
            tables.setdefault(name, []).append(table)
    if len(present) > 1 and not are_compared:
        notices.append(
            "The ranks' clocks were not compared in this run: they are aligned by the hosts' wall "
            "clocks, so times of different ranks may be off by milliseconds"
        )
    whole = {name: pl.concat(tables.pop(name)) for name in list(tables)}
    whole["communicators"] = whole["communicators"].unique(maintain_order=True)
    is_chosen = choose_part(whole, np.concatenate(by_order), window, error_ns, notices)
    messages = match_by_order(whole["messages"], is_chosen)
    if window is not None:
        messages = with_both_sides(messages)
    is_own = messages["communicator"].is_between(
        events.OWN_COMMUNICATORS, events.ENGINE_COMMUNICATORS - 1
    )
    own_messages = int(is_own.sum())
    if own_messages:
        messages = messages.filter(~is_own)
    whole["messages"] = messages
    if window is None:
        _note_unended(meta, ranks, whole["calls"], numbering.names(ROLES["function"]), notices)
    sites = read_sites(folder / "sites.json", numbering.names(ROLES["call_site"]), notices)
    return Run(
        meta=meta,
        ranks=ranks,
        ranks_present=present,
        kinds=numbering.names(ROLES["task"]),
        span_kinds=with_places(numbering.names(ROLES["span"]), folder / "sites.json"),
        counter_kinds=numbering.names(ROLES["counter"]),
        functions=name_folded(whole, numbering.names(ROLES["function"])),
        sites=sites,
        clock_ns=clock_ns,
        clock_error_ns=error_ns,
        own_messages=own_messages,
        notices=tuple(notices),
        other={name: whole.pop(name) for name in list(whole) if name not in TABLES},
        **whole,  # type: ignore[arg-type]
    )


def _is_by_order(file: RankFile) -> npt.NDArray[np.bool_]:
    flag = next(field for field in SCHEMA["message"].flags if field.name == "is_matched_by_order")
    found: npt.NDArray[np.bool_] = (file["message"]["flags"] & flag.options["bit"]) != 0
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
    ends = [(name, "end") for name in ("task", "span", "call")]
    lasts = [("clock", "time"), ("message", "completed"), *ends]
    return max(
        (int(file[record][field].max()) for record, field in lasts if file[record].size), default=0
    )


class _Numbering:
    """One number for each name over all ranks; names keep the order in which they turn up."""

    def __init__(self) -> None:
        self._of: dict[int, dict[str, int]] = {role: {} for role in _UNNAMED}

    def renumber(
        self, numbers: npt.NDArray[np.uint32], names: dict[tuple[int, int], str], role: int
    ) -> npt.NDArray[np.int32]:
        found, inverse = _distinct(numbers)
        known = self._of[role]
        mapped = [
            known.setdefault(names.get((role, int(number))) or f"{_UNNAMED[role]} {number}", len(known))
            for number in found
        ]
        result: npt.NDArray[np.int32] = np.asarray(mapped, dtype=np.int32)[inverse]
        return result

    def names(self, role: int) -> tuple[str, ...]:
        return tuple(self._of[role])


def _distinct(numbers: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The numbers that turn up, sorted, and which of them is at each place."""
    most = int(numbers.max()) if numbers.size else 0
    if most > max(1 << 16, numbers.size):
        return np.unique(numbers, return_inverse=True)
    there = np.zeros(most + 1, dtype=np.bool_)  # counted, where there are few: names are numbered from 0
    there[numbers] = True
    return np.flatnonzero(there) if numbers.size else numbers, (np.cumsum(there) - 1)[numbers]


def _tables(
    file: RankFile, schema: Schema, clock: ClockMap, numbering: _Numbering
) -> dict[str, pl.DataFrame]:
    plain = {
        record.table: event_table(file, record, clock, numbering.renumber)
        for record in schema.records.values()
        if record.table and record.list is None and record.name not in (*_NO_TABLE, "message")
    }
    tasks = plain["tasks"].with_columns(pl.min_horizontal("ready_ns", "start_ns").alias("ready_ns"))
    messages = _message_table(file, clock, numbering)
    tables = {**plain, "tasks": tasks, **graph_tables(file, clock, numbering.renumber)}
    tables.update(call_tables(file, clock, numbering.renumber))
    tables["sums"] = sum_table(file, "sum", clock, numbering.renumber)
    tables["engine_sums"] = sum_table(file, "engine_sum", clock, numbering.renumber)
    return {**tables, "messages": add_postings(messages, tables["calls"])}


def _with_engine(messages: pl.DataFrame, is_of_call: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """The messages of a rank into whose file the engine recorded: communicators numbered apart."""
    is_of_program = pl.Series(~is_of_call) & (messages["communicator"] < events.OWN_COMMUNICATORS)
    base = pl.when(is_of_program).then(events.ENGINE_COMMUNICATORS).otherwise(0)
    return messages.with_columns(pl.col("communicator") + base)


def _carries_calls(file: RankFile) -> bool:
    """Whether the engine that recorded into the file moved the messages of the program's calls."""
    flag = next(field for field in SCHEMA["engine"].flags if field.name == "carries_calls")
    return bool((file["engine"]["flags"] & flag.options["bit"]).any())


def _separate_engine(
    of_rank: dict[str, pl.DataFrame], file: RankFile, is_of_call: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Separates the messages of the program from those of an engine that recorded into the same file.

    Returns which of the messages are of calls.
    """
    if not _carries_calls(file):
        if file["engine"].size:
            of_rank["messages"] = _with_engine(of_rank["messages"], is_of_call)
        return is_of_call
    both = of_rank["messages"]
    of_rank["messages"], of_rank["engine_messages"] = join_engine(
        both.filter(pl.Series(is_of_call)), both.filter(pl.Series(~is_of_call)), of_rank["calls"]
    )
    return is_of_call[is_of_call]


def _add_engine(
    of_rank: dict[str, pl.DataFrame], engine: RankFile, clock: ClockMap, numbering: _Numbering
) -> None:
    """Adds to a rank's tables what plait's engine did for it."""
    of_rank["messages"], of_rank["engine_messages"] = join_engine(
        of_rank["messages"], _message_table(engine, clock, numbering), of_rank["calls"]
    )
    gaps = event_table(engine, SCHEMA["poll_gap"], clock, numbering.renumber)
    of_rank["gaps"] = pl.concat([of_rank["gaps"], gaps])


def _message_table(file: RankFile, clock: ClockMap, numbering: _Numbering) -> pl.DataFrame:
    columns = event_columns(file, SCHEMA["message"], clock, numbering.renumber)
    found = file["message"]
    times = (found[name] for name in ("posted", "handed", "arrived", "completed"))
    posted, handed, arrived, completed = times
    posted = np.where(posted == 0, handed, posted)
    handed = np.where(handed == 0, posted, handed)
    completed = np.where(completed == 0, np.maximum(handed, arrived), completed)
    arrived = np.where(arrived == 0, completed, arrived)
    received = columns["direction"] == 1
    unknown = np.full(found.size, -1, dtype=np.int32)
    return frame(
        {
            **columns,
            "received": received,
            "source": np.where(received, columns["peer"], file.rank),
            "destination": np.where(received, file.rank, columns["peer"]),
            "posted_ns": clock.apply(posted),
            "handed_ns": clock.apply(handed),
            "arrived_ns": clock.apply(arrived),
            "completed_ns": clock.apply(completed),
            "worker": file.message_threads,
            "number": np.where(columns["is_matched_by_order"], found["sequence"], 0),
            "function": unknown,
            "site": unknown,
        },
        events.MESSAGES,
    )
