# SPDX-License-Identifier: Apache-2.0
"""Colours beside one another differ, also for readers with two kinds of colour-blindness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from plait import _events as events
from plait._events import Run
from plait.plots import palette
from plait.plots.marks import HATCHES, OTHER, Mark, mark_of

Floats = npt.NDArray[np.float64]

#: On linear RGB. G. M. Machado et al., "A Physiologically-based Model for Simulation of Color Vision
#: Deficiency", IEEE Trans. Vis. Comput. Graph. 15 (2009) 1291, severity 1.
VISIONS = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
#: Least distance in CIE L*a*b* (1976); 2.3 is just noticeable side by side.
SCHEMES = {
    "kinds": (palette.KINDS, 20.0),
    "losses": (palette.LARGEST_LOSSES, 15.0),
    "rank time": (palette.RANK_TIME, 12.0),
    "ranks": (palette.RANKS, 15.0),
    "waits": (palette.WAITS, 12.0),
    "overlap": (palette.OVERLAP, 20.0),
    "dead time": (palette.DEAD_TIME, 12.0),
}


def seen_as(colour: str, vision: Floats) -> Floats:
    """L*, a*, b* of an sRGB colour, D65."""
    code = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.072175],
            [0.0193339, 0.119192, 0.9503041],
        ]
    )
    xyz = to_xyz @ np.clip(vision @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_any_two_colours_of_a_scheme_differ(scheme: str, vision: str) -> None:
    colours, least = SCHEMES[scheme]
    seen = [seen_as(colour, VISIONS[vision]) for colour in colours]
    pairs = [
        (float(np.linalg.norm(seen[i] - seen[j])), colours[i], colours[j])
        for i in range(len(seen))
        for j in range(i)
    ]
    assert min(pairs)[0] >= least, min(pairs)


def test_similar_colours_are_found() -> None:
    """Red and green of equal lightness, which deuteranopia makes alike."""
    red, green = (seen_as(colour, VISIONS["deuteranopia"]) for colour in ("#CC3311", "#997700"))
    assert np.linalg.norm(red - green) < 5


def run_of(kinds: int) -> Run:
    tasks = pl.DataFrame(
        {"kind": range(kinds), "start_ns": [0] * kinds, "end_ns": [100 - k for k in range(kinds)]}
    ).with_columns(pl.lit(events.ROLE_TASK).alias("role"))
    table = pl.concat([events.empty(events.TASKS), tasks], how="diagonal_relaxed")
    return replace(Run({}, 1, (0,)), tasks=table, kinds=tuple(f"kind {k}" for k in range(kinds)))


def test_no_two_kinds_have_the_same_mark() -> None:
    marks = palette.kind_marks(run_of(32))
    assert len(set(marks)) == 32
    assert OTHER not in marks


def test_kinds_beyond_all_marks_are_others_those_of_least_time() -> None:
    marks = palette.kind_marks(run_of(40))
    assert marks[32:] == [OTHER] * 8
    assert len(set(marks[:32])) == 32


def test_functions_of_one_class_have_marks_of_their_own() -> None:
    count = 20
    calls = pl.DataFrame(
        {"function": range(count), "start_ns": [0] * count, "end_ns": [100 - k for k in range(count)]}
    ).with_columns(pl.lit(events.CALL_MESSAGE).alias("class"))
    table = pl.concat([events.empty(events.CALLS), calls], how="diagonal_relaxed")
    run = replace(Run({}, 1, (0,)), calls=table, functions=tuple(f"f{k}" for k in range(count)))
    assert len(set(palette.function_marks(run))) == count


def test_a_pattern_is_a_background_of_two_colours() -> None:
    assert Mark("#4477AA").css == "#4477AA"
    for number in range(1, len(HATCHES)):
        mark = mark_of(["#4477AA"], number)
        assert mark.css.startswith("repeating-linear-gradient(")
        assert mark.css.endswith(",#4477AA")
        assert mark.line in mark.css
