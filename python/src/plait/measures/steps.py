# SPDX-License-Identifier: Apache-2.0
"""When each step began and ended, on every rank and over all."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from plait._errors import PlaitError
from plait._events import Run


def step_bounds(tasks: pl.DataFrame) -> pl.DataFrame:
    """One row for each step: start_ns and end_ns over all ranks, and length_ns.

    A step begins when its first task or message was ready, and ends with its last.
    """
    return (
        tasks.group_by("step")
        .agg(pl.col("ready_ns").min().alias("start_ns"), pl.col("end_ns").max())
        .with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"))
        .sort("step")
    )


def steps_of_run(run: Run) -> pl.DataFrame:
    """Steps from the runs of graphs; for a program without tasks, as its spans do.

    Logs of SWIFT may hold the tasks of some steps only; their spans report all.
    """
    if run.tasks.height and run.meta.get("recorder") != "swift":
        return step_bounds(run.tasks)
    spans = run.spans.with_columns(pl.col("start_ns").alias("ready_ns"))
    return step_bounds(spans)


def only_step(run: Run, step: int) -> Run:
    """The part of a run that belongs to one step: its tasks, and what happened meanwhile."""
    bounds = steps_of_run(run)
    found = bounds.filter(pl.col("step") == step)
    if not found.height:
        if not bounds.height:
            raise PlaitError("this run recorded no steps; leave out --step")
        raise PlaitError(
            f"there is no step {step} in this run; it has steps {bounds['step'].item(0)} to "
            f"{bounds['step'].item(-1)}"
        )
    low, high = found["start_ns"].item(), found["end_ns"].item()

    def meanwhile(first: str, last: str) -> pl.Expr:
        overlaps: pl.Expr = (pl.col(last) >= low) & (pl.col(first) <= high)
        return overlaps

    return replace(
        run,
        tasks=run.tasks.filter(pl.col("step") == step),
        messages=run.messages.filter(pl.col("posted_ns").is_between(low, high)),
        engine_messages=run.engine_messages.filter(pl.col("posted_ns").is_between(low, high)),
        spans=run.spans.filter(pl.col("step") == step),
        gaps=run.gaps.filter(meanwhile("start_ns", "end_ns")),
        calls=run.calls.filter(meanwhile("start_ns", "end_ns")),
        counters=run.counters.filter(meanwhile("time_ns", "time_ns")),
        samples=run.samples.filter(meanwhile("time_ns", "time_ns")),
        counts=run.counts.filter(meanwhile("start_ns", "end_ns")),
    )
