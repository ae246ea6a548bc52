# SPDX-License-Identifier: Apache-2.0
"""The files of SWIFT as tables of ticks: reports of MPI requests, and task dumps. Checks each line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from plait._errors import PlaitError
from plait.readers._text_columns import TextTable, read_columns

REPORT_COLUMNS = (
    *("stic", "etic", "dtic", "step", "rank", "otherrank", "type", "itype", "subtype", "isubtype"),
    *("activation", "tag", "size", "sum", "rid"),
)
DUMP_COLUMNS = (
    *("rank", "rid", "type", "subtype", "cj_is_null", "tic", "toc", "ci_hydro", "cj_hydro"),
    *("ci_grav", "cj_grav", "flags", "sid"),
)
#: Ranks that a row may name; guards against a damaged file.
RANKS_MAX = 1 << 22
SUBTYPES_MAX = 1 << 16
THREADS_MAX = 4096
_TYPES = ("send", "recv")
_REPORT_WORDS = frozenset({"type", "subtype"})
_ROWS: dict[str, pl.DataType] = {
    **{name: pl.Int64() for name in REPORT_COLUMNS if name not in _REPORT_WORDS},
    **{"received": pl.Boolean(), "file": pl.Int64(), "line": pl.Int64()},
}
_TASKS: dict[str, pl.DataType] = {name: pl.Int64() for name in (*DUMP_COLUMNS, "step")}
_HEADS: dict[str, pl.DataType] = {
    name: pl.Int64() for name in ("rank", "step", "tic", "toc", "frequency")
}


@dataclass
class Names:
    """What the numbers of types and subtypes are called; unknown ones are named by their number."""

    types: dict[int, str] = field(default_factory=dict)
    subtypes: dict[int, str] = field(default_factory=dict)

    def task(self, kind: int, subtype: int) -> str:
        name = self.types.get(kind, f"type {kind}")
        if subtype == 0:
            return name
        return f"{name} {self.subtypes.get(subtype, f'subtype {subtype}')}"


@dataclass
class Texts:
    """What is in the files."""

    rows: pl.DataFrame  # of reports: REPORT_COLUMNS but the words, received, file (its index), line
    tasks: pl.DataFrame  # of dumps: DUMP_COLUMNS, step
    heads: pl.DataFrame  # of dumps: rank, step, tic, toc, frequency (0 where not reported)
    names: Names
    files: list[str]  # names of the reports
    notices: list[str]


def read_texts(paths: Sequence[Path], names: Names) -> Texts:
    """Reads reports and dumps in any order; searches folders. Adds to `names` those of the reports."""
    reports, dumps = _sort_files(paths)
    texts = Texts(_empty(_ROWS), _empty(_TASKS), _empty(_HEADS), names, [p.name for p in reports], [])
    rows = [_read_report(path, number, texts) for number, path in enumerate(reports)]
    read = [_read_dump(path, texts.notices) for path in dumps]
    if rows:
        texts.rows = pl.concat(rows)
    if read:
        texts.tasks = pl.concat([tasks for tasks, _ in read])
        texts.heads = pl.concat([heads for _, heads in read])
        again = texts.heads.filter(texts.heads.select("rank", "step").is_duplicated())
        if again.height:
            rank, step = again.select("rank", "step").row(0)
            raise PlaitError(f"rank {rank} has two task dumps of step {step}; give only one of them")
    return texts


def _empty(schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(schema))


def _sort_files(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Reports and dumps, distinguished by their names, else by how many columns they have."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [*path.glob("mpiuse_report*.dat"), *path.glob("thread_info_MPI*.dat")]
        if not inside:
            raise PlaitError(
                f"{path} holds neither mpiuse_report-rank*-step*.dat nor thread_info_MPI-step*.dat; "
                "SWIFT writes them when it is configured with --enable-mpiuse-reports or "
                "--enable-task-debugging"
            )
        found.extend(sorted(inside))
    reports: list[Path] = []
    dumps: list[Path] = []
    for path in {found_path.resolve(): found_path for found_path in found}.values():
        (dumps if _is_dump(path) else reports).append(path)
    return reports, dumps


def _is_dump(path: Path) -> bool:
    if path.name.startswith(("thread_info", "mpiuse_report")):
        return path.name.startswith("thread_info")
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            row = next((line for line in file if line.strip() and not line.startswith("#")), "")
    except OSError as error:
        raise PlaitError(f"{path} cannot be read ({error.strerror})") from error
    return len(row.split()) == len(DUMP_COLUMNS)


def _read_report(path: Path, number: int, texts: Texts) -> pl.DataFrame:
    table = read_columns(path, REPORT_COLUMNS, _REPORT_WORDS, optional=1)
    columns = table.columns
    foreign = np.array([word not in _TYPES for word in table.texts["type"]], dtype=np.bool_)
    begins, size = columns["activation"] == 1, columns["size"]
    for bad, what in (
        (foreign, "its type is neither send nor recv"),
        (_bad_rank(columns["rank"]) | _bad_rank(columns["otherrank"]), "its rank cannot be"),
        (~begins & (columns["activation"] != 0), "its activation is neither 0 nor 1"),
        (begins & (size < 0), "it begins a request, so its size should not be negative"),
        (~begins & (size > 0), "it ends a request, so its size should be negative"),
        (columns["dtic"] < 0, "its request ends before it begins"),
        (columns["tag"] < 0, "its tag is negative"),
        ((columns["isubtype"] < 0) | (columns["isubtype"] >= SUBTYPES_MAX), "its subtype cannot be"),
    ):
        _refuse(table, bad, what)
    _learn(table, texts)
    _note_end(table, texts.notices, has_foot=True)
    received = np.array([word == "recv" for word in table.texts["type"]], dtype=np.bool_)
    beside = {"received": received, "file": np.full(table.line.size, number), "line": table.line}
    return pl.DataFrame({**columns, **beside}, schema=_ROWS)


def _bad_rank(ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    bad: npt.NDArray[np.bool_] = (ranks < 0) | (ranks >= RANKS_MAX)
    return bad


def _refuse(table: TextTable, bad: npt.NDArray[np.bool_], what: str) -> None:
    if bad.any():
        line = int(table.line[np.flatnonzero(bad)[0]])
        raise PlaitError(f"{table.path}: line {line}: {what}; is the file damaged, or not of SWIFT?")


def _learn(table: TextTable, texts: Texts) -> None:
    for column, words, known in (
        ("itype", "type", texts.names.types),
        ("isubtype", "subtype", texts.names.subtypes),
    ):
        for key, name in set(zip(table.columns[column].tolist(), table.texts[words], strict=True)):
            if known.setdefault(key, name) != name:
                texts.notices.append(
                    f"{table.path.name} calls {words} {key} {name!r}, another file {known[key]!r}: are "
                    "these logs of different versions of SWIFT?"
                )


def _read_dump(path: Path, notices: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Its tasks and its heads: of each rank the first row is the head."""
    step = _step_in_name(path)
    table = read_columns(path, DUMP_COLUMNS, frozenset())
    columns = table.columns
    is_head = (columns["type"] == 0) & (columns["rid"] == 0) & (columns["subtype"] == 0)
    heads = columns["rank"][is_head]
    for bad, what in (
        (_bad_rank(columns["rank"]), "its rank cannot be"),
        ((columns["rid"] < 0) | (columns["rid"] >= THREADS_MAX), "its thread cannot be"),
        (columns["toc"] < columns["tic"], "it ends before it begins"),
        (is_head & _repeated(columns["rank"], is_head), "a second head of the same rank"),
        (
            ~is_head & ~np.isin(columns["rank"], heads),
            "a task of a rank whose head (a row with type 0) is missing",
        ),
    ):
        _refuse(table, bad, what)
    _note_end(table, notices, has_foot=False)
    rows = pl.DataFrame(columns).with_columns(pl.lit(step, dtype=pl.Int64()).alias("step"))
    head = pl.Series(is_head)
    found = rows.filter(head).select("rank", "step", "tic", "toc", pl.col("sid").alias("frequency"))
    return rows.filter(~head).select(list(_TASKS)), found


