# SPDX-License-Identifier: Apache-2.0
"""Which counters, and which ranks of each, a picture has room for."""

from __future__ import annotations

import polars as pl

#: Counters that have a picture each; `plait.read(RUN).counters` has all.
COUNTERS_MAX = 12
#: Curves in a picture.
CURVES_MAX = 16


def curves_to_draw(values: pl.DataFrame) -> pl.DataFrame:
    """The rows of all ranks; of more than CURVES_MAX, of those that reach highest and lowest."""
    high, low = pl.col("value").max().alias("high"), pl.col("value").min().alias("low")
    ends = values.group_by("rank").agg(high, low)
    if ends.height <= CURVES_MAX:
        return values
    half = CURVES_MAX // 2
    highest = ends.sort("high", "rank", descending=[True, False]).head(half)["rank"]
    lowest = ends.filter(~pl.col("rank").is_in(highest.implode())).sort("low", "rank").head(half)["rank"]
    return values.filter(pl.col("rank").is_in(pl.concat([highest, lowest]).implode()))
