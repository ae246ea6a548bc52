# SPDX-License-Identifier: Apache-2.0
"""Reads a run's folder (docs/reference/trace-format.md) into event tables."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, deque
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._errors import PlaitError
from plait._events import TABLES, Run
from plait._launcher import name_signals
from plait._schema import ROLES, SCHEMA, Record, Schema
from plait.readers._calls import add_postings, call_tables, read_sites, with_places
from plait.readers._clocks import ClockMap, fit_clock
from plait.readers._engine import join_engine, read_engine_file
from plait.readers._flows import flow_tables
from plait.readers._frames import event_columns, event_table, frame
from plait.readers._graphs import graph_tables
from plait.readers._match_by_order import match_by_order
from plait.readers._profile import choose_part, name_folded, sum_table, with_both_sides
from plait.readers._rank_file import (
    Head,
    NewerFormatError,
    RankFile,
    UnusableFileError,
    read_head,
    read_rank_file,
)

#: What an unnamed one is called, by role.
_UNNAMED = {
    **{role: number for number, role in ROLES.items()},
    ROLES["task"]: "kind",
    ROLES["call_site"]: "place",
}
#: Records that have no table of their own: their contents go into other tables and notices.
_NO_TABLE = ("chunk", "name", "clock")
_MISSING_SHOWN_MAX = 8
#: Files read at once, and ahead. numpy lets other threads run; each needs its file in memory.
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
    opened, unusable = _open_files(paths, notices)
    files = _of_one_run(opened, meta, notices)
    if not files:
        _refuse_newer(folder, paths[0])
        raise _no_files(folder, f" ({notices[-1]})" if notices and ".plt" in notices[-1] else "")
    unusable += [_file_name(rank) for rank in sorted(set(opened) - set(files))]
    rank_count = max(head.ranks for _, head in files.values())
    _note_missing(list(files), rank_count, meta, notices, ranks)
    run = _assemble(_Source(folder, meta, rank_count, files, schema), notices, unusable, window)
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


def _in_order(paths: list[Path], schema: Schema) -> Iterator[RankFile | UnusableFileError]:
    """The files one after another. Only those of a few ranks are in memory at a time."""
    threads = min(_THREADS_MAX, os.cpu_count() or 1)
    with ThreadPoolExecutor(max_workers=threads) as pool:
        ahead: deque[Future[RankFile | UnusableFileError]] = deque()
        for path in paths:
            ahead.append(pool.submit(_try_file, path, schema))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


#: A rank's file, and what its header has.
_Opened = tuple[Path, Head]


@dataclass(frozen=True)
class _Source:
    """What a run is read from."""

    folder: Path
    meta: dict[str, Any]
    ranks: int
    files: dict[int, _Opened]  # by rank
    schema: Schema


def _open_files(paths: list[Path], notices: list[str]) -> tuple[dict[int, _Opened], list[str]]:
    """The files with a valid header by their ranks, and the names of the others."""
    unusable: list[str] = []
    files: dict[int, _Opened] = {}
    for path in paths:
        try:
            head = read_head(path)
        except UnusableFileError as error:
            notices.append(f"{path.name} {error}; it was left out")
            unusable.append(path.name)
            continue
        if head.rank in files:
            notices.append(f"{path.name} claims to be rank {head.rank} as well; it was left out")
            unusable.append(path.name)
            continue
        files[head.rank] = path, head
    return {rank: files[rank] for rank in sorted(files)}, unusable


def _refuse_newer(folder: Path, path: Path) -> None:
    """Raises PlaitError where the file is of a later major version."""
    try:
        read_head(path)
    except NewerFormatError as error:
        raise PlaitError(f"{folder} {error}, as with pip install --upgrade plait-hpc") from error
    except UnusableFileError:
        pass


def _note_unknown(counts: Counter[int], notices: list[str]) -> None:
    """Records of kinds that a later minor version added. `counts`: by kind."""
    kinds = sorted(counts)
    if kinds:
        what = "kind" if len(kinds) == 1 else "kinds"
        notices.append(
            f"{counts.total():,} records of {what} {', '.join(map(str, kinds))} are not known to this "
            "plait, and were left out: a newer plait made the run; update to see them"
        )


def _file_name(rank: int) -> str:
    return f"rank-{rank:04d}.plt"


def _of_one_run(
    files: dict[int, _Opened], meta: dict[str, Any], notices: list[str]
) -> dict[int, _Opened]:
    """Without files of another number of ranks than most have: one of these is damaged, or of another
    run."""
    counts = Counter(head.ranks for _, head in files.values())
    if len(counts) < 2:
        return files
    declared = meta.get("ranks")
    ranks = max(counts, key=lambda each: (each == declared, counts[each], -abs(each - len(files))))
    for rank, (_, head) in files.items():
        if head.ranks != ranks:
            notices.append(
                f"{_file_name(rank)} claims {head.ranks} ranks and the run has {ranks}: the file is "
                "damaged, or of another run; it was left out"
            )
    return {rank: opened for rank, opened in files.items() if opened[1].ranks == ranks}


def _note_missing(
    present: list[int],
    ranks: int,
    meta: dict[str, Any],
    notices: list[str],
    wanted: Collection[int] | None,
) -> None:
    missing = ranks - len(present)
    if wanted is not None:
        notices.append(
            f"{len(present)} of {ranks} ranks were read, as requested: messages to and from others have "
            "one side only, and figures show no others"
        )
    elif missing:
        there = set(present)
        some = [
            str(rank)
            for rank in range(min(ranks, len(present) + _MISSING_SHOWN_MAX))
            if rank not in there
        ]
        more = " ..." if len(some) < missing else ""
        notices.append(
            f"The files of {missing} of {ranks} ranks are missing or unreadable (rank "
            f"{', '.join(some)}{more}): figures show the others"
        )
    declared = meta.get("ranks")
    if isinstance(declared, int) and declared != ranks:
        notices.append(f"meta.json has {declared} ranks, the files {ranks}")


@dataclass
class _Gathered:
    """What the files of all ranks have."""

    tables: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    by_order: list[npt.NDArray[np.bool_]] = field(default_factory=list)  # of the messages of each rank
    present: list[int] = field(default_factory=list)
    are_compared: bool = False  # the clocks
    error_ns: int = 0
    unknown: Counter[int] = field(default_factory=Counter)

    def add(self, tables: dict[str, pl.DataFrame]) -> None:
        for name, table in tables.items():
            if table.height:
                self.tables.setdefault(name, []).append(table)

    def whole(self, schema: Schema) -> dict[str, pl.DataFrame]:
        """Each table of all ranks; the parts are taken."""
        tables = {name: events.empty(record.columns) for name, record in _plain(schema)}
        tables |= events.empty_tables()
        tables |= {name: _joined(self.tables.pop(name)) for name in list(self.tables)}
        tables["communicators"] = tables["communicators"].unique(maintain_order=True)
        return tables


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all, in contiguous columns. Takes the columns of the parts one by one, so that no
    more than one is in memory twice."""
    names = parts[0].columns
    columns = ([part.drop_in_place(name) for part in parts] for name in names)
    return pl.DataFrame([pl.concat(column, rechunk=True) for column in columns])


