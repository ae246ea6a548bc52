# SPDX-License-Identifier: Apache-2.0
"""All measures of a run, for the page, the pictures and notebooks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from plait import _events as events
from plait._allocator import return_memory
from plait._errors import PlaitError
from plait._events import Run
from plait.measures.calls import calls_within, parallel_window
from plait.measures.collective_findings import CollectiveTimes
from plait.measures.collective_times import collective_groups, team_groups
from plait.measures.communication import CallMeasures, TrafficMeasures, measure_calls, measure_traffic
from plait.measures.critical_path import path_shares, walk_paths
from plait.measures.dead_time import dead_time_totals, dead_times
from plait.measures.flow_messages import with_causes, with_flow_messages
from plait.measures.idle import idle_by_lane, idle_by_rank
from plait.measures.kinds import kind_statistics
from plait.measures.losses import Losses, losses_of_calls, losses_of_tasks
from plait.measures.message_times import scattered_messages
from plait.measures.messages import (
    Unmatched,
    count_unmatched,
    match_messages,
    unmatched_messages,
)
from plait.measures.network import Network, network_of
from plait.measures.phases import phase_times
from plait.measures.profile import describe_profile
from plait.measures.run_path import run_path, run_path_shares
from plait.measures.samples import SampleMeasures, measure_samples
from plait.measures.steps import only_step, steps_of_run
from plait.measures.task_gains import Gains, task_gains
from plait.measures.thread_usage import find_core_trouble
from plait.measures.trouble import find_trouble


@dataclass(frozen=True)
class Analysis:
    """Each measure is taken when it is first used, and kept."""

    folder: Path
    run: Run
    matched: pl.DataFrame  # match_messages
    unmatched_messages: pl.DataFrame
    only_step: int | None

    @cached_property
    def window_ns(self) -> tuple[int, int]:
        """Of everything recorded."""
        return self.run.window_ns()

    @cached_property
    def parallel_ns(self) -> tuple[int, int]:
        return parallel_window(self.run)

    @cached_property
    def working_ns(self) -> tuple[int, int]:
        """From the first task being ready to the end of the last; idle counts here. Of a run with no
        tasks, or with calls: parallel_window."""
        if not self.run.tasks.height or self.run.calls.height:
            return self.parallel_ns
        start, end = (self.steps[name].to_numpy() for name in ("start_ns", "end_ns"))
        return int(start.min()), int(end.max())

    @cached_property
    def steps(self) -> pl.DataFrame:
        return steps_of_run(self.run)

    @cached_property
    def lanes(self) -> pl.DataFrame:
        return idle_by_lane(self.run.tasks, self.working_ns)

    @cached_property
    def ranks(self) -> pl.DataFrame:
        return idle_by_rank(self.lanes)

    @cached_property
    def unmatched(self) -> Unmatched:
        return count_unmatched(self.run.messages, self.matched)

    @cached_property
    def task_phases(self) -> pl.DataFrame:
        return self._phases(pl.col("role") == events.ROLE_TASK)

    @cached_property
    def message_phases(self) -> pl.DataFrame:
        """Sends and receives."""
        return self._phases(pl.col("role") != events.ROLE_TASK)

    def _phases(self, which: pl.Expr) -> pl.DataFrame:
        return phase_times(self.run.tasks.filter(which), self.run.kinds, self.run.ranks_present)

    @cached_property
    def span_phases(self) -> pl.DataFrame:
        return phase_times(self.run.spans, self.run.span_kinds, self.run.ranks_present)

    @cached_property
    def kinds(self) -> pl.DataFrame:
        return kind_statistics(self.run)

    @cached_property
    def dead(self) -> pl.DataFrame:
        return dead_time_totals(self.dead_steps, self.working_ns)

    @cached_property
    def dead_steps(self) -> pl.DataFrame:
        return dead_times(self.run)

    @property
    def paths(self) -> pl.DataFrame:
        return self._walked[0]

    @property
    def path_tasks(self) -> pl.DataFrame:
        return self._walked[1]

    @cached_property
    def _walked(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        return walk_paths(with_causes(self.ordered_run).tasks, self.matched)

    @cached_property
    def ordered_run(self) -> Run:
        """The run with the messages of its flows as tasks, for paths and graphs; counts are of `run`."""
        return with_flow_messages(self.run, self.matched)

    @cached_property
    def shares(self) -> pl.DataFrame:
        return path_shares(self.paths, self.ordered_run.kinds)

    @cached_property
    def run_path(self) -> pl.DataFrame:
        """Of a run with calls; else empty."""
        return run_path(with_causes(self.ordered_run), self.matched, self.calls.causes)

    @cached_property
    def run_path_shares(self) -> pl.DataFrame:
        return run_path_shares(self.run_path, self.run)

    @cached_property
    def gains(self) -> Gains | None:
        """What twice as fast kinds of tasks would gain; None without tasks or plait-predict."""
        return task_gains(self.folder, self.only_step) if self.run.tasks.height else None

    @cached_property
    def calls(self) -> CallMeasures:
        """Of programs recorded from outside; else empty."""
        measured = measure_calls(self.run, self.matched, self.parallel_ns)
        return_memory()
        return measured

    @cached_property
    def samples(self) -> SampleMeasures:
        """Of programs recorded with samples; else empty."""
        run = self.run
        calls = calls_within(run, self.parallel_ns) if run.samples.height else run.calls.clear()
        return measure_samples(run, calls, self.calls.waits)

    @cached_property
    def traffic(self) -> TrafficMeasures:
        return measure_traffic(self.run, self.working_ns)

    @cached_property
    def network(self) -> Network:
        """What times of messages are compared with."""
        return network_of(self.folder, self.run.meta, self.calls.link)

    @cached_property
    def collective_groups(self) -> pl.DataFrame:
        return collective_groups(self.run, self.calls.collectives, self.network)

    @cached_property
    def collective_times(self) -> CollectiveTimes:
        """What sentences about collectives are from."""
        groups = self.collective_groups
        teams = team_groups(self.run, self.calls.collectives, groups, self.network)
        length = self.working_ns[1] - self.working_ns[0]
        return CollectiveTimes(self.run, groups, teams, self.network, length)

    @cached_property
    def scattered_messages(self) -> pl.DataFrame:
        return scattered_messages(self.matched, self.calls.sides, self.network)

    @cached_property
    def call_count(self) -> int:
        """Of all calls: tests and probes that were recorded together count each."""
        return int(self.calls.by_function["count"].sum())

    @cached_property
    def losses(self) -> Losses:
        """What most time is lost to; of calls where there are any, else of tasks."""
        if self.calls.by_function.height:
            return losses_of_calls(self.run, self.calls)
        if self.dead.height:
            return losses_of_tasks(self.run, self.dead, self.working_ns)
        return Losses(0, self.total_ns, 0)

    @property
    def total_ns(self) -> int:
        return self.window_ns[1] - self.window_ns[0]

    def typical_step(self) -> int | None:
        """The step of median length, of those whose tasks are known if any are."""
        steps = self._steps_to_show()
        if not steps.height:
            return None
        ordered = steps.sort("length_ns")
        return int(ordered["step"].item((ordered.height - 1) // 2))

    def slowest_step(self) -> int | None:
        """Of those whose tasks are known if any are."""
        steps = self._steps_to_show()
        if not steps.height:
            return None
        return int(steps["step"].item(int(np.argmax(steps["length_ns"].to_numpy()))))

    def _steps_to_show(self) -> pl.DataFrame:
        if not self.run.tasks.height:
            return self.steps
        return self.steps.filter(pl.col("step").is_in(self.run.tasks["step"].unique().implode()))


def analyse(run: Run, folder: Path, step: int | None) -> Analysis:
    """Raises PlaitError, for the user, where there is no such step, or nothing at all."""
    if step is not None:
        run = only_step(run, step)
    if run.event_count == 0:
        raise PlaitError(
            f"{folder} holds no events: the run was empty, or was killed before it recorded any; "
            "run it again with `plait run`"
        )
    return_memory()  # of reading
    matched = match_messages(run.messages)
    is_whole = 2 * matched.height == run.messages.height
    lonely = run.messages.clear() if is_whole else unmatched_messages(run.messages)
    if run.is_part:
        read = list(run.ranks_present)
        lonely = lonely.filter(pl.col("source").is_in(read) & pl.col("destination").is_in(read))
    about = describe_profile(run) if run.is_profile else []
    run = replace(
        run,
        notices=(
            *find_core_trouble(run),
            *run.notices,
            *about,
            *find_trouble(run, matched, lonely),
        ),
    )
    return Analysis(folder, run, matched, lonely, step)
