# SPDX-License-Identifier: Apache-2.0
"""The numbers behind the figures, as CSV files beside the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from plait import _events as events
from plait._files import write_file
from plait.measures import run_path
from plait.measures.counted import counted
from plait.measures.critical_path import RUN as RUNNING
from plait.measures.critical_path import WHAT
from plait.measures.rank_time import PART_TEXTS, PARTS, rank_times
from plait.measures.wait_states import KIND_TEXTS
from plait.report.analysis import Analysis
from plait.report.summary import loss_table

_ROLES = {
    events.ROLE_TASK: "task",
    events.ROLE_SEND: "send",
    events.ROLE_RECEIVE: "receive",
    events.ROLE_JOIN: "join",
}


def write_tables(analysis: Analysis, output: Path) -> None:
    """A file for each table that holds something; docs/reference/tables.md lists them."""
    for name, make in REPORT_TABLES.items():
        table = make(analysis)
        if table.height:
            write_file(output / f"{name}.csv", table.write_csv)


def _kinds(analysis: Analysis) -> pl.DataFrame:
    role = pl.col("role").cast(pl.Int64).replace_strict(_ROLES, return_dtype=pl.String)
    return analysis.kinds.select("name", role, pl.exclude("name", "role", "kind"))


def _waits(analysis: Analysis) -> pl.DataFrame:
    kinds = dict(enumerate(KIND_TEXTS))
    what = pl.col("kind").cast(pl.Int64).replace_strict(kinds, return_dtype=pl.String)
    return _named(analysis, analysis.calls.waits_by_site).with_columns(what.alias("kind"))


def _rank_times(analysis: Analysis) -> pl.DataFrame:
    names = [text.replace(" (in no call)", "").replace(" ", "_") + "_ns" for text in PART_TEXTS]
    table = rank_times(analysis.run, analysis.calls)
    return table.rename(dict(zip(PARTS, names, strict=True)))


def _named(analysis: Analysis, table: pl.DataFrame) -> pl.DataFrame:
    """With the names of functions, sites and protocols in the place of their numbers."""
    names = {
        "function": dict(enumerate(analysis.run.functions)),
        "site": {index: str(site) for index, site in enumerate(analysis.run.sites)},
        "protocol": dict(enumerate(events.PROTOCOLS)),
    }
    return table.with_columns(
        pl.col(column).cast(pl.Int64).replace_strict(known, default="", return_dtype=pl.String)
        for column, known in names.items()
        if column in table.columns
    )


def _balance(analysis: Analysis) -> pl.DataFrame:
    """A row for each stretch of time and rank. Times since the start of the run."""
    balance = analysis.traffic.balance
    if not balance.ranks:
        return pl.DataFrame()
    bins = balance.edges_ns.size - 1
    starts = np.rint(balance.edges_ns[:-1] - analysis.window_ns[0]).astype(np.int64)
    return pl.DataFrame(
        {
            "start_ns": np.tile(starts, len(balance.ranks)),
            "rank": np.repeat(np.asarray(balance.ranks), bins),
            "computing_ns": np.rint(balance.computing_ns).astype(np.int64).reshape(-1),
            "most_over_mean": np.tile(np.round(balance.imbalance + 1.0, 4), len(balance.ranks)),
        }
    )


def _path(analysis: Analysis) -> pl.DataFrame:
    """Times since the start of each step."""
    kinds = dict(enumerate(analysis.run.kinds))
    begin = analysis.steps.select("step", pl.col("start_ns").alias("begin"))
    return analysis.paths.join(begin, on="step", how="left", maintain_order="left").select(
        *("step", "rank", "worker"),
        pl.col("kind").replace_strict(kinds, default="", return_dtype=pl.String).alias("task"),
        pl.col("id").alias("task_id"),
        pl.when(pl.col("what") == RUNNING)
        .then(pl.lit("computing"))
        .otherwise(pl.col("what").replace_strict(dict(enumerate(WHAT)), return_dtype=pl.String))
        .alias("what"),
        (pl.col("start_ns") - pl.col("begin")).alias("start_ns"),
        (pl.col("end_ns") - pl.col("begin")).alias("end_ns"),
    )


def _run_path(analysis: Analysis) -> pl.DataFrame:
    """Times since the start of the run."""
    path, run = analysis.run_path, analysis.run
    which = path.select("what", "kind").unique().rows()
    names = pl.DataFrame(
        [(what, kind, run_path.stretch_name(run, what, kind)) for what, kind in which],
        schema={"what": path.schema["what"], "kind": path.schema["kind"], "name": pl.String()},
        orient="row",
    )
    begin = analysis.window_ns[0]
    return path.join(names, on=["what", "kind"], how="left", maintain_order="left").select(
        *("rank", "worker"),
        _path_texts(),
        "name",
        *(pl.col(name) - begin for name in ("start_ns", "end_ns")),
    )


def _run_path_shares(analysis: Analysis) -> pl.DataFrame:
    return analysis.run_path_shares.with_columns(_path_texts())


def _path_texts() -> pl.Expr:
    texts = dict(enumerate(run_path.WHAT))
    return pl.col("what").cast(pl.Int64).replace_strict(texts, return_dtype=pl.String)


#: How to create each table from a run's measures, by the name of its file.
REPORT_TABLES: dict[str, Callable[[Analysis], pl.DataFrame]] = {
    "losses": loss_table,
    "kinds": _kinds,
    "dead-time": lambda analysis: analysis.dead_steps,
    "critical-path": _path,
    "run-path": _run_path,
    "run-path-shares": _run_path_shares,
    "calls-by-function": lambda analysis: _named(analysis, analysis.calls.by_function),
    "calls-by-site": lambda analysis: _named(analysis, analysis.calls.by_site),
    "rank-time": _rank_times,
    "waits": _waits,
    "collectives": lambda analysis: _named(analysis, analysis.collective_groups),
    "overlap": lambda analysis: analysis.calls.overlap_by_rank,
    "computing": lambda analysis: analysis.samples.by_function,
    "computing-by-region": lambda analysis: analysis.samples.by_region,
    "computing-by-task": lambda analysis: analysis.samples.by_task,
    "counted": lambda analysis: counted(analysis.run),
    "matrix": lambda analysis: analysis.traffic.matrix,
    "matrix-collectives": lambda analysis: analysis.traffic.collectives,
    "message-sizes": lambda analysis: analysis.traffic.sizes,
    "balance": _balance,
    "unmatched": lambda analysis: _named(analysis, analysis.unmatched_messages),
}
