# SPDX-License-Identifier: Apache-2.0
"""Task graphs in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from plait import _events as events
from plait._events import Run
from plait._units import format_count, format_share, format_time
from plait.measures import task_graph as measure
from plait.measures.graph_choice import Part
from plait.measures.task_graph import KindGraph
from plait.plots import palette, style

_PATH = "#CC0022"
_MESSAGE = palette.WAITS[2]
_EDGE = "#8a96a3"
_LEGEND = (
    "red: critical path; dashed: message; open arrow: spawned",
    "dotted: ran next on its worker, without a dependency",
    "sharp corners: send or receive, on no worker",
)
_FONT = 'fontname="DejaVu Sans"'
_HEAD = f"""  graph [bgcolor="white", {_FONT}, fontcolor="{style.INK}", labeljust="l",
    nodesep=0.2, ranksep=0.3, pad=0.2];
  node [shape=box, style="filled,rounded", {_FONT}, fontsize=10, penwidth=0, margin="0.12,0.06"];
  edge [{_FONT}, fontsize=9, color="{_EDGE}", fontcolor="{style.SOFT}", arrowsize=0.7];
"""


def kinds_as_dot(graph: KindGraph, run: Run, title: str) -> str:
    """Kinds of tasks, and how often one comes before the other."""
    colours = [mark.colour for mark in palette.kind_marks(run)]
    path = max(1, int(graph.nodes["path_ns"].sum()))
    work = max(1, int(graph.nodes.filter(graph.nodes["role"] == events.ROLE_TASK)["total_ns"].sum()))
    lines = []
    for row in graph.nodes.iter_rows(named=True):
        text = _kind_label(run.kinds[row["kind"]], row, work, path)
        share = row["path_ns"] / path
        border = f', penwidth={1.0 + 5.0 * share:.1f}, color="{_PATH}"' if share >= 0.005 else ""
        lines.append(f"  k{row['kind']} [label=<{text}>, {_fill(colours, row)}{border}];")
    most = max(1, graph.edges["count"].max() or 1)
    for row in graph.edges.iter_rows(named=True):
        attributes = [
            f'label=" {row["count"]:,}"',
            f"penwidth={1.0 + 2.5 * (row['count'] / most) ** 0.5:.1f}",
        ]
        attributes += _edge_style(row["what"], False)
        if row["what"] == measure.MESSAGE and not row["across"]:
            attributes.append('tooltip="within a rank"')
        lines.append(f"  k{row['from']} -> k{row['to']} [{', '.join(attributes)}];")
    return _digraph(lines, "TB", title)


def tasks_as_dot(part: Part, run: Run, title: str) -> str:
    """Single tasks, a box around those of each rank."""
    colours = [mark.colour for mark in palette.kind_marks(run)]
    begin = min((row["ready_ns"] for row in _tasks(part)), default=0)
    lines = []
    for (rank,), own in sorted(part.graph.nodes.partition_by("rank", as_dict=True).items()):
        lines.append(f"  subgraph cluster_{rank} {{")
        lines.append(
            f'    label="rank {rank}"; fontsize=12; style="rounded"; color="{style.LINE}"; penwidth=1.5;'
        )
        for row in own.iter_rows(named=True):
            lines.append(f"    t{row['node']} [{_task_looks(row, part, run, colours, begin)}];")
        lines.append("  }")
    for row in part.graph.edges.iter_rows(named=True):
        attributes = _edge_style(row["what"], row["critical"])
        lines.append(f"  t{row['from']} -> t{row['to']} [{', '.join(attributes)}];")
    return _digraph(lines, "LR", title)


def _tasks(part: Part) -> Iterable[dict[str, int]]:
    return (row for row in part.graph.nodes.iter_rows(named=True) if row["role"] != events.ROLE_JOIN)


def _digraph(lines: list[str], direction: str, title: str) -> str:
    rows = [f"<b>{_text(title)}</b>", *_LEGEND]
    label = "".join(row + '<br align="left"/>' for row in rows)
    head = ["digraph plait {", f'  rankdir="{direction}"; labelloc="b"; label=<{label}>;']
    return "\n".join([*head, _HEAD, *lines, "}", ""])


def _kind_label(name: str, row: dict[str, float], work_ns: int, path_ns: int) -> str:
    """As Graphviz takes it: a first line in bold, and numbers below."""
    told = [f"<b>{_text(name)}</b>"]
    if row["role"] == events.ROLE_JOIN:
        told.append(format_count(int(row["count"]), "join"))
    else:
        noun = {events.ROLE_SEND: "send", events.ROLE_RECEIVE: "receive"}.get(int(row["role"]), "task")
        told.append(f"{format_count(int(row['count']), noun)}, {format_time(row['mean_ns'])} each")
    if row["role"] == events.ROLE_TASK:
        told.append(
            f"{format_time(row['total_ns'])}, {format_share(row['total_ns'], work_ns)} of all work"
        )
    if row["path_ns"] / path_ns >= 0.005:
        told.append(f"{format_share(row['path_ns'], path_ns)} of the path")
    return "<br/>".join(told)


def _task_looks(row: dict[str, int], part: Part, run: Run, colours: list[str], begin_ns: int) -> str:
    if row["kind"] == measure.NO_KIND:
        return f'shape=point, width=0.08, color="{_EDGE}", tooltip="all that a task spawned has ended"'
    name = run.kinds[row["kind"]]
    if row["role"] == events.ROLE_JOIN:
        return f'shape=point, width=0.12, color="{style.INK}", tooltip="{_quoted(name)} (join)"'
    told = [f"<b>{_text(name)}</b>", format_time(row["longest_ns"])]
    if row["count"] > 1:
        told[1] = f"{row['count']:,} tasks, {format_time(row['total_ns'])}"
        on_path = f", {row['critical_count']:,} on the path" if row["critical"] else ""
        told.append(f"up to {format_time(row['longest_ns'])}{on_path}")
    attributes = [f"label=<{'<br/>'.join(told)}>", _fill(colours, row)]
    if row["critical"]:
        attributes.append(f'color="{_PATH}", penwidth=3')
    return ", ".join([*attributes, f'tooltip="{_quoted(_task_tip(row, part, name, begin_ns))}"'])


def _task_tip(row: dict[str, int], part: Part, name: str, begin_ns: int) -> str:
    longest = f"the longest of {row['count']:,}: " if row["count"] > 1 else ""
    facts = [f"{name}, {longest}task {row['id']} of rank {row['rank']}"]
    if row["role"] == events.ROLE_TASK:
        facts.append(f"worker {row['worker']}, object {row['object']}")
    else:
        direction = "to" if row["role"] == events.ROLE_SEND else "from"
        facts.append(f"{direction} rank {row['object'] >> 32}, message {row['object'] & 0xFFFFFFFF}")
    start, end = (format_time(row[at] - begin_ns) for at in ("start_ns", "end_ns"))
    facts.append(f"from {start} to {end} of the step")
    if row["count"] == 1:
        facts.append(f"ready {format_time(row['start_ns'] - row['ready_ns'])} before it started")
    before, after = part.hidden.get(row["node"], (0, 0))
    if before or after:
        facts.append(f"not shown: {before} edges to it, {after} from it")
    return "\n".join(facts)


def _edge_style(what: int, critical: bool) -> list[str]:
    colour = _MESSAGE if what == measure.MESSAGE else _EDGE
    attributes = []
    if critical:
        colour = _PATH
        attributes.append("penwidth=2.8")
    if what == measure.MESSAGE:
        attributes += ['style="bold,dashed"', f'fontcolor="{_MESSAGE}"', 'arrowhead="vee"']
    elif what == measure.SPAWNED:
        attributes.append('arrowhead="empty"')
    elif what == measure.FOLLOWED:
        attributes += ['style="dotted"', "weight=3"]
    return [*attributes, f'color="{colour}"', f'edgetooltip="{measure.WHAT[what]}"']


def _fill(colours: list[str], row: dict[str, int]) -> str:
    if row["role"] == events.ROLE_JOIN:
        return f'fillcolor="#e9edf1", fontcolor="{style.INK}", shape=ellipse'
    colour = colours[row["kind"]]
    # Messages have sharp corners: they occupy no worker.
    corners = "" if row["role"] == events.ROLE_TASK else ', style="filled"'
    return f'fillcolor="{colour}", fontcolor="{palette.ink_on(colour)}"{corners}'


def _text(text: str) -> str:
    return escape(text, quote=False)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