def _assemble(source: _Source, notices: list[str], unusable: list[str], window: int | None) -> Run:
    numbering = _Numbering()
    gathered = _gather(source, numbering, notices, unusable)
    if not gathered.present:
        raise _no_files(source.folder, f" ({notices[-1]})")
    _, first = source.files[gathered.present[0]]
    if len(gathered.present) > 1 and not gathered.are_compared:
        notices.append(
            "The ranks' clocks were not compared in this run: they are aligned by the hosts' wall "
            "clocks, so times of different ranks may be off by milliseconds"
        )
    whole = gathered.whole(source.schema)
    by_order = np.concatenate(gathered.by_order)
    is_chosen = choose_part(whole, by_order, window, gathered.error_ns, notices)
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
        functions = numbering.names(ROLES["function"])
        _note_unended(source.meta, source.ranks, whole["calls"], functions, notices)
    sites_file = source.folder / "sites.json"
    sites = read_sites(sites_file, numbering.names(ROLES["call_site"]), notices)
    return Run(
        meta=source.meta,
        ranks=source.ranks,
        ranks_present=tuple(gathered.present),
        kinds=numbering.names(ROLES["task"]),
        span_kinds=with_places(numbering.names(ROLES["span"]), sites_file),
        counter_kinds=numbering.names(ROLES["counter"]),
        functions=name_folded(whole, numbering.names(ROLES["function"])),
        sites=sites,
        clock_ns=first.clock_ns,
        clock_error_ns=gathered.error_ns,
        own_messages=own_messages,
        notices=tuple(notices),
        other={name: whole.pop(name) for name in list(whole) if name not in TABLES},
        **whole,  # type: ignore[arg-type]
    )