def _repeated(ranks: npt.NDArray[np.int64], is_head: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    again = np.zeros(ranks.size, dtype=np.bool_)
    where = np.flatnonzero(is_head)
    _, first = np.unique(ranks[where], return_index=True)
    again[np.delete(where, first)] = True
    return again


def _step_in_name(path: Path) -> int:
    digits = path.stem.rpartition("step")[2]
    if not digits.isdigit():
        raise PlaitError(
            f"{path}: a task dump has its step in its name only, and this one has none; call it "
            "thread_info_MPI-step<number>.dat"
        )
    return int(digits)


def _note_end(table: TextTable, notices: list[str], *, has_foot: bool) -> None:
    name = table.path.name
    if table.cut_off is not None:
        notices.append(f"{name} ends within a line: the file was cut off there, the line is left out")
    elif has_foot and not any(text.startswith("##") for text in table.comments):
        notices.append(f"{name} has no lines with ## at its end: it may have been cut off")
    elif not has_foot and not table.height:
        notices.append(f"{name} holds no rows")


def read_names(path: Path) -> Names:
    """Lines of `type NUMBER NAME` or `subtype NUMBER NAME`; what begins with # is left out."""
    names = Names()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise PlaitError(f"{path} cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 3 or words[0] not in ("type", "subtype") or not words[1].isdigit():
            raise PlaitError(
                f"{path}: line {number}: is {line.strip()!r}; lines are `type NUMBER NAME` or "
                "`subtype NUMBER NAME`"
            )
        (names.types if words[0] == "type" else names.subtypes)[int(words[1])] = words[2]
    return names
