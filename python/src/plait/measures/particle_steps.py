# SPDX-License-Identifier: Apache-2.0
"""Steps of a particle code, from the counters that plait::particles::StepRecord writes."""

from __future__ import annotations

import polars as pl

from plait._events import Run

# As src/plait/particles/steps/step_record.cpp names them.
_HERE, _UPDATED, _TOOK = "particles here", "particles updated", "step time (ms)"
_PHASE_BEGIN, _PHASE_END = "phase ", " (ms)"

STEPS = {"step": pl.Int64(), "particles": pl.Float64(), "updated": pl.Float64(), "took_ms": pl.Float64()}
PHASES = {"phase": pl.String(), "rank": pl.Int32(), "steps": pl.Int64(), "mean_ms": pl.Float64()}


def particle_steps(run: Run) -> pl.DataFrame:
    """A row for each step: particles and updates of all ranks, the time of the slowest.

    Steps that some rank has not reported of (the record was cut off) are left out.
    """
    values = _named(run, [_HERE, _UPDATED, _TOOK])
    if not values.height:
        return pl.DataFrame(schema=STEPS)
    wide = (
        values.group_by("step", "name")
        .agg(pl.col("value").sum().alias("sum"), pl.col("value").max().alias("max"), pl.len().alias("n"))
        .filter(pl.col("n") >= run.ranks)
    )
    parts = [
        wide.filter(pl.col("name") == name).select("step", pl.col(source).alias(column))
        for name, source, column in (
            (_HERE, "sum", "particles"),
            (_UPDATED, "sum", "updated"),
            (_TOOK, "max", "took_ms"),
        )
    ]
    joined = parts[0].join(parts[1], on="step").join(parts[2], on="step").sort("step")
    return joined.cast(STEPS)  # type: ignore[arg-type]


def phase_times(run: Run) -> pl.DataFrame:
    """A row for each phase and rank: workers' time in a step, on the mean of the rank's steps."""
    values = _named(run, [name for name in run.counter_kinds if is_phase(name)])
    if not values.height:
        return pl.DataFrame(schema=PHASES)
    steps = _named(run, [_TOOK]).group_by("rank").agg(pl.col("step").n_unique().alias("steps"))
    return (
        values.group_by("name", "rank")
        .agg(pl.col("value").sum().alias("whole"))
        .join(steps, on="rank")
        .select(
            pl.col("name").str.strip_prefix(_PHASE_BEGIN).str.strip_suffix(_PHASE_END).alias("phase"),
            "rank",
            "steps",
            (pl.col("whole") / pl.col("steps")).alias("mean_ms"),
        )
        .cast(PHASES)  # type: ignore[arg-type]
        .sort("phase", "rank")
    )


def is_phase(counter: str) -> bool:
    return counter.startswith(_PHASE_BEGIN) and counter.endswith(_PHASE_END)


def _named(run: Run, names: list[str]) -> pl.DataFrame:
    kinds = {index: name for index, name in enumerate(run.counter_kinds) if name in names}
    return (
        run.counters.filter(pl.col("kind").is_in(list(kinds)))
        .with_columns(pl.col("kind").replace_strict(kinds, return_dtype=pl.String()).alias("name"))
        .unique(["rank", "step", "name"], keep="last", maintain_order=True)
    )
