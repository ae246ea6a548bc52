# SPDX-License-Identifier: Apache-2.0
"""The figures of a report, as figures of matplotlib."""

from __future__ import annotations

from functools import cached_property

from matplotlib.figure import Figure

from plait._errors import PlaitError
from plait.measures.graph_choice import Choice
from plait.notebook.svg import Svg
from plait.report.analysis import Analysis
from plait.report.figures import draw_figure, draw_tasks_of_rank
from plait.report.graphs import draw_kinds, draw_tasks
from plait.report.graphviz import MISSING, render_svg
from plait.report.lanes import Lanes, make_lanes


class Plots:
    """Each function draws a figure anew, for the caller to show, change and save.

    Raises PlaitError where the run has nothing to show. docs/how-to/report.md describes what to look for
    in each.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def timeline(self, rank: int | None = None) -> Figure:
        """What each worker of a rank did, of rank 0 unless another is given. Of a program that was
        recorded from outside: the calls of all ranks."""
        if self._has_calls:
            if rank is not None:
                raise PlaitError("the timeline of calls has all ranks in one figure; leave out the rank")
            return self._draw("calls", "calls")
        present = self._analysis.run.ranks_present
        wanted = present[0] if rank is None else rank
        figure = draw_tasks_of_rank(self._analysis, self._lanes, wanted) if wanted in present else None
        if figure is None:
            known = ", ".join(map(str, present))
            raise PlaitError(f"the run has no tasks of rank {wanted}; its files are of ranks {known}")
        return figure

    def profile(self) -> Figure:
        """The time in each kind of task and of span; of a program that was recorded from outside, in
        calls: by function, and by place in the program."""
        if self._has_calls:
            return self._draw("call-time", "calls")
        return self._draw("phases", "tasks and no spans")

    def critical_path(self) -> Figure:
        """The critical path of the step of median length, over the lanes of all workers."""
        return self._draw("critical-path", "tasks")

    def messages(self) -> Figure:
        """When messages were sent, and when received; of a run without steps, how long they took."""
        return self._draw("send-receive", "messages of which both sides are known")

    def in_flight(self) -> Figure:
        """Data that each rank had sent and that was not yet received."""
        return self._draw("in-flight", "messages of which both sides are known")

    def data_rate(self) -> Figure:
        """Bytes that arrived at each rank per second."""
        return self._draw("data-rate", "messages of which both sides are known")

    def message_sizes(self) -> Figure:
        """Messages and bytes by the size of a message."""
        return self._draw("message-sizes", "messages")

    def matrix(self) -> Figure:
        """Who sends how much to whom."""
        return self._draw("matrix", "messages between ranks")

    def balance(self) -> Figure:
        """How much of the time each rank was idle or in calls; below, the imbalance of computing."""
        return self._draw("balance", "computing on several ranks")

    def dead_time(self) -> Figure:
        """Where the time of the workers went: in tasks, before, between and after them."""
        return self._draw("dead-time", "tasks")

    def rank_time(self) -> Figure:
        """What each rank's time went into: computing, each kind of waiting, other time in calls."""
        return self._draw("rank-time", "calls")

    def overlap(self) -> Figure:
        """Transfers that were hidden behind computing, or could have been."""
        return self._draw("overlap", "non-blocking messages in calls")

    def poll_gaps(self) -> Figure:
        """How long no thread polled the network while something was in flight."""
        return self._draw("poll-gaps", "poll gaps")

    def counters(self) -> Figure:
        """The values that the program recorded, over time."""
        return self._draw("counters", "counters")

    def graph(self, step: int | None = None) -> Svg:
        """Which kinds of tasks come before which, in all steps; with `step`, the tasks of that step
        around its critical path. Needs Graphviz."""
        if not self._analysis.run.tasks.height:
            raise PlaitError("the run has no tasks, so there is no graph of them")
        if step is None:
            drawing = draw_kinds(self._analysis)
        else:
            drawing = draw_tasks(self._analysis, step, Choice())
        text = render_svg(drawing.dot)
        if text is None:
            raise PlaitError(MISSING)
        return Svg(text)

    @property
    def _has_calls(self) -> bool:
        return self._analysis.run.calls.height > 0

    @cached_property
    def _lanes(self) -> Lanes:
        return make_lanes(self._analysis.run)

    def _draw(self, name: str, needs: str) -> Figure:
        figure = draw_figure(name, self._analysis, self._lanes)
        if figure is None:
            raise PlaitError(f"there is nothing to draw: the run has no {needs}")
        return figure
