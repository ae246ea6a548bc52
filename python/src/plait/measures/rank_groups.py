# SPDX-License-Identifier: Apache-2.0
"""Ranks put together in groups of neighbours, where there are more than a picture has room for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


def group_size(ranks: int, groups_max: int) -> int:
    """How many neighbours make a group, so that there are at most `groups_max` of them."""
    return max(1, -(-ranks // groups_max))


#: Of more ranks, collectives are measured between groups of neighbours.
PAIRED_RANKS_MAX = 1024


def pair_group(ranks: int) -> int:
    """Ranks in such a group; 1: each pair of ranks is measured."""
    return group_size(ranks, PAIRED_RANKS_MAX)


def group_label(group: int, each: int, ranks: int) -> str:
    first, last = group * each, min(ranks, (group + 1) * each) - 1
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


@dataclass(frozen=True)
class Matrix:
    """Sums over the pairs of two groups: [group of the source, group of the destination]."""

    ranks: int
    each: int  # ranks in a group
    bytes: Floats
    messages: Floats

    @property
    def groups(self) -> int:
        return int(self.bytes.shape[0])


def group_matrix(pairs: pl.DataFrame, ranks: int, groups_max: int) -> Matrix:
    """`pairs`: source, destination, messages, bytes, as measures.traffic gives them."""
    measured = pair_group(ranks)
    each = -(-group_size(ranks, groups_max) // measured) * measured
    groups = max(1, -(-ranks // each))
    inside = pairs.filter(
        pl.col("source").is_between(0, ranks - 1) & pl.col("destination").is_between(0, ranks - 1)
    )
    at = inside["source"].to_numpy() // each * groups + inside["destination"].to_numpy() // each

    def grid(name: str) -> Floats:
        weights = inside[name].to_numpy().astype(np.float64)
        found: Floats = np.zeros(groups * groups)
        np.add.at(found, at, weights)
        return found.reshape(groups, groups)

    return Matrix(ranks, each, grid("bytes"), grid("messages"))


def group_rows(rows: Floats, each: int) -> Floats:
    """The mean of each group of `each` rows; the last group may be smaller."""
    firsts = np.arange(0, rows.shape[0], each)
    counts = np.minimum(each, rows.shape[0] - firsts)
    result: Floats = np.add.reduceat(rows, firsts, axis=0) / counts[:, None]
    return result
