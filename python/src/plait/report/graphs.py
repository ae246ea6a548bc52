# SPDX-License-Identifier: Apache-2.0
"""The task graphs of a run, by kind and by task, as the report and `plait graph` show them."""

from __future__ import annotations

from dataclasses import dataclass

from plait._units import format_count
from plait.measures.graph_choice import Choice, choose
from plait.measures.graph_fold import fold, with_counts
from plait.measures.task_graph import by_kind, task_graph
from plait.plots.graph_dot import kinds_as_dot, tasks_as_dot
from plait.report.analysis import Analysis


@dataclass(frozen=True)
class Drawing:
    title: str
    dot: str
    step: int | None  # None: several


def draw_kinds(analysis: Analysis, step: int | None = None) -> Drawing:
    """Of all steps (as many as there is room for), or of one."""
    graph = task_graph(analysis.ordered_run, analysis.path_tasks, None if step is None else [step])
    kinds = by_kind(graph, analysis.paths)
    which = f"step {step}" if step is not None else format_count(len(graph.steps), "step")
    if graph.steps_left_out:
        which += f" of {len(graph.steps) + graph.steps_left_out:,}"
    title = f"Kinds of tasks in {which}, and how often one came before the other"
    return Drawing(title, kinds_as_dot(kinds, analysis.ordered_run, title), step)


def draw_tasks(analysis: Analysis, step: int, choice: Choice, *, folded: bool = True) -> Drawing:
    """Of one step: what `choice` chooses, like tasks drawn together where `folded`."""
    graph = task_graph(analysis.ordered_run, analysis.path_tasks, [step])
    graph = fold(graph) if folded else with_counts(graph)
    part = choose(graph, choice)
    title = f"{format_count(part.shown, 'task')} of step {step}"
    if part.shown < part.tasks:
        title = f"{part.shown:,} of the {part.tasks:,} tasks of step {step}"
        near = "the end of the critical path" if choice.around is None else "the chosen task"
        if choice == Choice(around=choice.around, most=choice.most):
            title += f", nearest to {near}"
    return Drawing(title, tasks_as_dot(part, analysis.ordered_run, title), step)
