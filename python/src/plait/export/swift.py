# SPDX-License-Identifier: Apache-2.0
"""Writes a run as SWIFT's own logs (docs/reference/formats.md), so that tools made for those work on it.

A tick is a nanosecond; so the heads of the task dumps declare it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._files import make_folder, write_file, write_text
from plait.measures.steps import steps_of_run

FREQUENCY_HZ = 1_000_000_000
#: Types of tasks, where the run did not come from SWIFT: its own kinds follow.
SEND, RECEIVE = 1, 2
_MB = 1048576.0
_REPORT_HEAD = (
    "# stic etic dtic step rank otherrank type itype subtype isubtype activation tag size sum\n"
)
_REPORT = [
    *("stic", "etic", "dtic", "step", "rank", "otherrank", "type", "itype", "subtype", "isubtype"),
    *("activation", "tag", "size", "sum"),
]
_DUMP = [
    *("rank", "rid", "type", "subtype", "cj_is_null", "tic", "toc", "ci_hydro", "cj_hydro"),
    *("ci_grav", "cj_grav", "flags", "sid"),
]


@dataclass(frozen=True)
class _Names:
    types: dict[int, str]
    subtypes: dict[int, str]
    kinds: list[tuple[int, int]]  # type and subtype of each of Run.kinds, then of each of Run.functions
    send: int
    receive: int


def write_swift(run: Run, folder: Path) -> list[Path]:
    """Writes a report for each rank and step, a task dump for each step that has tasks (or calls, where
    there are none; heads only, where there are neither), and swift-names.txt, what the numbers in them
    mean. Returns their paths.

    A message belongs to the step in which it was posted; all belong to step 1 where the run has no
    steps.
    """
    make_folder(folder)
    names = _names(run)
    steps = _steps(run)
    origin = min(0, run.window_ns()[0])
    rows = _report_rows(run, names, steps, origin)
    written = []
    for (step,), of_step in rows.partition_by("step", as_dict=True).items():
        by_rank = {int(key[0]): part for key, part in of_step.partition_by("rank", as_dict=True).items()}
        for rank in run.ranks_present:
            path = folder / f"mpiuse_report-rank{rank}-step{step}.dat"
            _write_report(path, by_rank.get(rank, of_step.clear()))
            written.append(path)
    dump = _dump_rows(run, names, steps, origin)
    dumps = dump.partition_by("step", as_dict=True)
    if not dumps:
        # Their heads alone define a tick.
        dumps = {(step,): dump for step in rows["step"].unique().sort()}
    for (step,), of_step in dumps.items():
        path = folder / f"thread_info_MPI-step{step}.dat"
        heads = _heads(of_step, run, steps.filter(pl.col("step") == step).row(0), origin)
        write_file(path, lambda file, heads=heads, rows=of_step: _fill_dump(file, heads, rows))  # type: ignore[misc]
        written.append(path)
    path = folder / "swift-names.txt"
    write_text(path, "".join(_name_lines(names)))
    return [*written, path]


def _names(run: Run) -> _Names:
    told = run.meta.get("swift")
    told = told if isinstance(told, dict) else {}
    types = _numbered(told.get("types"))
    subtypes = _numbered(told.get("subtypes"))
    send = next((number for number, name in types.items() if name == "send"), SEND)
    receive = next((number for number, name in types.items() if name == "recv"), RECEIVE)
    types |= {send: "send", receive: "recv"}
    known = told.get("kinds")
    kinds = []
    for name in (*run.kinds, *run.functions):
        pair = known.get(name) if isinstance(known, dict) else None
        if not (isinstance(pair, list) and len(pair) == 2):
            pair = [max(types) + 1, 0]
            types[pair[0]] = name.replace(" ", "_")
        kinds.append((int(pair[0]), int(pair[1])))
    for communicator in run.messages["communicator"].unique().sort().to_list():
        subtypes.setdefault(communicator, "none" if communicator == 0 else f"communicator{communicator}")
    return _Names(types, subtypes, kinds, send, receive)


def _numbered(told: Any) -> dict[int, str]:
    if not isinstance(told, dict):
        return {}
    return {int(number): str(name) for number, name in told.items() if str(number).isdigit()}


def _name_lines(names: _Names) -> Iterator[str]:
    yield "# What the numbers of types and subtypes in these files mean: plait import swift --names\n"
    for what, known in (("type", names.types), ("subtype", names.subtypes)):
        for number, name in sorted(known.items()):
            yield f"{what} {number} {name}\n"


def _steps(run: Run) -> pl.DataFrame:
    """step, begin_ns, end_ns; from its spans called step, else as `steps_of_run`, else one step 1."""
    low, high = run.window_ns()
    spans = run.spans
    if "step" in run.span_kinds:
        spans = spans.filter(pl.col("kind") == run.span_kinds.index("step"))
        found = spans.group_by("step").agg(pl.col("start_ns").min(), pl.col("end_ns").max()).sort("step")
    else:
        found = steps_of_run(run).select("step", "start_ns", "end_ns")
    if not found.height:
        found = pl.DataFrame({"step": [1], "start_ns": [low], "end_ns": [high]})
    # What comes before the first step belongs to it.
    begin = pl.when(pl.int_range(pl.len()) == 0).then(pl.min_horizontal("start_ns", low))
    found = found.sort("start_ns").with_columns(begin.otherwise("start_ns").alias("begin_ns"))
    return found.select("step", "begin_ns", "end_ns")


def _with_step(table: pl.DataFrame, time: str, steps: pl.DataFrame) -> pl.DataFrame:
    """With step and begin_ns: of the last step that had begun then."""
    ordered = table.sort(time, maintain_order=True)
    return ordered.join_asof(
        steps, left_on=time, right_on="begin_ns", strategy="backward", coalesce=False
    )


def _report_rows(run: Run, names: _Names, steps: pl.DataFrame, origin: int) -> pl.DataFrame:
    received = pl.col("received")
    sides = _with_step(run.messages, "posted_ns", steps).select(
        "step",
        "begin_ns",
        "rank",
        pl.when(received).then("source").otherwise("destination").alias("otherrank"),
        pl.when(received).then(pl.lit("recv")).otherwise(pl.lit("send")).alias("type"),
        pl.when(received).then(names.receive).otherwise(names.send).alias("itype"),
        pl.col("communicator").replace_strict(names.subtypes, return_dtype=pl.String).alias("subtype"),
        pl.col("communicator").alias("isubtype"),
        # SWIFT's tools take them for signed numbers.
        (pl.col("tag") & ((1 << 63) - 1)).alias("tag"),
        "size_bytes",
        "posted_ns",
        "completed_ns",
        "unfinished",
    )
    begins = sides.with_columns(
        pl.col("posted_ns").alias("time_ns"), pl.lit(1).alias("activation"), pl.lit(0).alias("dtic")
    )
    ends = sides.filter(~pl.col("unfinished")).with_columns(
        pl.col("completed_ns").alias("time_ns"),
        pl.lit(0).alias("activation"),
        (pl.col("completed_ns") - pl.col("posted_ns"))
        .cast(pl.Int32 if False else pl.Int64)
        .alias("dtic"),
    )
    begins = begins.with_columns(pl.col("dtic").cast(pl.Int64))
    sign = pl.when(pl.col("activation") == 1).then(1).otherwise(-1)
    return (
        pl.concat([begins, ends])
        .with_columns((sign * pl.col("size_bytes")).alias("size"))
        .sort("rank", "time_ns", "activation", descending=[False, False, True], maintain_order=True)
        .with_columns(
            pl.col("size").cum_sum().over("rank").alias("sum"),
            (pl.col("time_ns") - pl.col("begin_ns")).alias("stic"),
            (pl.col("time_ns") - origin).alias("etic"),
        )
        .sort("step", "rank", "time_ns", maintain_order=True)
    )


def _write_report(path: Path, rows: pl.DataFrame) -> None:
    sizes = rows.filter(pl.col("activation") == 1)["size_bytes"]
    whole = float(sizes.sum())
    largest = float(str(sizes.max())) if sizes.len() else 0.0
    foot = (
        "##\n"
        f"## Number of requests: {sizes.len()}\n"
        f"## Maximum request size: {largest / _MB:.4f} (MB)\n"
        f"## Sum of all requests: {whole / _MB:.4f} (MB)\n"
        f"## Mean of all requests: {whole / max(1, sizes.len()) / _MB:.4f} (MB)\n"
    )

    def fill(file: IO[bytes]) -> None:
        file.write(_REPORT_HEAD.encode())
        rows.select(_REPORT).write_csv(file, include_header=False, separator=" ")
        file.write(foot.encode())

    write_file(path, fill)


def _dump_rows(run: Run, names: _Names, steps: pl.DataFrame, origin: int) -> pl.DataFrame:
    if run.tasks.height:
        role = pl.col("role")
        table = run.tasks.filter(pl.col("step").is_in(steps["step"].implode()))
        is_message = role != events.ROLE_TASK
        # Sends and receives occupy no worker: they are at their end, without length.
        rows = table.with_columns(
            pl.when(is_message).then("end_ns").otherwise("start_ns").alias("start_ns"),
            pl.when(is_message).then(pl.col("object") & 0xFFFFFFFF).otherwise("object").alias("flags"),
            _of_kind(names, "kind", 0).alias("own_type"),
            _of_kind(names, "kind", 1).alias("subtype"),
        ).with_columns(
            pl.when(role == events.ROLE_SEND)
            .then(names.send)
            .when(role == events.ROLE_RECEIVE)
            .then(names.receive)
            .otherwise("own_type")
            .alias("type")
        )
    else:
        real = run.calls.filter(pl.col("class") != events.CALL_BEGUN_COLLECTIVE)
        rows = _with_step(real, "start_ns", steps).with_columns(
            (pl.col("function") + len(run.kinds)).alias("kind"),
            pl.lit(0, dtype=pl.UInt64()).alias("flags"),
        )
        rows = rows.with_columns(
            _of_kind(names, "kind", 0).alias("type"), _of_kind(names, "kind", 1).alias("subtype")
        )
    zeros = {name: pl.lit(0) for name in ("ci_hydro", "cj_hydro", "ci_grav", "cj_grav")}
    return (
        rows.with_columns(
            pl.col("worker").replace({events.NO_WORKER: 0}).alias("rid"),
            pl.lit(1).alias("cj_is_null"),
            (pl.col("start_ns") - origin).alias("tic"),
            (pl.col("end_ns") - origin).alias("toc"),
            pl.Series("flags", rows["flags"].to_numpy().astype("u8").view("i8")),
            pl.lit(-1).alias("sid"),
            **zeros,
        )
        .select("step", *_DUMP)
        .sort("step", "rank", "tic")
    )


def _of_kind(names: _Names, column: str, part: int) -> pl.Expr:
    table = {number: pair[part] for number, pair in enumerate(names.kinds)}
    return pl.col(column).replace_strict(table, default=0, return_dtype=pl.Int64)


def _heads(rows: pl.DataFrame, run: Run, step: tuple[int, int, int], origin: int) -> dict[int, str]:
    """The first row of each rank: when the step began and ended, and the ticks a second."""
    _, begin, end = step
    last = dict(rows.group_by("rank").agg(pl.col("toc").max()).iter_rows())
    return {
        rank: f"{rank} 0 0 0 0 {begin - origin} {max(end - origin, last.get(rank, 0))} 0 0 0 0 0 "
        f"{FREQUENCY_HZ}\n"
        for rank in run.ranks_present
    }


def _fill_dump(file: IO[bytes], heads: dict[int, str], rows: pl.DataFrame) -> None:
    for rank, head in heads.items():
        file.write(head.encode())
        own = rows.filter(pl.col("rank") == rank)
        own.select(_DUMP).write_csv(file, include_header=False, separator=" ")