def _gather(
    source: _Source, numbering: _Numbering, notices: list[str], unusable: list[str]
) -> _Gathered:
    """Reads each file, and adds its tables; adds what must be known of the files to `notices`."""
    gathered = _Gathered()
    of_engines: list[str] = []
    paths = [path for path, _ in source.files.values()]
    reference_ns = next(iter(source.files.values()))[1].wall_ns
    for path, file in zip(paths, _in_order(paths, source.schema), strict=True):
        if isinstance(file, UnusableFileError):
            notices.append(f"{path.name} {file}; it was left out")
            unusable.append(path.name)
            continue
        notices.extend(file.notices)
        gathered.unknown.update(file.unknown)
        clock = fit_clock(file["clock"], _last_ns(file), file.wall_ns - reference_ns)
        if file.rank == 0:
            clock = ClockMap(0)
        gathered.error_ns = max(gathered.error_ns, clock.error_ns)
        gathered.are_compared |= file["clock"].size > 0
        of_rank = _tables(file, source.schema, clock, numbering)
        is_by_order = _separate_engine(of_rank, file, _is_by_order(file))
        engine = read_engine_file(source.folder, file, source.schema, of_engines)
        if engine is not None:
            _add_engine(of_rank, engine, clock.since(engine.clock_ns - file.clock_ns), numbering)
        gathered.by_order.append(is_by_order)
        gathered.present.append(file.rank)
        gathered.add(of_rank)
    _note_unknown(gathered.unknown, notices)
    notices.extend(of_engines)
    return gathered


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


def _plain(schema: Schema) -> list[tuple[str, Record]]:
    """The tables whose columns are the fields of a record."""
    return [
        (record.table, record)
        for record in schema.records.values()
        if record.table and record.list is None and record.name not in (*_NO_TABLE, "message")
    ]


def _tables(
    file: RankFile, schema: Schema, clock: ClockMap, numbering: _Numbering
) -> dict[str, pl.DataFrame]:
    """Those of one rank that have rows, and those of messages and calls."""
    tables = {
        name: event_table(file, record, clock, numbering.renumber)
        for name, record in _plain(schema)
        if file[record.name].size or record.name == "call"
    }
    if "tasks" in tables:
        early = pl.min_horizontal("ready_ns", "start_ns").alias("ready_ns")
        tables["tasks"] = tables["tasks"].with_columns(early)
    if "graph_runs" in tables:
        tables["graph_runs"] = tables["graph_runs"].unique("step", keep="first", maintain_order=True)
    tables |= graph_tables(file, clock, numbering.renumber)
    tables |= flow_tables(file, clock, tables.get("tasks", events.empty(events.TASKS)))
    tables |= call_tables(file)
    for table, record in (("sums", "sum"), ("engine_sums", "engine_sum")):
        if file[record].size:
            tables[table] = sum_table(file, record, clock, numbering.renumber)
    messages = _message_table(file, clock, numbering)
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
    of_rank["gaps"] = pl.concat([of_rank["gaps"], gaps]) if "gaps" in of_rank else gaps


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
