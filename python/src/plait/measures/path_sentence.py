# SPDX-License-Identifier: Apache-2.0
"""What limits a step, in one sentence."""

from __future__ import annotations

import polars as pl

from plait._units import format_time
from plait.measures import critical_path
from plait.measures.critical_path import WHAT

#: Parts that are named; the others are small, or many.
_NAMED_MAX = 4
_SMALL = 0.03


def path_sentence(path: pl.DataFrame, kinds: tuple[str, ...]) -> str:
    """Of one step's part of `critical_paths`: "The critical path of step 12 (3.1 ms) is 83 % force on
    rank 1, 7 % messages under way, ..."; an empty text when it has no length."""
    parts = path_parts(path)
    whole = int(parts["time_ns"].sum()) if parts.height else 0
    if whole == 0:
        return ""
    phrases: list[str] = []
    for kind, rank, what, share in parts.head(_NAMED_MAX).select("kind", "rank", "what", "share").rows():
        if phrases and share < _SMALL:
            break
        name = f"{kinds[kind]} on rank {rank}" if what == critical_path.RUN else WHAT[what]
        phrases.append(f"{100 * share:.0f} % {name}")
    step = path["step"].item(0)
    rest = 1.0 - float(parts["share"].head(len(phrases)).sum())
    if rest >= _SMALL and parts.height > len(phrases):
        phrases.append(f"{100 * rest:.0f} % smaller parts")
    listed = phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"
    return f"The critical path of step {step} ({format_time(whole)}) is {listed}."


def path_parts(path: pl.DataFrame) -> pl.DataFrame:
    """Kinds by rank, and waits of all ranks together: kind, rank, what, count, time_ns, share; the
    largest first. Waits have kind and rank -1."""
    runs = pl.col("what") == critical_path.RUN
    whole = int((path["end_ns"] - path["start_ns"]).sum()) if path.height else 0
    return (
        path.with_columns(
            pl.when(runs).then("kind").otherwise(-1).alias("kind"),
            pl.when(runs).then("rank").otherwise(-1).alias("rank"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("time_ns"),
        )
        .group_by("kind", "rank", "what")
        .agg(pl.len().alias("count"), pl.col("time_ns").sum())
        .with_columns((pl.col("time_ns") / max(1, whole)).alias("share"))
        .sort("time_ns", "kind", "rank", descending=[True, False, False])
    )
