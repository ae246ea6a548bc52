# SPDX-License-Identifier: Apache-2.0
"""The figures of a report, by the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure

from plait.plots import calls, critical_path, dead_time, messages, phases, style, timeline, traffic
from plait.report.analysis import Analysis
from plait.report.lanes import Lanes

#: How to draw each from a run's measures; None where the run has nothing to show in it.
FIGURES: dict[str, Callable[[Analysis, Lanes], Figure | None]] = {
    "calls": calls.plot_lanes,
    "rank-time": lambda analysis, _: calls.plot_waits(analysis),
    "call-time": lambda analysis, _: calls.plot_call_times(analysis),
    "overlap": lambda analysis, _: calls.plot_overlap(analysis),
    "balance": lambda analysis, _: traffic.plot_balance(analysis),
    "matrix": lambda analysis, _: traffic.plot_matrix(analysis),
    "message-sizes": lambda analysis, _: traffic.plot_sizes(analysis),
    "in-flight": lambda analysis, _: messages.plot_in_flight(analysis),
    "data-rate": lambda analysis, _: messages.plot_rate(analysis),
    "send-receive": lambda analysis, _: messages.plot_scatter(analysis),
    "dead-time": lambda analysis, _: dead_time.plot_dead_time(analysis),
    "phases": lambda analysis, _: phases.plot_phases(analysis),
    "critical-path": critical_path.plot_path,
    "poll-gaps": lambda analysis, _: phases.plot_gaps(analysis),
    "counters": lambda analysis, _: phases.plot_counters(analysis),
}


def draw_figure(name: str, analysis: Analysis, lanes: Lanes) -> Figure | None:
    """One of FIGURES. `lanes`: of `make_lanes`."""
    with style.context():
        return FIGURES[name](analysis, lanes)


def draw_tasks_of_rank(analysis: Analysis, lanes: Lanes, rank: int) -> Figure | None:
    """What each worker of a rank did."""
    with style.context():
        return timeline.plot_rank(analysis.run, lanes, analysis, rank)


def draw_figures(analysis: Analysis, lanes: Lanes) -> Iterator[tuple[str, Figure]]:
    """All that the run has something for, each drawn when it is taken, with the name of its file."""
    run = analysis.run
    for rank in run.ranks_present[: timeline.RANKS_MAX if not run.calls.height else 0]:
        figure = draw_tasks_of_rank(analysis, lanes, rank)
        if figure is not None:
            yield f"tasks-rank-{rank:04d}", figure
    for name in FIGURES:
        figure = draw_figure(name, analysis, lanes)
        if figure is not None:
            yield name, figure
