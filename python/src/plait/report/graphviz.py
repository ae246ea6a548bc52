# SPDX-License-Identifier: Apache-2.0
"""Pictures of graphs by Graphviz' `dot`, where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

from plait._errors import PlaitError

MISSING = (
    "Graphviz' `dot` is not on the path, so that graphs are written as DOT files only; "
    "install it (apt-get install graphviz) for pictures"
)
_SECONDS_MAX = 60.0
#: Letters of ten points are read well on a page a little smaller than in print.
_PIXELS_A_POINT = 1.15


def has_dot() -> bool:
    return shutil.which("dot") is not None


def render_svg(dot: str) -> str | None:
    """The graph as an SVG file's text; None where there is no `dot`, or it takes too long for this
    graph. Raises PlaitError when it refuses the graph."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=dot.encode(),
            capture_output=True,
            timeout=_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0 or b"</svg>" not in done.stdout:
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise PlaitError(
            f"{program} did not draw the graph: {messages[0] if messages else 'no message'}"
        )
    return done.stdout.decode("utf-8")


def _in_pixels(size: re.Match[str]) -> str:
    return f'{size[1]}="{float(size[2]) * _PIXELS_A_POINT:.0f}"'


def inline(svg: str, name: str) -> str:
    """The picture as an element of a page: nothing that refers to elsewhere, ids of its own."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", element)
    element = re.sub(r"<!--.*?-->", "", element, flags=re.DOTALL)
    element = re.sub(r"xlink:title=", "data-tip=", element)
    element = re.sub(r'\bid="', f'id="{name}-', element)
    element = re.sub(r'(width|height)="(\d+)pt"', _in_pixels, element, count=2)
    return element.strip()
