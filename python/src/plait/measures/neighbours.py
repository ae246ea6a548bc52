# SPDX-License-Identifier: Apache-2.0
"""Neighbourhood collectives: which ranks exchange data in each."""

from __future__ import annotations

import polars as pl

from plait._events import Run
from plait.measures.collectives import NEIGHBOURS

_OPERATION = ["communicator", "count"]


def neighbour_pairs(run: Run, found: pl.DataFrame) -> pl.DataFrame:
    """A row for each rank that gives data to another: communicator, count, source, destination, bytes.

    `found`: of `collective_calls`. Neighbours that get no bytes are not known. A pair counts only where
    both calls were recorded.
    """
    own = found.filter(pl.col("flow") == NEIGHBOURS)
    members = run.communicators.unique(["communicator", "index"])
    given = (
        own.select(*_OPERATION, "rank", "number")
        .join(run.shares, on=["rank", "number"])
        .filter(pl.col("bytes_given") > 0)
        .join(members, on=["communicator", "index"], how="left", suffix="_of_member")
        .with_columns(
            pl.when(pl.col("communicator") == 0)
            .then(pl.col("index"))
            .otherwise(pl.col("rank_of_member"))
            .cast(pl.Int32)
            .alias("destination")
        )
    )
    there = own.select(*_OPERATION, pl.col("rank").alias("destination"))
    return (
        given.filter(pl.col("destination").is_not_null() & (pl.col("destination") != pl.col("rank")))
        .join(there, on=[*_OPERATION, "destination"], how="semi")
        .select(*_OPERATION, pl.col("rank").alias("source"), "destination", pl.col("bytes_given"))
    )


def last_sources(run: Run, found: pl.DataFrame) -> pl.DataFrame:
    """Of each neighbourhood collective and rank: when the last of the ranks that it gets data from came
    (`source_ns`), and which one (`source`)."""
    start = found.select(*_OPERATION, pl.col("rank").alias("source"), pl.col("start_ns"))
    return (
        neighbour_pairs(run, found)
        .join(start, on=[*_OPERATION, "source"])
        .sort("start_ns", "source")
        .group_by(*_OPERATION, pl.col("destination").alias("rank"))
        .agg(pl.col("start_ns").last().alias("source_ns"), pl.col("source").last())
    )
