# SPDX-License-Identifier: Apache-2.0
"""Builds report.html: one file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

import polars as pl

from plait import _events as events
from plait._units import format_bytes, format_count, format_share, format_time
from plait.measures.findings import message_totals
from plait.report.analysis import Analysis
from plait.report.html import figure, line_swatch, sentence
from plait.report.outputs import OutputPicture
from plait.report.page_calls import (
    call_time_section,
    overlap_section,
    unmatched_section,
    waits_section,
)
from plait.report.page_collectives import collectives_section
from plait.report.page_engine_profile import engine_sections
from plait.report.page_losses import losses_section
from plait.report.page_particles import particle_phases_section
from plait.report.page_path import run_path_section
from plait.report.page_phases import path_section, phases_section
from plait.report.page_profile import class_time_section, durations_section, windows_section
from plait.report.page_samples import computing_section, counters_section
from plait.report.page_traffic import balance_section, matrix_section, sizes_section
from plait.report.page_work import dead_time_section, kinds_section
from plait.report.payload import Payload
from plait.report.summary import find_all_losses

_SCRIPTS = (
    "data.js",
    "theme.js",
    "view.js",
    "lanes.js",
    "arrows.js",
    "messages.js",
    "charts.js",
    "heatmap.js",
    "icicle.js",
    "path.js",
    "graph.js",
    "main.js",
)
#: What meta.json has as the MPI of simulated ranks.
_SIMULATED_NETWORK = "sim"
_NOTICES_MAX = 40
#: Those that are seen at once; a click shows the others.
_NOTICES_OPEN = 3
_HINT = (
    "click a plot, then: wheel or + and - zoom, drag or arrow keys pan, shift + drag selects, double "
    "click shows all"
)


def build_page(
    analysis: Analysis, payload: Payload, outputs: Sequence[OutputPicture], graphs: Sequence[str] = ()
) -> str:
    """`graphs`: sections of page_graphs."""
    assets = resources.files("plait.report") / "assets"

    def read(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    # "</" would end the script element, whatever is around it.
    data = json.dumps(payload.data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    columns = "\n".join(
        f'<script type="text/plain" id="column-{name}">{text}</script>'
        for name, text in payload.columns.items()
    )
    return Template(read("page.html")).substitute(
        title=f"{escape(_program(analysis))} – plait report",
        style=read("style.css"),
        body="\n".join(_body(analysis, payload, outputs, graphs)),
        data=data,
        columns=columns,
        script="\n".join(read(name) for name in _SCRIPTS),
    )


def _body(
    analysis: Analysis, payload: Payload, outputs: Sequence[OutputPicture], graphs: Sequence[str]
) -> list[str]:
    of_ranks = class_time_section(analysis) if analysis.run.is_profile else waits_section(analysis)
    of_calls = [of_ranks, call_time_section(analysis), overlap_section(analysis)]
    sections = [
        _head(analysis),
        _notices(analysis, payload),
        losses_section(analysis),
        _tiles(analysis),
        _findings(analysis),
        *of_calls[:1],
        _tasks(analysis, payload),
        computing_section(analysis),
        counters_section(analysis),
        *of_calls[1:2],
        collectives_section(analysis),
        *of_calls[2:],
        *engine_sections(analysis),
        durations_section(analysis),
        balance_section(analysis, payload),
        *_messages(analysis, payload),
        matrix_section(analysis, payload),
        sizes_section(analysis),
        windows_section(analysis),
        unmatched_section(analysis),
        dead_time_section(analysis),
        phases_section(analysis),
        kinds_section(analysis),
        particle_phases_section(analysis),
        run_path_section(analysis),
        path_section(analysis),
        *graphs,
        _gaps(payload),
        *_counters(payload),
        *(picture.section() for picture in outputs),
        _foot(analysis),
    ]
    return [section for section in sections if section]


def _program(analysis: Analysis) -> str:
    return str(analysis.run.meta.get("program") or analysis.folder.name)


def _head(analysis: Analysis) -> str:
    command = analysis.run.meta.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    step = f", step {analysis.only_step}" if analysis.only_step is not None else ""
    return (
        f"<h1>Where the time of {escape(_program(analysis))} went{step}</h1>"
        f'<div class="command">{escape(" ".join(words))}</div>{_simulated(analysis)}'
    )


def _simulated(analysis: Analysis) -> str:
    """Of times that no machine took."""
    if analysis.run.meta.get("mpi") != _SIMULATED_NETWORK:
        return ""
    hosts = analysis.run.meta.get("hosts")
    count = len(set(hosts)) if isinstance(hosts, list) else 0
    where = f" on {format_count(count, 'simulated host')}" if count else ""
    return (
        f'<div class="command">Simulated: {format_count(analysis.run.ranks, "rank")}{where}. '
        "Times are those of a virtual clock.</div>"
    )


def _tiles(analysis: Analysis) -> str:
    run = analysis.run
    count, size = message_totals(run)
    tiles = [(format_time(analysis.total_ns), "traced time")]
    workers = run.meta.get("workers") if not run.calls.height else None
    each = format_count(workers, "worker") + " each" if isinstance(workers, int) else ""
    tiles.append((format_count(run.ranks, "rank"), each or "in the run"))
    if analysis.calls.by_function.height:
        inside = int(analysis.calls.by_function["time_ns"].sum())
        tiles.append((format_share(inside, analysis.calls.whole_ns), "of the ranks' time was in calls"))
        tiles.append((f"{analysis.call_count:,}", "calls"))
    if analysis.ranks.height:
        shares = analysis.ranks["idle_share"].to_list()
        ranks = f"idle, of {len(shares)} ranks: {min(shares):.1%} to {max(shares):.1%}"
        only = "of the worker time was idle"
        mean = sum(shares) / len(shares)
        tiles.append((f"{100 * mean:.1f} %", ranks if len(shares) > 1 else only))
    if analysis.steps.height:
        typical = format_time(float(analysis.steps["length_ns"].to_numpy().mean()))
        tiles.append((format_count(analysis.steps.height, "step"), f"{typical} each on average"))
    if run.tasks.height:
        own = run.tasks.filter(pl.col("role") == events.ROLE_TASK).height
        tiles.append((f"{own:,}", "tasks ran on workers"))
    if count:
        tiles.append((f"{count:,}", "messages"))
        rate = size / max(1e-9, analysis.total_ns * 1e-9)
        tiles.append((format_bytes(size), f"sent, {format_bytes(rate)}/s on average"))
    cells = "".join(f'<div class="tile"><b>{b}</b><span>{escape(t)}</span></div>' for b, t in tiles)
    return f'<div class="tiles">{cells}</div>'


def _notices(analysis: Analysis, payload: Payload) -> str:
    notices = list(analysis.run.notices)
    if payload.data["merged"] > 0:
        notices.append(
            f"This run is long: the {format_count(payload.data['merged'], 'shortest bar')} of the task "
            f"plot are shown merged with their neighbours of the same kind{_shown_whole(analysis)}"
        )
    if payload.data["messages_left_out"] > 0:
        notices.append(
            f"{payload.data['messages_left_out']:,} of the messages, evenly spread, are left out of the "
            "message plots; all numbers are of all messages"
        )
    if payload.data["ranks_left_out"] > 0:
        notices.append(
            f"{format_count(payload.data['ranks_left_out'], 'rank')} have no lane of their own: the "
            "lanes show the ranks that spent most and least in calls or tasks, and below them the means "
            "of groups of neighbours; all numbers are of all ranks"
        )
    if payload.data["lanes_left_out"] > 0:
        notices.append(f"{payload.data['lanes_left_out']} lanes are left out")
    if not notices:
        return ""
    more = len(notices) - _NOTICES_MAX
    shown = [escape(notice) for notice in notices[:_NOTICES_MAX]]
    if more > 0:
        shown.append(f"and {more} more")
    first, rest = shown[:_NOTICES_OPEN], shown[_NOTICES_OPEN:]
    more_notices = f"<details><summary>{len(rest)} more</summary>{_list(rest)}</details>" if rest else ""
    return f'<div class="notice" id="notices"><b>Read this first</b>{_list(first)}{more_notices}</div>'


def _list(items: Sequence[str]) -> str:
    """Of HTML."""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _shown_whole(analysis: Analysis) -> str:
    if not analysis.steps.height:
        return ""
    return "; `plait report --step N` shows one step whole"


def _findings(analysis: Analysis) -> str:
    found = find_all_losses(analysis)
    if analysis.gains is not None and analysis.gains.sentence:
        found.append(analysis.gains.sentence)
    if not found:
        return ""
    items = "".join(f"<li>{sentence(text)}</li>" for text in found)
    return f'<div class="findings"><h2>More about where the time went</h2><ul>{items}</ul></div>'


def _tasks(analysis: Analysis, payload: Payload) -> str:
    if not payload.data["bars"]:
        return ""
    tools = (
        '<div class="tools"><button data-act="whole">Whole run</button>'
        '<button data-act="before">‹ Step</button><button data-act="after">Step ›</button>'
        '<button data-act="in">Zoom in</button><button data-act="out">Zoom out</button>'
        '<button data-act="left">‹</button><button data-act="right">›</button>'
        f'<span class="which"></span><span class="hint">{_HINT}</span></div>'
    )
    return figure(
        "tasks",
        *_timeline_text(analysis, payload),
        f'{tools}<div class="legend"></div><div class="plot"></div>',
    )


def _timeline_text(analysis: Analysis, payload: Payload) -> tuple[str, str]:
    """Title and text, for what the lanes show."""
    run = analysis.run
    quantum = payload.data["quantum_ns"]
    rounded = f" Times are rounded to {format_time(quantum)}." if quantum > 1 else ""
    zoomed = "Zoomed out, each column shows the shares of its time by kind"
    follow = "the plots of data in flight and data rate follow this one's zoom"
    if run.calls.height and run.tasks.height:
        title = "What each rank did: tasks, and calls"
        text = (
            "Of each rank a lane for each worker, with its tasks, and below one for each thread that "
            "called MPI: its ground is the program's own computing, tasks included, in colour it is in "
            "a call: orange waits, purple takes part in a collective. Calls of plait's own network are "
            f"left out. {zoomed}; zoomed in, arrows lead from where a message was sent to where its "
            f"receive ended; {follow}."
        )
    elif run.calls.height:
        title = "What each rank did: computing, and calls"
        text = (
            "One lane for each thread that called MPI, from its first call to its last; the ground is "
            "the program's own computing, in colour it is in a call: orange waits, purple takes part in "
            f"a collective. {zoomed}; zoomed in, arrows lead from where a message was sent to where its "
            f"receive ended; {follow}."
        )
    elif run.tasks.height:
        title = "What each worker did"
        text = (
            "One lane for each worker; bare is idle, counted from the first task to the last. Sends and "
            "receives occupy no worker and are in the thin rows below, from posting to completion; "
            f"zoomed in, arrows join them. {zoomed}. Dashed lines are the starts of steps; {follow}."
        )
    else:
        title = "What was under way"
        text = (
            "Sends and receives of each rank, from posting to completion; zoomed in, arrows lead from "
            f"the one to the other. {zoomed}; {follow}."
        )
    return title, text + rounded


def _messages(analysis: Analysis, payload: Payload) -> list[str]:
    if not payload.data["messages"]:
        return []
    legend = '<div class="rank-legend"></div><div class="plot"></div>'
    return [
        figure(
            "in-flight",
            "Data in flight",
            "Bytes that a rank has posted for sending and whose receiver has not yet been notified.",
            legend,
        ),
        figure(
            "rate",
            "Data rate into each rank",
            "Each message's bytes are spread evenly over the time from when both sides had posted it "
            "until all of it had arrived.",
            legend,
        ),
        figure("scatter", *_scatter_text(analysis), legend),
    ]


def _scatter_text(analysis: Analysis) -> tuple[str, str]:
    if analysis.steps.height > 1:
        return (
            "When messages were sent, and when received",
            "A dot for each message, coloured by its sender. The further above the line, the longer it "
            "was under way; dots side by side at one height were all noticed at once.",
        )
    return (
        "How long messages were under way",
        "A dot for each message, coloured by its sender: from when it was sent to when its receive "
        "ended. Slanted rows of dots that fall were all noticed at one moment; bands are sizes, or "
        "pairs of ranks; what lies far above the rest waited for a rank, or until a thread polled.",
    )


def _gaps(payload: Payload) -> str:
    if not payload.data["gaps"]:
        return ""
    return figure(
        "gaps",
        "How long no thread polled the network",
        "Time spent in poll gaps, by length of the gap, while something was in flight. Messages that "
        "complete in a gap are noticed only at its end.",
        '<div class="plot"></div>',
    )


def _counters(payload: Payload) -> list[str]:
    return [
        figure(
            f"counter-{index}",
            escape(counter["name"]).capitalize() + " over time",
            _counter_text(counter),
            f'<div class="rank-legend fixed">{_curve_legend(counter)}</div><div class="plot"></div>',
        )
        for index, counter in enumerate(payload.data["counters"])
    ]


def _counter_text(counter: dict[str, Any]) -> str:
    text = "As the program recorded it."
    shown = len(counter["lines"])
    if shown < counter["ranks"]:
        text += f" Of {counter['ranks']:,} ranks, the {shown} that reach highest and lowest."
    if counter["left_out"]:
        more = format_count(counter["left_out"], "more counter")
        text += f" {more}: <code>plait.read(RUN).counters</code>."
    return text


def _curve_legend(counter: dict[str, Any]) -> str:
    ranks = [line["rank"] for line in counter["lines"]]
    return "".join(f"<span>{line_swatch(rank)}rank {rank}</span>" for rank in ranks)


def _foot(analysis: Analysis) -> str:
    meta = analysis.run.meta
    facts = [f"trace: {analysis.folder}"]
    for key, label in (("mpi", ""), ("revision", "revision "), ("started", "started ")):
        if meta.get(key):
            facts.append(f"{label}{meta[key]}")
    hosts = meta.get("hosts")
    if isinstance(hosts, list):
        facts.append("on " + ", ".join(sorted({str(host) for host in hosts})[:8]))
    if analysis.run.own_messages:
        facts.append(f"{analysis.run.own_messages:,} records of plait's own messages are not shown")
    if analysis.run.clock_error_ns:
        facts.append(f"clocks of ranks agree within {format_time(analysis.run.clock_error_ns)}")
    return f"<footer>{escape(' · '.join(facts))}</footer>"
