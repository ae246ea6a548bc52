# SPDX-License-Identifier: Apache-2.0
"""The numbers of a report as frames, each with the name of its CSV file there."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from plait.measures.balancings import balancings
from plait.measures.critical_path import WHAT
from plait.measures.hidden import hidden_times
from plait.measures.messages import data_rate, in_flight
from plait.measures.particle_steps import particle_steps
from plait.measures.ranks import rank_table
from plait.report.analysis import Analysis
from plait.report.tables import REPORT_TABLES

_BINS = 500


class Measures:
    """Measures of a run (docs/reference/tables.md). Times are in nanoseconds, shares parts of 1.

    Each is computed when it is first used. What a run has nothing for is an empty frame.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._tables: dict[str, pl.DataFrame] = {}

    @cached_property
    def ranks(self) -> pl.DataFrame:
        """A row for each rank: what it computed, waited for, sent and received."""
        found = self._analysis
        return rank_table(found.run, found.traffic.balance, found.ranks, found.calls.by_rank)

    @property
    def idle(self) -> pl.DataFrame:
        """A row for each worker: how long it ran tasks, and how long none."""
        return self._analysis.lanes

    @property
    def kinds(self) -> pl.DataFrame:
        """A row for each kind of task: how many, how long, how long they were queued."""
        return self._table("kinds")

    @property
    def losses(self) -> pl.DataFrame:
        """A row for each loss of time, the largest first; no moment of a thread is in two rows."""
        return self._table("losses")

    @cached_property
    def phases(self) -> pl.DataFrame:
        """A row for each kind of task and of span: its time over the ranks."""
        found = self._analysis
        parts = {"task": found.task_phases, "message": found.message_phases, "span": found.span_phases}
        return pl.concat(
            table.select(pl.lit(of).alias("of"), *_PHASE_COLUMNS) for of, table in parts.items()
        )

    @property
    def dead_time(self) -> pl.DataFrame:
        """A row for each worker and step: in tasks, before, between and after them."""
        return self._table("dead-time")

    @property
    def critical_path(self) -> pl.DataFrame:
        """A row for each stretch of the critical path of each step."""
        return self._table("critical-path")

    @cached_property
    def critical_path_shares(self) -> pl.DataFrame:
        """A row for each kind of task, and of wait: its part of the critical paths of all steps."""
        what = pl.col("what").cast(pl.Int64).replace_strict(_WHAT, return_dtype=pl.String)
        return self._analysis.shares.with_columns(what)

    @property
    def run_path(self) -> pl.DataFrame:
        """A row for each stretch of the critical path of a run with calls."""
        return self._table("run-path")

    @property
    def run_path_shares(self) -> pl.DataFrame:
        """A row for each name and rank on that path: its part of the time."""
        return self._table("run-path-shares")

    @property
    def calls_by_function(self) -> pl.DataFrame:
        """A row for each function of MPI: how often, how long, how many bytes."""
        return self._table("calls-by-function")

    @property
    def calls_by_site(self) -> pl.DataFrame:
        """The same for each function and place in the program that calls it."""
        return self._table("calls-by-site")

    @property
    def rank_time(self) -> pl.DataFrame:
        """A row for each rank: what its time went into, in parts that add up."""
        return self._table("rank-time")

    @property
    def waits(self) -> pl.DataFrame:
        """A row for each function, place and kind of wait: what was lost to ranks that came late."""
        return self._table("waits")

    @property
    def collectives(self) -> pl.DataFrame:
        """A row for each collective, place, number of ranks and size: lateness and slowness."""
        return self._table("collectives")

    @property
    def computing(self) -> pl.DataFrame:
        """A row for each function that was sampled outside of calls: time in it, and with what
        it calls."""
        return self._table("computing")

    @property
    def computing_by_region(self) -> pl.DataFrame:
        """A row for each region and function that was sampled in it."""
        return self._table("computing-by-region")

    @property
    def computing_by_task(self) -> pl.DataFrame:
        """A row for each kind of task and function that was sampled in it."""
        return self._table("computing-by-task")

    @property
    def counted(self) -> pl.DataFrame:
        """A row for each region or kind of task: what counters counted in it."""
        return self._table("counted")

    @property
    def overlap(self) -> pl.DataFrame:
        """A row for each rank: time of transfers that was hidden, and that could have been."""
        return self._table("overlap")

    @cached_property
    def hidden(self) -> pl.DataFrame:
        """A row for each rank and step: messages under way, and computing meanwhile."""
        return hidden_times(self._analysis.run.tasks, self._analysis.matched)

    @property
    def matrix(self) -> pl.DataFrame:
        """A row for each pair of ranks: messages and bytes from one to the other."""
        return self._table("matrix")

    @property
    def matrix_collectives(self) -> pl.DataFrame:
        """The same of collectives."""
        return self._table("matrix-collectives")

    @property
    def message_sizes(self) -> pl.DataFrame:
        """A row for each power of two: messages of such a size."""
        return self._table("message-sizes")

    @property
    def balance(self) -> pl.DataFrame:
        """A row for each stretch of time and rank: computing, and imbalance."""
        return self._table("balance")

    @cached_property
    def balancings(self) -> pl.DataFrame:
        """A row for each balancing of a collection."""
        return balancings(self._analysis.run)

    @cached_property
    def in_flight(self) -> pl.DataFrame:
        """A row for each change of the data in flight of a rank: sent and not yet received."""
        parts = [
            pl.DataFrame({"time_ns": curve.time_ns, "bytes": curve.value}).select(
                pl.lit(rank, dtype=pl.Int32).alias("rank"), "time_ns", pl.col("bytes").cast(pl.Int64)
            )
            for rank, curve in in_flight(self._analysis.matched).items()
        ]
        return pl.concat([pl.DataFrame(schema=_IN_FLIGHT), *parts])

    @cached_property
    def data_rate(self) -> pl.DataFrame:
        """A row for each stretch of time and rank: bytes that arrived there per second."""
        found = self._analysis
        edges, rates = data_rate(found.matched, found.window_ns, _BINS)
        parts = [
            pl.DataFrame({"time_ns": edges[:-1], "bytes_per_s": rate}).select(
                pl.lit(rank, dtype=pl.Int32).alias("rank"),
                pl.col("time_ns").round().cast(pl.Int64),
                "bytes_per_s",
            )
            for rank, rate in rates.items()
        ]
        return pl.concat([pl.DataFrame(schema=_DATA_RATE), *parts])

    @property
    def unmatched(self) -> pl.DataFrame:
        """A row for each side of a message whose other side is not known."""
        return self._table("unmatched")

    @cached_property
    def particle_steps(self) -> pl.DataFrame:
        """A row for each step of a particle code: particles, updates, time."""
        return particle_steps(self._analysis.run)

    def _table(self, name: str) -> pl.DataFrame:
        if name not in self._tables:
            self._tables[name] = REPORT_TABLES[name](self._analysis)
        return self._tables[name]


_WHAT = dict(enumerate(WHAT))
_PHASE_COLUMNS = ("phase", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "imbalance")
_IN_FLIGHT = {"rank": pl.Int32, "time_ns": pl.Int64, "bytes": pl.Int64}
_DATA_RATE = {"rank": pl.Int32, "time_ns": pl.Int64, "bytes_per_s": pl.Float64}
