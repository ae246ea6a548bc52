# SPDX-License-Identifier: Apache-2.0
"""Lateness and slowness of collectives are separated, with their costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from mpi_runs import Rank, make_run

from plait._errors import PlaitError
from plait._events import Run
from plait._fit import Costs, to_platform
from plait.measures.calls import parallel_window
from plait.measures.collective_findings import (
    CollectiveTimes,
    find_slow_collectives,
    find_slow_structs,
)
from plait.measures.collective_times import collective_groups, team_groups
from plait.measures.communication import measure_calls
from plait.measures.message_times import scattered_messages
from plait.measures.messages import match_messages
from plait.measures.network import Network, keep_measured, measured_file, network_of
from plait.measures.overlap import Link

_US, _MS = 1_000, 1_000_000
_RANKS = 4
#: 1 us and 1 GB/s.
_NETWORK = Network(Costs(500, 250, 250, 0, 0, 1.0, 1 << 50, 0), "a made-up network")


class Program:
    """Ranks that compute and take part in collectives, all of which last until a common end."""

    def __init__(self) -> None:
        self.ranks = [Rank(rank) for rank in range(_RANKS)]
        self.now = 1000
        self.count = 0
        for rank in self.ranks:
            rank.initialise(self.now)

    def collective(
        self,
        name: str,
        took: int,
        *,
        late: dict[int, int] | None = None,
        root: int = -1,
        size: int = 8,
        gaps: bool = False,
    ) -> None:
        """Ends `took` ns after the last has come. `late`: how much later than the others ranks come."""
        comes = [self.now + _MS + (late or {}).get(rank, 0) for rank in range(_RANKS)]
        end = max(comes) + took
        for rank, start in zip(self.ranks, comes, strict=True):
            bytes_of = {"given": size, "got": size}
            if root >= 0:
                gives = rank.rank == root
                bytes_of = {"given": size if gives else 0, "got": 0 if gives else size, "peer": root}
            number = rank.collective(name, start, end, count=self.count, **bytes_of)
            if gaps:
                rank.layout(number)
        self.count += 1
        self.now = end

    def in_pairs(self, took: dict[int, int]) -> None:
        """A sum on communicator 5 of ranks 0 and 1, and one on 6 of ranks 2 and 3, at the same time."""
        start = self.now + _MS
        ends = {communicator: start + time for communicator, time in took.items()}
        for rank in self.ranks:
            communicator = 5 if rank.rank < 2 else 6
            end = ends[communicator]
            what = {"count": self.count, "communicator": communicator, "given": 8, "got": 8}
            rank.collective("MPI_Allreduce", start, end, **what)
        self.count += 1
        self.now = max(ends.values())

    def begun(
        self,
        took: int,
        *,
        computes: dict[int, int] | None = None,
        late: dict[int, int] | None = None,
        tests: int = 0,
    ) -> None:
        """A non-blocking sum that ends `took` ns after all have waited for it. `computes`: how long
        ranks compute between beginning it and waiting for it."""
        starts = [self.now + _MS + (late or {}).get(rank, 0) for rank in range(_RANKS)]
        waits = [start + 10 + (computes or {}).get(rank, 0) for rank, start in enumerate(starts)]
        end = max(waits) + took
        for rank, start, wait in zip(self.ranks, starts, waits, strict=True):
            size = {"given": 8, "got": 8, "count": self.count, "tests": tests}
            rank.begun_collective("MPI_Iallreduce", start, wait, end, **size)
        self.count += 1
        self.now = end

    def among_neighbours(self, took: int, *, late: dict[int, int] | None = None) -> None:
        """On a ring: each gives 4 KiB to the two beside it, and leaves `took` ns after both came."""
        comes = [self.now + _MS + (late or {}).get(rank, 0) for rank in range(_RANKS)]
        ends = []
        for rank in self.ranks:
            beside = [(rank.rank + step) % _RANKS for step in (-1, 1)]
            ends.append(max(comes[one] for one in (rank.rank, *beside)) + took)
            shares = [4096 * (one in beside) for one in range(_RANKS)]
            size = {"given": 8192, "got": 8192, "count": self.count}
            start = comes[rank.rank]
            rank.shares(rank.collective("MPI_Neighbor_alltoall", start, ends[-1], **size), shares)
        self.count += 1
        self.now = max(ends)

    def findings(self, network: Network = _NETWORK) -> list[str]:
        return self.of_run(self.run(), network)

    def groups(self) -> pl.DataFrame:
        run = self.run()
        calls = measure_calls(run, match_messages(run.messages), parallel_window(run))
        return collective_groups(run, calls.collectives, _NETWORK)

    @staticmethod
    def of_run(run: Run, network: Network) -> list[str]:
        window = parallel_window(run)
        calls = measure_calls(run, match_messages(run.messages), window)
        groups = collective_groups(run, calls.collectives, network)
        teams = team_groups(run, calls.collectives, groups, network)
        length = window[1] - window[0]
        return find_slow_collectives(CollectiveTimes(run, groups, teams, network, length))

    def run(self) -> Run:
        for rank in self.ranks:
            rank.finalise(self.now, self.now + 1000)
        return make_run(*self.ranks)


def test_names_a_slow_broadcast_with_its_cost() -> None:
    program = Program()
    for _ in range(80):
        program.collective("MPI_Bcast", 40 * _MS, root=0, size=64 << 10)
        program.collective("MPI_Allreduce", 8 * _US)
    (sentence,) = program.findings()
    assert sentence.startswith(
        "MPI_Bcast at program+0x60 of 64 KiB on 4 ranks is slow: 40 ms each after all had arrived, "
    )
    assert "3.2 s of the run, in 80 calls. What bytes need is by a made-up network." in sentence
    # 16 segments of 4 KiB: the first through 3 ranks at 5.1 us each, the others 4.3 us apart.
    assert "497 times the 80.5 µs that its bytes need by messages (pipeline)" in sentence


def test_names_the_rank_that_comes_late_and_not_the_collective() -> None:
    program = Program()
    for _ in range(92):
        program.collective("MPI_Allreduce", 8 * _US, late={3: 12 * _MS})
    assert program.findings() == [
        "Rank 3 arrives 12 ms late in MPI_Allreduce at program+0x60: 1.1 s of the run, "
        "in 92 of 92 calls."
    ]


def test_waits_for_the_root_of_a_broadcast_only() -> None:
    late_root, late_leaf = Program(), Program()
    for _ in range(50):
        late_root.collective("MPI_Bcast", 8 * _US, root=2, size=8, late={2: 5 * _MS})
        late_leaf.collective("MPI_Bcast", 8 * _US, root=2, size=8, late={1: 5 * _MS})
    assert late_root.findings() == [
        "Rank 2 arrives 5 ms late in MPI_Bcast at program+0x60: 250 ms of the run, in 50 of 50 calls."
    ]
    assert late_leaf.findings() == []


def test_names_nothing_in_a_run_without_defect() -> None:
    program = Program()
    for step in range(100):
        program.collective("MPI_Bcast", 110 * _US, root=0, size=64 << 10)
        # Each rank in turn comes late, and one call in ten waits for a core.
        late = {step % _RANKS: 2 * _MS}
        program.collective("MPI_Allreduce", 8 * _MS if step % 10 == 0 else 8 * _US, late=late)
    assert program.findings() == []


def test_names_structs_that_take_longer_than_the_same_bytes_without_gaps() -> None:
    program = Program()
    for _ in range(80):
        program.collective("MPI_Bcast", 900 * _US, root=0, size=64 << 10, gaps=True)
        program.collective("MPI_Bcast", 300 * _US, root=0, size=64 << 10)
    (sentence,) = program.findings()
    assert sentence.startswith(
        "MPI_Bcast at program+0x60 of 64 KiB in structs with gaps on 4 ranks takes 3.0 times what the "
        "same bytes take without gaps in this run, 900 µs in the place of 300 µs after all had arrived: "
        "48 ms of the run, in 80 calls."
    )


def test_structs_alone_are_held_against_what_their_bytes_need() -> None:
    program = Program()
    for _ in range(80):
        program.collective("MPI_Bcast", 900 * _US, root=0, size=64 << 10, gaps=True)
    (sentence,) = program.findings()
    assert "of 64 KiB in structs with gaps on 4 ranks is slow: 900 µs each" in sentence


def test_names_the_communicator_on_which_a_collective_is_slow() -> None:
    program = Program()
    for rank in program.ranks:
        rank.members(5, [0, 1])
        rank.members(6, [2, 3])
    for _ in range(50):
        program.in_pairs({5: 8 * _US, 6: 4 * _MS})
    (sentence,) = program.findings()
    assert "MPI_Allreduce at program+0x60 of 8 B on 2 ranks (rank 2, 3) is slow: 4 ms each" in sentence
    assert "200 ms of the run, in 50 calls." in sentence
    assert "Only on these ranks: on other communicators of 2 ranks it takes 8 µs." in sentence


def test_names_a_collective_that_is_slow_on_a_part_of_the_ranks_only() -> None:
    program = Program()
    for rank in program.ranks:
        rank.members(5, [0, 1])
        rank.members(6, [2, 3])
    for _ in range(50):
        program.in_pairs({5: 4 * _MS, 6: 4 * _MS})
        program.collective("MPI_Allreduce", 9 * _US)
    (sentence,) = program.findings()
    # Both communicators at the same time: 50 times 4 ms, not 100.
    assert "on 2 ranks is slow: 4 ms each" in sentence and "200 ms of the run, in 50 calls." in sentence
    assert "Only on communicators of this size: on 4 ranks it takes 9 µs." in sentence


def test_a_non_blocking_collective_that_is_done_while_ranks_compute_is_not_slow() -> None:
    program = Program()
    for _ in range(50):
        program.begun(2 * _US, computes=dict.fromkeys(range(_RANKS), 5 * _MS))
    assert program.findings() == []
    groups = program.groups()
    assert groups["hidden_ns"].item() == pytest.approx(50 * 5 * _MS, rel=1e-3)
    assert groups["in_calls_ns"].item() == pytest.approx(50 * (2 * _US + 10), rel=1e-3)


def test_names_a_slow_non_blocking_collective() -> None:
    program = Program()
    for _ in range(50):
        program.begun(4 * _MS, computes=dict.fromkeys(range(_RANKS), 5 * _MS))
    (sentence,) = program.findings()
    assert "MPI_Iallreduce at program+0x60 of 8 B on 4 ranks is slow: 4 ms each" in sentence
    assert "after all waited for it" in sentence and "200 ms of the run, in 50 calls." in sentence


@pytest.mark.parametrize("tests", [0, 3])
def test_names_a_non_blocking_collective_without_progress(tests: int) -> None:
    program = Program()
    for _ in range(50):
        program.begun(8 * _US, computes={3: 5 * _MS}, tests=tests)
    (sentence,) = program.findings()
    assert sentence.startswith(
        "MPI_Iallreduce at program+0x60 of 8 B on 4 ranks makes no progress while ranks compute: the "
        "others wait 5 ms each after all had begun it"
    )
    assert "250 ms of the run, in 50 calls. Of the time from its beginning to its completion, 25 %" in (
        sentence
    )


def test_names_the_rank_that_begins_a_non_blocking_collective_late() -> None:
    program = Program()
    for _ in range(50):
        program.begun(8 * _US, late={2: 6 * _MS}, computes=dict.fromkeys((0, 1, 3), 1 * _MS))
    (sentence,) = program.findings()
    assert sentence == (
        "Rank 2 begins so late that others wait 5 ms for it in MPI_Iallreduce at program+0x60: 250 ms "
        "of the run, in 50 of 50 calls."
    )


def test_a_rank_of_a_neighbourhood_waits_for_its_neighbours_only() -> None:
    program = Program()
    for _ in range(50):
        program.among_neighbours(20 * _US, late={1: 3 * _MS})
    assert program.findings() == [
        "Rank 1 arrives 3 ms late in MPI_Neighbor_alltoall at program+0x60: 150 ms of the run, in 50 of "
        "50 calls."
    ]


def test_names_a_slow_neighbourhood_collective_by_what_its_neighbours_need() -> None:
    program = Program()
    for _ in range(50):
        program.among_neighbours(4 * _MS)
    (sentence,) = program.findings()
    # Two messages of 4 KiB in a row: 5.1 us, and 4.3 us later.
    assert "MPI_Neighbor_alltoall at program+0x60 of 4 KiB on 4 ranks is slow: 4 ms each" in sentence
    assert "the 9.44 µs that its bytes need by messages (all at once)" in sentence


@pytest.mark.parametrize(("size", "names"), [(1 << 10, True), (1 << 20, False)])
def test_takes_sizes_apart(size: int, names: bool) -> None:
    program = Program()
    for _ in range(50):
        program.collective("MPI_Allreduce", 4 * _MS, size=size)
        program.collective("MPI_Allreduce", 8 * _US, size=8)
    assert bool(program.findings()) == names


def test_the_network_is_of_the_best_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    meta = {"hosts": ["one", "one"], "mpi": "Some MPI 1.0"}
    assert "nothing was measured" in network_of(tmp_path, meta, None).source
    of_run = network_of(tmp_path, meta, Link(800.0, 2.0))
    assert (of_run.costs.time_ns(1), of_run.costs.gap_per_byte_ns) == (800, 0.5)
    costs = replace(_NETWORK.costs, latency_ns=1234)
    keep_measured(measured_file(["one"], "Some MPI 1.0"), to_platform("measured", costs, costs))
    assert network_of(tmp_path, meta, Link(800.0, 2.0)).costs.latency_ns == 1234
    assert network_of(tmp_path, {**meta, "mpi": "Some MPI 2.0"}, None).costs.latency_ns == 500
    (tmp_path / "platform.json").write_text("{}")
    with pytest.raises(PlaitError, match=r"platform\.json cannot be read as a platform"):
        network_of(tmp_path, meta, None)


def exchange(gaps_take: int) -> list[str]:
    """Two ranks: 100 messages of doubles in 20 us each, and 100 of structs of the same bytes."""
    ranks = [Rank(0), Rank(1)]
    now = 1000
    for rank in ranks:
        rank.initialise(now)
    for message in range(200):
        took = gaps_take if message % 2 else 20 * _US
        ranks[1].receive(now, now + 100 + took, 0, 64 << 10, tag=message)
        ranks[0].send(now + 100, now + 100 + took, 1, 64 << 10, tag=message, gaps=message % 2 == 1)
        now += 200 * _US + took
    for rank in ranks:
        rank.finalise(now, now + 1000)
    run = make_run(*ranks)
    window = parallel_window(run)
    matched = match_messages(run.messages)
    calls = measure_calls(run, matched, window)
    return find_slow_structs(
        run, scattered_messages(matched, calls.sides, _NETWORK), window[1] - window[0]
    )


def test_names_messages_of_structs_that_take_longer_than_doubles() -> None:
    (sentence,) = exchange(gaps_take=200 * _US)
    assert sentence.startswith(
        "Messages of 64 KiB in a datatype with gaps at program+0x40 take 200 µs, 10 times the 20 µs of "
        "contiguous ones of this run: 18 ms of the run, in 100 messages."
    )


def test_does_not_name_structs_that_are_as_quick_as_doubles() -> None:
    assert exchange(gaps_take=25 * _US) == []
