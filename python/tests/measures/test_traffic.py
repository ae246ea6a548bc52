# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from mpi_runs import Rank, make_run, write_run

from plait import read_run
from plait.measures import rank_groups
from plait.measures.traffic import collective_matrix, message_matrix, size_histogram


def test_messages_and_bytes_of_each_pair() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for tag in (1, 2, 3):
        ranks[0].send(10 * tag, 10 * tag + 5, 1, 100, tag=tag)
        ranks[1].receive(10 * tag, 10 * tag + 5, 0, 100, tag=tag)
    ranks[2].send(50, 60, 0, 7)
    ranks[0].receive(50, 60, 2, 7)
    assert message_matrix(make_run(*ranks)).rows() == [(0, 1, 3, 300), (2, 0, 1, 7)]


def test_a_rank_whose_file_is_missing_is_known_by_what_it_sent(tmp_path: Path) -> None:
    ranks = [Rank(0), Rank(1)]
    ranks[1].send(50, 60, 0, 7)
    ranks[0].receive(50, 60, 1, 7)
    write_run(tmp_path, *ranks)
    (tmp_path / "rank-0001.plt").unlink()
    assert message_matrix(read_run(tmp_path)).rows() == [(1, 0, 1, 7)]


def flows(name: str, given: tuple[int, ...], **more: int) -> list[tuple[int, ...]]:
    ranks = [Rank(rank) for rank in range(len(given))]
    for rank, size in zip(ranks, given, strict=True):
        rank.collective(name, 10, 20, given=size, **more)
    return collective_matrix(make_run(*ranks)).rows()


def test_a_broadcast_gives_to_all_from_its_root() -> None:
    assert flows("MPI_Bcast", (0, 8, 0), peer=1) == [(1, 0, 1, 8), (1, 2, 1, 8)]


def test_a_scatter_gives_each_a_share() -> None:
    assert flows("MPI_Scatter", (30, 0, 0), peer=0) == [(0, 1, 1, 10), (0, 2, 1, 10)]


def test_a_gather_gives_to_its_root() -> None:
    assert flows("MPI_Gather", (8, 9, 10), peer=0) == [(1, 0, 1, 9), (2, 0, 1, 10)]


def test_everybody_gets_what_everybody_gives_to_an_allreduce() -> None:
    assert flows("MPI_Allreduce", (8, 8)) == [(0, 1, 1, 8), (1, 0, 1, 8)]


def test_shares_of_a_vector_collective_count_one_by_one() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank, given in zip(ranks, ([0, 5, 6], [1, 0, 2], [3, 4, 0]), strict=True):
        rank.shares(rank.collective("MPI_Alltoallv", 10, 20, given=sum(given)), given)
    assert collective_matrix(make_run(*ranks)).rows() == [
        *[(0, 1, 1, 5), (0, 2, 1, 6), (1, 0, 1, 1), (1, 2, 1, 2), (2, 0, 1, 3), (2, 1, 1, 4)]
    ]


def test_neighbours_give_what_their_shares_have() -> None:
    ranks = [Rank(0), Rank(1), Rank(2)]
    for rank, given in zip(ranks, ([0, 5, 0], [5, 0, 5], [0, 0, 0]), strict=True):
        number = rank.collective("MPI_Neighbor_alltoall", 10, 20, given=sum(given))
        if any(given):
            rank.shares(number, given)
    assert collective_matrix(make_run(*ranks)).rows() == [(0, 1, 1, 5), (1, 0, 1, 5), (1, 2, 1, 5)]


def test_members_of_a_communicator_are_ranks_of_the_run() -> None:
    ranks = [Rank(rank) for rank in range(4)]
    for rank in (ranks[3], ranks[1]):
        rank.members(5, [3, 1])
        rank.collective("MPI_Allreduce", 10, 20, given=8, communicator=5)
    assert collective_matrix(make_run(*ranks)).rows() == [(1, 3, 1, 8), (3, 1, 1, 8)]


def test_sizes_are_counted_in_powers_of_two() -> None:
    ranks = [Rank(0), Rank(1)]
    for tag, size in enumerate((0, 1, 2, 3, 16, 31, 31)):
        ranks[0].send(10 * tag, 10 * tag + 5, 1, size, tag=tag)
        ranks[1].receive(10 * tag, 10 * tag + 5, 0, size, tag=tag)
    assert size_histogram(make_run(*ranks)).rows() == [
        *[(0, 1, 1, 0), (1, 2, 1, 1), (2, 4, 2, 5), (4, 8, 0, 0), (8, 16, 0, 0), (16, 32, 3, 78)]
    ]


def test_a_run_without_messages_has_no_sizes() -> None:
    run = make_run(Rank(0))
    assert size_histogram(run).height == message_matrix(run).height == collective_matrix(run).height == 0


def test_of_very_many_ranks_collectives_are_between_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = [Rank(rank) for rank in range(7)]
    for rank in ranks:
        rank.collective("MPI_Allreduce", 10, 20, given=8 * (rank.rank + 1))
        rank.collective("MPI_Gather", 30, 40, given=5, peer=2)
        rank.collective("MPI_Bcast", 50, 60, given=3 if rank.rank == 6 else 0, peer=6)
    run = make_run(*ranks)
    pairs = collective_matrix(run)
    monkeypatch.setattr(rank_groups, "PAIRED_RANKS_MAX", 4)
    each = rank_groups.pair_group(7)
    assert each == 2
    expected = (
        pairs.with_columns(pl.col("source", "destination") // each * each)
        .group_by("source", "destination")
        .agg(pl.col("messages", "bytes").sum())
        .sort("source", "destination")
    )
    assert collective_matrix(run).rows() == expected.rows()
    matrix = rank_groups.group_matrix(collective_matrix(run), 7, 3)
    assert matrix.each == 4
    assert matrix.bytes.sum() == pairs["bytes"].sum()
    assert (matrix.bytes == rank_groups.group_matrix(pairs, 7, 3).bytes).all()
