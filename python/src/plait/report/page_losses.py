# SPDX-License-Identifier: Apache-2.0
"""The first thing on the page: the largest losses, each with what it costs and what to do."""

from __future__ import annotations

from html import escape

from plait._units import format_share
from plait.measures.loss_sentences import (
    count_text,
    describe_loss,
    heading,
    is_gain_known,
    nothing_lost,
)
from plait.measures.losses import Loss, Losses
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.html import sentence

_RULE = (
    "Shares are of {threads}; every moment of a thread counts for one loss at most. Gains are estimated "
    "with care, each for this loss mended alone."
)


def losses_section(analysis: Analysis) -> str:
    losses = analysis.losses
    if losses.whole_ns <= 0:
        return ""
    named = losses.largest
    items = "".join(
        _item(analysis, losses, loss, colour)
        for loss, colour in zip(named, palette.LARGEST_LOSSES, strict=False)
    )
    text = f"<ol>{items}</ol>" if named else f'<p class="none">{escape(nothing_lost(losses))}</p>'
    rule = escape(_RULE.format(threads=count_text(losses)))
    return (
        f'<section class="losses" id="losses" aria-label="largest losses"><h2>{heading(losses)}</h2>'
        f"{_bar(losses)}{text}"
        f'<p class="rule">{rule}</p></section>'
    )


def _item(analysis: Analysis, losses: Losses, loss: Loss, colour: str) -> str:
    text = describe_loss(analysis.run, losses, loss)
    gain = escape(text.gain)
    if is_gain_known(losses, loss):
        gain = f"<b>{gain}</b>"
    remedy = sentence(text.remedy)
    where = f"<p>{escape(text.where)}</p>" if text.where else ""
    return (
        f'<li style="border-color:{colour}"><b class="share">'
        f"{format_share(loss.lost_ns, losses.whole_ns)}</b><h3>{escape(text.what)}</h3>"
        f"<p>{escape(text.cost)} {gain}</p>{where}"
        f'<p class="remedy">{remedy}</p></li>'
    )


def _bar(losses: Losses) -> str:
    """The whole of the threads' time: the named losses by number, the smaller ones, the rest."""
    named = losses.largest
    smaller = sum(loss.share for loss in losses.found[len(named) :])
    parts = [
        (loss.share, colour, str(number), f"{number}: {100 * loss.share:.1f} %")
        for number, (loss, colour) in enumerate(zip(named, palette.LARGEST_LOSSES, strict=False), 1)
    ]
    rest = max(0.0, 1.0 - sum(loss.share for loss in losses.found))
    parts.append((smaller, palette.SMALLER_LOSSES, "", f"smaller losses: {100 * smaller:.1f} %"))
    parts.append((rest, "var(--computing)", "", f"not lost: {100 * rest:.1f} %"))
    cells = "".join(
        f'<div style="flex-grow:{share:.5f};background:{colour};color:{_ink(colour)}">'
        f"{text if share > _ROOM else ''}</div>"
        for share, colour, text, _ in parts
        if share > 0
    )
    label = escape(f"Of the threads' time: {', '.join(tip for *_, tip in parts)}", quote=True)
    keys = "".join(
        f'<span><i style="background:{colour}"></i>{escape(tip)}</span>'
        for share, colour, _, tip in parts
        if share > 0
    )
    return (
        f'<div class="loss-bar" role="img" aria-label="{label}">{cells}</div>'
        f'<div class="rank-legend fixed">{keys}</div>'
    )


def _ink(colour: str) -> str:
    return palette.ink_on(colour) if colour.startswith("#") else "inherit"


#: Parts of the bar below this have no room for a number.
_ROOM = 0.015
