# SPDX-License-Identifier: Apache-2.0
"""Steps of particle codes in a trace."""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.particle_steps import particle_steps, phase_times
from plait.plots.workload import plot_workload

KINDS = ("residual", "particles here", "particles updated", "step time (ms)", "phase walk (ms)")


def run_with(values: list[tuple[int, int, float, int]]) -> Run:
    """Counters as (rank, kind, value, step)."""
    table = pl.DataFrame(
        [(rank, kind, 10 * step, value, step) for rank, kind, value, step in values],
        schema=events.COUNTERS,
        orient="row",
    )
    return Run(meta={}, ranks=2, ranks_present=(0, 1), counters=table, counter_kinds=KINDS)


def steps_of(rank: int, updated: list[float], took: list[float]) -> list[tuple[int, int, float, int]]:
    rows: list[tuple[int, int, float, int]] = []
    for step, (count, time) in enumerate(zip(updated, took, strict=True), start=1):
        rows += [(rank, 1, 100.0, step), (rank, 2, count, step), (rank, 3, time, step)]
        rows += [(rank, 4, time / 2, step), (rank, 0, -1.0, step)]
    return rows


def test_a_step_has_the_updates_of_all_ranks_and_the_time_of_the_slowest() -> None:
    run = run_with(steps_of(0, [100, 3], [8.0, 1.0]) + steps_of(1, [100, 4], [6.0, 2.0]))
    assert particle_steps(run).rows() == [(1, 200.0, 200.0, 8.0), (2, 200.0, 7.0, 2.0)]
    assert plot_workload(particle_steps(run)).axes


def test_a_step_that_a_rank_did_not_tell_of_is_left_out() -> None:
    run = run_with(steps_of(0, [100, 3], [8.0, 1.0]) + steps_of(1, [100], [6.0]))
    assert particle_steps(run)["step"].to_list() == [1]


def test_phases_are_means_over_the_steps_of_a_rank() -> None:
    run = run_with(steps_of(0, [1, 1], [8.0, 2.0]) + steps_of(1, [1, 1], [4.0, 4.0]))
    assert phase_times(run).rows() == [("walk", 0, 2, 2.5), ("walk", 1, 2, 2.0)]


def test_other_programs_have_no_particles() -> None:
    run = run_with([(0, 0, 1.0, 1)])
    assert particle_steps(run).height == 0
    assert phase_times(run).height == 0
