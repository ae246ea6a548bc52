# SPDX-License-Identifier: Apache-2.0
"""What all sections of the page are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from plait.plots import palette

#: The head of a column with places in the program.
PLACE = "called in"
_CODE = re.compile("`([^`]+)`")


def figure(name: str, title: str, text: str, inside: str, *, plain: bool = False) -> str:
    """`text` and `inside` are HTML. A plain figure is drawn without scripts of its own."""
    mark = " data-plain" if plain else ""
    return f'<figure id="{name}"{mark}><h2>{title}</h2><p>{text}</p>{inside}</figure>'


def line_swatch(rank: int) -> str:
    """A stretch of the rank's curve."""
    dash = {"-": "solid", ":": "dotted"}.get(palette.rank_dash(rank), "dashed")
    return f'<i class="line" style="border-top:3px {dash} {palette.rank_colour(rank)}"></i>'


def swatch(colour: str, text: str) -> str:
    return f'<i style="background:{colour}"></i>{escape(text)}'


def legend(items: Sequence[tuple[str, str]]) -> str:
    """Of (colour, text)."""
    shown = "".join(f"<span>{swatch(colour, text)}</span>" for colour, text in items)
    return f'<div class="rank-legend fixed">{shown}</div>'


def left(text: str) -> str:
    """A cell of text, which is at the left."""
    return f'<span class="left">{escape(text)}</span>'


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Heads are text, cells HTML."""
    head = "".join(_head(text) for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>{body}</table></div>"
    )


def _head(text: str) -> str:
    """Over cells of text, which are at the left: those of places."""
    return f'<th class="left">{escape(text)}</th>' if text == PLACE else f"<th>{escape(text)}</th>"


def sentence(text: str) -> str:
    """A sentence for people, with what is in backquotes as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
