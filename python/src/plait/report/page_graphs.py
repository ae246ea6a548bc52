# SPDX-License-Identifier: Apache-2.0
"""Sections of the page with the task graphs."""

from __future__ import annotations

from html import escape

from plait.report.graphviz import MISSING, inline
from plait.report.html import figure

#: A larger picture is left beside the page.
_BYTES_MAX = 3_000_000
_TOOLS = (
    '<div class="tools"><button data-act="full">Readable</button><button data-act="fit">Whole</button>'
    '<span class="hint">click a node to see what it is joined to; {}</span></div>'
)


KINDS_TEXT = (
    "Numbers at edges: how often a task of the one kind had to end, or its message to come, "
    "before one of the other could start. The broader the red border, the more of the critical "
    "path."
)
TASKS_TEXT = (
    "A step of median length. Tasks of one kind with the same before and after them are drawn as "
    "one. Of large steps, the part around the end of the critical path; <code>plait graph</code> "
    "draws any other part."
)


def graph_section(name: str, title: str, text: str, svg: str | None) -> str:
    title = escape(title)
    if svg is None:
        inside = f'<p class="missing">{MISSING}: {name}.dot is beside this page.</p>'
        return figure(name, title, text, inside, plain=True)
    if len(svg) > _BYTES_MAX:
        inside = f'<p class="missing">This picture is large: it is in {name}.svg beside this page.</p>'
        return figure(name, title, text, inside, plain=True)
    tools = _TOOLS.format(f"also in {name}.svg and {name}.dot")
    inside = f'{tools}<div class="plot graph">{inline(svg, name)}</div>'
    return figure(name, title, text, inside, plain=True)
