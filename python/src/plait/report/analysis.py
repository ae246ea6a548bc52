# SPDX-License-Identifier: Apache-2.0
"""All measures of a run, taken once, for the page and the pictures alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from plait import _events as events
from plait._errors import PlaitError
from plait._events import Run
from plait.measures.calls import parallel_window
from plait.measures.communication import CallMeasures, TrafficMeasures, measure_calls, measure_traffic
from plait.measures.critical_path import path_shares, walk_paths
from plait.measures.dead_time import dead_time_totals, dead_times
from plait.measures.idle import idle_by_lane, idle_by_rank
from plait.measures.kinds import kind_statistics
from plait.measures.messages import (
    Unmatched,
    count_unmatched,
    match_messages,
    unmatched_messages,
)
from plait.measures.phases import phase_times
from plait.measures.steps import only_step, steps_of_run
from plait.measures.trouble import find_trouble


@dataclass(frozen=True)
class Analysis:
    folder: Path
    run: Run
    window_ns: tuple[int, int]  # of everything recorded
    #: From the first task being ready to the end of the last; idle counts here. Of a run with no tasks:
    #: parallel_window.
    working_ns: tuple[int, int]
    steps: pl.DataFrame
    lanes: pl.DataFrame  # idle_by_lane
    ranks: pl.DataFrame  # idle_by_rank
    matched: pl.DataFrame
    unmatched: Unmatched
    unmatched_messages: pl.DataFrame
    task_phases: pl.DataFrame
    message_phases: pl.DataFrame  # sends and receives
    span_phases: pl.DataFrame
    kinds: pl.DataFrame  # kind_statistics
    dead: pl.DataFrame  # dead_time_totals
    dead_steps: pl.DataFrame  # dead_times
    paths: pl.DataFrame
    path_tasks: pl.DataFrame
    shares: pl.DataFrame
    calls: CallMeasures  # of programs recorded from outside; else empty
    traffic: TrafficMeasures
    only_step: int | None

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
    if step is not None:
        run = only_step(run, step)
    if run.event_count == 0:
        raise PlaitError(
            f"{folder} holds no events: the run was empty, or was killed before it recorded any; "
            "run it again with `plait run`"
        )
    matched = match_messages(run.messages)
    lonely = unmatched_messages(run.messages)
    run = replace(run, notices=(*run.notices, *find_trouble(run, matched, lonely)))
    window_ns = run.window_ns()
    steps = steps_of_run(run)
    working_ns = parallel_window(run)
    if run.tasks.height:
        working_ns = (int(steps["start_ns"].to_numpy().min()), int(steps["end_ns"].to_numpy().max()))
    lanes = idle_by_lane(run.tasks, working_ns)
    ran = pl.col("role") == events.ROLE_TASK
    paths, path_tasks = walk_paths(run.tasks, matched)
    dead = dead_times(run)
    return Analysis(
        folder=folder,
        run=run,
        window_ns=window_ns,
        working_ns=working_ns,
        steps=steps,
        lanes=lanes,
        ranks=idle_by_rank(lanes),
        matched=matched,
        unmatched=count_unmatched(run.messages, matched),
        unmatched_messages=lonely,
        task_phases=phase_times(run.tasks.filter(ran), run.kinds, run.ranks_present),
        message_phases=phase_times(run.tasks.filter(~ran), run.kinds, run.ranks_present),
        span_phases=phase_times(run.spans, run.span_kinds, run.ranks_present),
        kinds=kind_statistics(run),
        dead=dead_time_totals(dead, working_ns),
        dead_steps=dead,
        paths=paths,
        path_tasks=path_tasks,
        shares=path_shares(paths, run.kinds),
        calls=measure_calls(run, matched, parallel_window(run)),
        traffic=measure_traffic(run, working_ns),
        only_step=step,
    )
