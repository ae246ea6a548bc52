# SPDX-License-Identifier: Apache-2.0
"""Bars and columns of several parts, as HTML and SVG that need no scripts but for their hover text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT = 1000, 180


def bar(shares: Sequence[float], colours: Sequence[str], size: str = "") -> str:
    """Parts, one after the other; shares are of the whole width, 0 to 1. `size`: a class of the page."""
    parts, left = [], 0.0
    for share, colour in zip(shares, colours, strict=True):
        if share > 0:
            parts.append(
                f'<div style="left:{100 * left:.2f}%;width:{100 * share:.2f}%;background:{colour};'
                'border-radius:0"></div>'
            )
        left += max(0.0, share)
    return f'<div class="track {size or "short"}">{"".join(parts)}</div>'


def columns(
    values: npt.NDArray[np.float64],
    colours: Sequence[str],
    tips: Sequence[str],
    *,
    most: str,
    marks: Sequence[str],
) -> str:
    """Stacked columns. `values`: [column, part]; `tips`: hover text of each column, in lines.

    `most`: what the highest column amounts to; `marks`: what is below columns, evenly spread
    from the first on; two are put at the ends.
    """
    count = values.shape[0]
    high = max(float(values.sum(axis=1).max()), 1e-300) if count else 1.0
    width = _WIDTH / max(1, count)
    gap = 0.08 * width if count <= 200 else 0.0
    shapes = []
    for index in range(count):
        tops = np.concatenate(([0.0], np.cumsum(values[index]))) / high * _HEIGHT
        rects = "".join(
            f'<rect x="{index * width:.2f}" y="{_HEIGHT - tops[i + 1]:.2f}" '
            f'width="{width - gap:.2f}" height="{tops[i + 1] - tops[i]:.2f}" style="fill:{colours[i]}"/>'
            for i in range(len(colours))
            if tops[i + 1] > tops[i]
        )
        tip = escape(tips[index], quote=True).replace("\n", "&#10;")
        shapes.append(
            f'<g data-tip="{tip}"><rect x="{index * width:.2f}" y="0" width="{width:.2f}" '
            f'height="{_HEIGHT}" fill="transparent"/>{rects}</g>'
        )
    return (
        f'<div class="scale"><span>{escape(most)}</span></div>'
        f'<svg class="columns" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">'
        f"{''.join(shapes)}</svg>"
        f'<div class="{"scale" if len(marks) == 2 else "marks"}">'
        f"{''.join(f'<span>{escape(mark)}</span>' for mark in marks)}</div>"
    )
