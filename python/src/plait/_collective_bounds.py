# SPDX-License-Identifier: Apache-2.0
"""What the bytes of a collective need by messages: the least time of the known algorithms.

Pure functions.

The network is that of LogGP (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman: "LogGP: Incorporating
long messages into the LogP model", SPAA 1995), with the costs that `plait fit` fits. The algorithms are
those that MPI libraries have: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
communication operations in MPICH", Int. J. of High Performance Computing Applications 19 (2005) 49; and
pipelines of segments, E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication:
theory, practice, and experience", Concurrency and Computation 19 (2007) 1749. Arithmetic of reductions
is not counted, nor copies within a rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from plait._collective_names import plain_name
from plait._fit import Costs

#: Segments that pipelines are tried with.
_SEGMENTS = (4 << 10, 32 << 10, 256 << 10)


@dataclass(frozen=True)
class Bound:
    time_ns: float
    algorithm: str


@dataclass(frozen=True)
class Exchange:
    """`members` ranks, with blocks of `block_bytes`: to all (broadcast), from each, or to each."""

    members: int
    block_bytes: float


def collective_bound(function: str, exchange: Exchange, costs: Costs) -> Bound | None:
    """The least time, and the algorithm that has it. None: a function whose messages are not known; and
    with one member.

    `function`: as MPI names it ("MPI_Bcast"); a non-blocking or persistent one needs as much. Blocks of
    functions with a count for each member are taken to be equal: give their mean. Of neighbourhood
    collectives the members are a rank and its neighbours.
    """
    algorithms = _ALGORITHMS.get(plain_name(function))
    if algorithms is None or exchange.members < 2:
        return None
    network = _Network(costs)
    found = [Bound(time(network, exchange), name) for name, time in algorithms.items()]
    return min(found, key=lambda bound: bound.time_ns)


@dataclass(frozen=True)
class _Network:
    costs: Costs

    def message(self, payload_bytes: float) -> float:
        return self.costs.time_ns(math.ceil(payload_bytes))

    def interval(self, payload_bytes: float) -> float:
        """Between two messages that one rank sends, or receives, one after another."""
        costs = self.costs
        overhead = max(costs.send_overhead_ns, costs.receive_overhead_ns, costs.gap_ns)
        return overhead + costs.moving_time_ns(math.ceil(payload_bytes))


def _rounds(exchange: Exchange) -> int:
    return math.ceil(math.log2(exchange.members))


def _tree(network: _Network, exchange: Exchange) -> float:
    """The whole block in each of log2 rounds."""
    return _rounds(exchange) * network.message(exchange.block_bytes)


def _doubling(network: _Network, exchange: Exchange) -> float:
    """Twice as many blocks in each round, until all are there; the same backwards: halving."""
    left, time, blocks = exchange.members - 1, 0.0, 1
    while left > 0:
        sent = min(blocks, left)
        time += network.message(sent * exchange.block_bytes)
        left, blocks = left - sent, 2 * blocks
    return time


def _one_by_one(network: _Network, exchange: Exchange) -> float:
    """One rank sends to all others, or receives from all."""
    further = exchange.members - 2
    return network.message(exchange.block_bytes) + further * network.interval(exchange.block_bytes)


def _ring(network: _Network, exchange: Exchange) -> float:
    return (exchange.members - 1) * network.message(exchange.block_bytes)


def _parts(exchange: Exchange) -> Exchange:
    return Exchange(exchange.members, exchange.block_bytes / exchange.members)


def _scattered_and_gathered(network: _Network, exchange: Exchange) -> float:
    parts = _parts(exchange)
    gathered = min(_ring(network, parts), _doubling(network, parts))
    return _doubling(network, parts) + gathered


def _pipeline(network: _Network, exchange: Exchange) -> float:
    """From member to member in segments."""
    times = []
    for segment in _SEGMENTS:
        count = max(1, math.ceil(exchange.block_bytes / segment))
        length = min(segment, exchange.block_bytes)
        first = (exchange.members - 1) * network.message(length)
        times.append(first + (count - 1) * network.interval(length))
    return min(times)


def _halved(network: _Network, exchange: Exchange) -> float:
    return _doubling(network, _parts(exchange))


def _halved_and_gathered(network: _Network, exchange: Exchange) -> float:
    return 2 * _halved(network, exchange)


def _ring_of_parts(network: _Network, exchange: Exchange) -> float:
    return 2 * _ring(network, _parts(exchange))


def _bruck_exchange(network: _Network, exchange: Exchange) -> float:
    """Half of all blocks in each of log2 rounds."""
    half = math.ceil(exchange.members / 2) * exchange.block_bytes
    return _rounds(exchange) * network.message(half)


def _empty_rounds(network: _Network, exchange: Exchange) -> float:
    return _rounds(exchange) * network.message(0)


_Time = Callable[[_Network, Exchange], float]
_ROOTED: dict[str, _Time] = {"binomial tree": _doubling, "one by one": _one_by_one}
_TO_EACH: dict[str, _Time] = {
    "pairwise exchange": _ring,
    "all at once": _one_by_one,
    "Bruck": _bruck_exchange,
}
_GATHERED_BY_ALL: dict[str, _Time] = {
    "recursive doubling": _doubling,
    "ring": _ring,
    "all at once": _one_by_one,
}
_PREFIX: dict[str, _Time] = {"recursive doubling": _tree, "pipeline": _pipeline}
_SCATTERED_SUM: dict[str, _Time] = {"recursive halving": _doubling, "pairwise exchange": _ring}
_AMONG_NEIGHBOURS: dict[str, _Time] = {"all at once": _one_by_one}
_ALGORITHMS: dict[str, dict[str, _Time]] = {
    "barrier": {"dissemination": _empty_rounds},
    "bcast": {
        "binomial tree": _tree,
        "one by one": _one_by_one,
        "scatter and allgather": _scattered_and_gathered,
        "pipeline": _pipeline,
    },
    "gather": _ROOTED,
    "gatherv": _ROOTED,
    "scatter": _ROOTED,
    "scatterv": _ROOTED,
    "allgather": _GATHERED_BY_ALL,
    "allgatherv": _GATHERED_BY_ALL,
    "alltoall": _TO_EACH,
    "alltoallv": _TO_EACH,
    "alltoallw": _TO_EACH,
    "reduce": {
        "binomial tree": _tree,
        "halving and gather": _halved_and_gathered,
        "pipeline": _pipeline,
    },
    "allreduce": {
        "recursive doubling": _tree,
        "halving and doubling": _halved_and_gathered,
        "ring": _ring_of_parts,
    },
    "reduce_scatter": _SCATTERED_SUM,
    "reduce_scatter_block": _SCATTERED_SUM,
    "scan": _PREFIX,
    "exscan": _PREFIX,
    "neighbor_allgather": _AMONG_NEIGHBOURS,
    "neighbor_allgatherv": _AMONG_NEIGHBOURS,
    "neighbor_alltoall": _AMONG_NEIGHBOURS,
    "neighbor_alltoallv": _AMONG_NEIGHBOURS,
    "neighbor_alltoallw": _AMONG_NEIGHBOURS,
}
