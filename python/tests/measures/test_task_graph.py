# SPDX-License-Identifier: Apache-2.0
"""Task graphs, critical paths and what is drawn of them, on traces small enough to check by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import trace_writer as w

from plait import PlaitError, read_run
from plait.measures import task_graph as tg
from plait.measures.critical_path import MESSAGE, RELEASED, WORKER
from plait.measures.graph_choice import Choice, choose
from plait.measures.graph_fold import fold, with_counts
from plait.measures.path_sentence import path_sentence
from plait.plots.graph_dot import kinds_as_dot, tasks_as_dot
from plait.report.analysis import Analysis, analyse

SPLIT, PART, MERGE, GATE, SEND, RECEIVE, USE = range(1, 8)
NAMES = b"".join(
    w.name(0, number, text)
    for number, text in enumerate(("split", "part", "merge", "gate", "send", "receive", "use"), 1)
)


def analysed(folder: Path, *ranks: bytes) -> Analysis:
    for rank, records in enumerate(ranks):
        w.write_rank(folder, rank, len(ranks), {0: NAMES + records + w.clock(1, 0, 2)})
    w.write_meta(folder, len(ranks))
    return analyse(read_run(folder), folder, None)


@pytest.fixture
def two_ranks(tmp_path: Path) -> Analysis:
    """Rank 0 splits into three spawned parts, passes a join and sends; rank 1 uses what comes."""
    first = (
        w.graph_task(1, 1, SPLIT, later=[2])
        + w.graph_task(1, 2, GATE, part=3, later=[3])
        + w.graph_task(1, 3, MERGE, later=[4])
        + w.graph_task(1, 4, SEND, part=1)
        + w.graph_run(1, 0, 900, active=4)
        + w.task(SPLIT, 1000, 2000, id_=1, place=1, ready=950)
        + w.task(PART, 2000, 3000, id_=5, ready=1500, released_by=1)
        + w.task(PART, 3000, 5000, id_=6, ready=1600, released_by=1)
        + w.task(PART, 2100, 2600, id_=7, ready=1700, released_by=1, worker=1)
        + w.task(MERGE, 5100, 6000, id_=3, place=3, ready=5050, released_by=1)
        + w.task(
            SEND, 6000, 8000, id_=4, place=4, flags=1, object_=1 << 32 | 9, ready=6000, released_by=3
        )
        + w.message(0, 1, 9, 100, (6000, 6100, 7000, 8000))
    )
    second = (
        w.graph_task(1, 1, RECEIVE, part=2, later=[2])
        + w.graph_task(1, 2, USE)
        + w.graph_run(1, 0, 900, active=2)
        + w.task(RECEIVE, 950, 8500, id_=1, place=1, flags=2, object_=9, ready=950)
        + w.message(1, 0, 9, 100, (950, 6500, 8400, 8500))
        + w.task(USE, 8600, 9000, id_=2, place=2, ready=8500, released_by=1)
    )
    return analysed(tmp_path / "run", first, second)


def named_edges(graph: tg.KindGraph, analysis: Analysis) -> dict[tuple[str, str], tuple[int, int]]:
    kinds = analysis.run.kinds
    return {
        (kinds[a], kinds[b]): (what, count)
        for a, b, what, count in graph.edges.select("from", "to", "what", "count").rows()
    }


def test_the_path_goes_through_the_spawned_task_that_ended_last(two_ranks: Analysis) -> None:
    hops = two_ranks.path_tasks.select("rank", "id", "led").rows()
    assert hops == [
        *((0, 1, WORKER), (0, 5, WORKER), (0, 6, RELEASED), (0, 3, RELEASED), (0, 4, MESSAGE)),
        *((1, 1, RELEASED), (1, 2, 0)),
    ]


def test_the_path_is_told_in_a_sentence(two_ranks: Analysis) -> None:
    assert path_sentence(two_ranks.paths, two_ranks.run.kinds) == (
        "The critical path of step 0 (8.05 µs) is 37 % part on rank 0, 30 % message under way, "
        "12 % split on rank 0, 11 % merge on rank 0 and 9 % smaller parts."
    )


def test_edges_by_kind_are_dependencies_messages_and_what_was_spawned(two_ranks: Analysis) -> None:
    graph = tg.by_kind(tg.task_graph(two_ranks.run, two_ranks.path_tasks), two_ranks.paths)
    assert named_edges(graph, two_ranks) == {
        ("split", "part"): (tg.SPAWNED, 3),
        ("part", "gate"): (tg.DEPENDENCY, 3),  # what waits for the split waits for its parts
        ("gate", "merge"): (tg.DEPENDENCY, 1),
        ("merge", "send"): (tg.DEPENDENCY, 1),
        ("send", "receive"): (tg.MESSAGE, 1),
        ("receive", "use"): (tg.DEPENDENCY, 1),
    }
    across = graph.edges.filter(pl.col("across"))
    assert across["what"].to_list() == [tg.MESSAGE]
    counts = dict(
        zip((two_ranks.run.kinds[k] for k in graph.nodes["kind"]), graph.nodes["count"], strict=True)
    )
    assert counts == {"split": 1, "part": 3, "merge": 1, "send": 1, "gate": 1, "receive": 1, "use": 1}


def test_without_graphs_in_the_trace_the_last_dependency_stays(tmp_path: Path) -> None:
    records = w.task(SPLIT, 10, 20, id_=1) + w.task(MERGE, 30, 40, id_=2, ready=25, released_by=1)
    analysis = analysed(tmp_path / "old", records)
    graph = tg.task_graph(analysis.run, analysis.path_tasks)
    assert graph.edges.select("from", "to", "what", "critical").rows() == [(0, 1, tg.DEPENDENCY, True)]


def test_inactive_parts_of_a_graph_are_not_there(tmp_path: Path) -> None:
    records = (
        w.graph_task(1, 1, SPLIT, later=[2, 3])
        + w.graph_task(1, 2, GATE, part=3)
        + w.graph_task(1, 3, MERGE)
        + w.graph_task(1, 4, GATE, part=3)
        + w.graph_run(1, 0, 1, active=1)
        + w.task(MERGE, 10, 20, id_=1, place=3)
    )
    analysis = analysed(tmp_path / "part", records)
    graph = tg.task_graph(analysis.run, analysis.path_tasks)
    assert (graph.nodes.height, graph.edges.height) == (1, 0)


def test_like_tasks_become_one_node(two_ranks: Analysis) -> None:
    whole = tg.task_graph(two_ranks.run, two_ranks.path_tasks)
    folded = fold(whole)
    parts = folded.nodes.filter(pl.col("count") > 1)
    assert parts.select("count", "total_ns", "longest_ns", "critical_count", "id").rows() == [
        (3, 3500, 2000, 2, 6)
    ]
    assert folded.nodes["count"].sum() == whole.nodes.height
    both = folded.edges.select("from", "to").rows()
    assert len(both) == len(set(both))
    assert all(a != b for a, b in both)


def test_a_choice_keeps_what_is_nearest(two_ranks: Analysis) -> None:
    graph = with_counts(tg.task_graph(two_ranks.run, two_ranks.path_tasks))

    def chosen(**choice: object) -> list[tuple[int, int]]:
        part = choose(graph, Choice(**choice))  # type: ignore[arg-type]
        return sorted(part.graph.nodes.filter(pl.col("role") != 3).select("rank", "id").rows())

    assert len(chosen()) == 8
    assert chosen(ranks=(1,)) == [(1, 1), (1, 2)]
    assert chosen(around=(1, 2), distance=1) == [(1, 1), (1, 2)]
    assert chosen(around=(1, 2), distance=2) == [(0, 4), (1, 1), (1, 2)]
    assert chosen(around=(1, 2), most=2) == [(1, 1), (1, 2)]
    assert chosen(distance=0) == [(0, 1), (0, 3), (0, 4), (0, 5), (0, 6), (1, 1), (1, 2)]
    assert chosen(ranks=(0,), until_ns=1000) == [(0, 1)]
    with pytest.raises(PlaitError, match="no task 77"):
        chosen(around=(0, 77))
    with pytest.raises(PlaitError, match="no task is left"):
        chosen(ranks=(5,))


def test_what_is_left_out_is_told(two_ranks: Analysis) -> None:
    graph = with_counts(tg.task_graph(two_ranks.run, two_ranks.path_tasks))
    part = choose(graph, Choice(around=(1, 1), distance=0))
    assert (part.shown, part.tasks) == (1, 8)
    assert list(part.hidden.values()) == [(1, 1)]


def test_names_cannot_break_out_of_dot(tmp_path: Path) -> None:
    evil = 'a"b\\<i>&amp;]; x -> y'
    records = w.name(0, 99, evil) + w.task(99, 10, 20, id_=1) + w.task(99, 30, 40, id_=2, released_by=1)
    analysis = analysed(tmp_path / "evil", records)
    graph = tg.task_graph(analysis.run, analysis.path_tasks)
    kinds = kinds_as_dot(tg.by_kind(graph, analysis.paths), analysis.run, evil)
    tasks = tasks_as_dot(choose(with_counts(graph), Choice()), analysis.run, evil)
    for dot in (kinds, tasks):
        assert "&lt;i&gt;&amp;amp;" in dot
        assert evil not in dot.replace('\\"', '"').replace("\\\\", "\\") or 'tooltip="a\\"b' in dot
