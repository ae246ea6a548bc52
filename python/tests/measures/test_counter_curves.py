# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import polars as pl

from plait.measures.counter_curves import CURVES_MAX, curves_to_draw


def values(ranks: int) -> pl.DataFrame:
    return pl.DataFrame({"rank": list(range(ranks)) * 2, "value": [*range(ranks), *[0] * ranks]})


def test_few_curves_are_all_drawn() -> None:
    assert curves_to_draw(values(CURVES_MAX)).height == 2 * CURVES_MAX


def test_of_many_curves_the_highest_and_the_lowest_are_drawn() -> None:
    drawn = set(curves_to_draw(values(1000))["rank"])
    assert len(drawn) == CURVES_MAX
    assert set(range(992, 1000)) <= drawn
    assert set(range(8)) <= drawn
