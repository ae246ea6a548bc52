# SPDX-License-Identifier: Apache-2.0
"""The style of all pictures: light ground, quiet axes, DejaVu Sans, 120 dots per inch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from typing import IO, Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plait.plots.marks import HATCHES, Mark

#: The widest figures are as wide as the text of a notebook.
_NOTEBOOK_DOTS_PER_INCH = 96
INK, SOFT, LINE = "#1b2430", "#5d6b7a", "#dfe4ea"

_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "grid.color": "#e6eaef",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "path.simplify": True,
    "agg.path.chunksize": 20000,
}


def context() -> AbstractContextManager[None]:
    """Everything drawn within has this style."""
    return mpl.rc_context(cast(Any, _STYLE))


class Picture(Figure):
    """A figure that notebooks show, also where pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        save(self, buffer, dots_per_inch=_NOTEBOOK_DOTS_PER_INCH)
        return buffer.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """A figure in inches, without pyplot: no window, no global state."""
    with context():
        figure = Picture(figsize=(width, height), layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, rows: int = 1, columns: int = 1, **options: Any) -> list[Axes]:
    with context():
        axes = figure.subplots(rows, columns, squeeze=False, **options)
    return list(axes.flat)


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=12, fontweight="bold", color=INK)


def short(name: str, most: int = 40) -> str:
    """A name as figures show it: the page has the whole of it."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def patch(mark: Mark, name: str) -> Patch:
    """An entry of a legend."""
    hatch = HATCHES[mark.pattern] or None
    return Patch(facecolor=mark.colour, edgecolor=mark.line, hatch=hatch, linewidth=0, label=short(name))


def lines_over(marks: Sequence[Mark]) -> dict[str, Any]:
    """Of bars: the patterns over their colours."""
    lines = [mark.line for mark in marks]
    return {"hatch": [HATCHES[mark.pattern] for mark in marks], "edgecolor": lines, "linewidth": 0}


def save(figure: Figure, file: IO[bytes], *, dots_per_inch: int = 120) -> None:
    with context():
        figure.set_dpi(dots_per_inch)
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
        figure.set_layout_engine("none")
        # Draws once; savefig draws twice more, for layouts that it does not know to be done.
        cast(Any, figure.canvas).print_png(file, pil_kwargs={"compress_level": 3})
