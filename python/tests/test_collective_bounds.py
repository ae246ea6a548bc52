# SPDX-License-Identifier: Apache-2.0
"""What the bytes of collectives need by messages, on a network whose times are easy to count."""

from __future__ import annotations

import pytest

from plait._collective_bounds import Bound, Exchange, collective_bound
from plait._fit import Costs

#: 1 us for an empty message, of which each rank has a quarter; 1 ns for a byte.
_COSTS = Costs(500, 250, 250, 0, 0, 1.0, 1 << 50, 0)


def bound_of(function: str, members: int, size: float) -> Bound:
    found = collective_bound(function, Exchange(members, size), _COSTS)
    assert found is not None
    return found


@pytest.mark.parametrize(("members", "rounds"), [(2, 1), (3, 2), (4, 2), (5, 3), (1024, 10)])
def test_a_barrier_takes_an_empty_message_a_round(members: int, rounds: int) -> None:
    assert bound_of("MPI_Barrier", members, 0) == Bound(1000 * rounds, "dissemination")


def test_a_small_broadcast_is_a_tree_and_a_large_one_a_pipeline() -> None:
    assert bound_of("MPI_Bcast", 64, 1) == Bound(6000, "binomial tree")
    large = bound_of("MPI_Bcast", 64, 64 << 20)
    assert large.algorithm == "pipeline"
    assert large.time_ns == pytest.approx(64 << 20, rel=0.1)


@pytest.mark.parametrize("function", ["MPI_Scan", "MPI_Iexscan"])
def test_a_small_prefix_sum_doubles_and_a_large_one_goes_from_rank_to_rank(function: str) -> None:
    assert bound_of(function, 8, 8) == Bound(3 * 1007, "recursive doubling")
    large = bound_of(function, 8, 64 << 20)
    assert large.algorithm == "pipeline"
    assert large.time_ns == pytest.approx(64 << 20, rel=0.1)


def test_two_ranks_exchange_one_message() -> None:
    for function in ("MPI_Bcast", "MPI_Allgather", "MPI_Alltoall", "MPI_Gather", "MPI_Scan"):
        assert bound_of(function, 2, 1001).time_ns == 2000, function


def test_each_rank_receives_all_blocks_of_an_allgather() -> None:
    found = bound_of("MPI_Allgather", 8, 1 << 20)
    assert found.time_ns >= 7 * (1 << 20)
    assert found.time_ns == pytest.approx(7 << 20, rel=0.01)


def test_more_bytes_and_more_members_never_need_less() -> None:
    for function in ("MPI_Bcast", "MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Alltoallv", "MPI_Gatherv"):
        times = [bound_of(function, 8, 1 << power).time_ns for power in range(24)]
        assert times == sorted(times), function
        assert bound_of(function, 4, 4096).time_ns <= bound_of(function, 16, 4096).time_ns, function


@pytest.mark.parametrize("name", ["MPI_Ialltoall", "MPI_Alltoall_init", "MPI_Ialltoall_c"])
def test_all_forms_of_a_collective_need_as_much(name: str) -> None:
    assert bound_of(name, 8, 4096) == bound_of("MPI_Alltoall", 8, 4096)


def test_neighbours_exchange_one_message_each() -> None:
    # The first takes a message's time; each further one a quarter of a microsecond and its bytes.
    assert bound_of("MPI_Ineighbor_alltoallv", 3, 1001).time_ns == 2000 + 1250


def test_knows_no_bound_where_the_messages_are_not_known() -> None:
    assert collective_bound("MPI_Intercomm_merge", Exchange(4, 8), _COSTS) is None
    assert collective_bound("MPI_Bcast", Exchange(1, 8), _COSTS) is None
