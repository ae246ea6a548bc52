# SPDX-License-Identifier: Apache-2.0
"""From ticks of each rank's own counter to nanoseconds on one time axis.

SWIFT has a barrier at the start of each step: all ranks begin a step at the same moment, which is that
of the lowest rank that reports it. Between, each rank's ticks are divided by its own frequency.
"""

from __future__ import annotations

import polars as pl

from plait._errors import PlaitError
from plait.readers._swift_files import Texts

_NS = 1e9


class Clock:
    """Time 0 is the start of the run on the lowest rank, or of the first step where none reports it."""

    def __init__(self, texts: Texts, frequency_hz: float | None) -> None:
        """Raises PlaitError where the frequency is neither in a dump nor given."""
        self._given = frequency_hz
        if frequency_hz is not None and not 1e3 <= frequency_hz <= 1e12:
            raise PlaitError(f"--frequency {frequency_hz:g} cannot be; it is in ticks a second: 2.2e9")
        told = texts.heads.filter(pl.col("frequency") > 0)
        self._told: dict[int, int] = dict(told.select("rank", "frequency").sort("rank").iter_rows())
        ranks = pl.concat([texts.rows["rank"], texts.heads["rank"]]).unique().sort().to_list()
        self.frequencies = {rank: self._frequency_of(rank) for rank in ranks}
        self.steps = _step_starts(texts, self.frequencies)

    def _frequency_of(self, rank: int) -> float:
        if self._given is not None:
            return self._given
        if rank in self._told:
            return float(self._told[rank])
        if self._told:
            return float(next(iter(self._told.values())))
        raise PlaitError(
            "reports of MPI requests count in ticks and do not report how many make a second: give "
            "--frequency (such as --frequency 2.2e9; it is in the first lines that SWIFT prints), or a "
            "thread_info_MPI-step*.dat of the same run, which has it"
        )

    def times(self, table: pl.DataFrame, ticks: str) -> pl.Series:
        """Nanoseconds; `ticks` is a column of ticks since the start of the row's step on its rank."""
        rates = pl.DataFrame(
            {"rank": list(self.frequencies), "ns_a_tick": [_NS / f for f in self.frequencies.values()]},
            schema={"rank": pl.Int64(), "ns_a_tick": pl.Float64()},
        )
        found = (
            table.select("rank", "step", ticks)
            .join(rates, on="rank", how="left", maintain_order="left")
            .join(self.steps, on="step", how="left", maintain_order="left")
        )
        since = (found[ticks] * found["ns_a_tick"]).round().cast(pl.Int64)
        return found["step_ns"] + since


def _step_starts(texts: Texts, frequencies: dict[int, float]) -> pl.DataFrame:
    """step, step_ns: of the lowest rank that reports the step."""
    reports = texts.rows.group_by("rank", "step").agg(
        (pl.col("etic") - pl.col("stic")).min().alias("tick")
    )
    heads = texts.heads.select("rank", "step", "tic")
    both = reports.join(heads, on=["rank", "step"], how="inner")
    # Dumps count from another moment than reports. Where no step has both, from the rank's first dump.
    first = heads.group_by("rank").agg(pl.col("tic").min().alias("origin"))
    told = both.group_by("rank").agg((pl.col("tic") - pl.col("tick")).min().alias("origin_told"))
    origins = first.join(told, on="rank", how="left").select(
        "rank", pl.coalesce("origin_told", "origin").alias("origin")
    )
    dumps = heads.join(origins, on="rank").select(
        "rank", "step", (pl.col("tic") - pl.col("origin")).alias("tick")
    )
    starts = pl.concat([reports, dumps]).unique(["rank", "step"], keep="first", maintain_order=True)
    lowest = starts.sort("step", "rank").unique("step", keep="first", maintain_order=True)
    ns = [
        round(tick * (_NS / frequencies[rank]))
        for rank, tick in lowest.select("rank", "tick").iter_rows()
    ]
    return pl.DataFrame(
        {"step": lowest["step"], "step_ns": ns}, schema={"step": pl.Int64(), "step_ns": pl.Int64()}
    )
