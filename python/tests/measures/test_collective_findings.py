# SPDX-License-Identifier: Apache-2.0
"""Lateness and slowness of collectives are separated, with their costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from mpi_runs import Rank, make_run

from plait._errors import PlaitError
from plait._events import Run
from plait._fit import Costs, to_platform
from plait.measures.calls import parallel_window
from plait.measures.collective_findings import find_slow_collectives, find_slow_structs
from plait.measures.collective_times import collective_groups
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
        self, name: str, took: int, *, late: dict[int, int] | None = None, root: int = -1, size: int = 8
    ) -> None:
        """Ends `took` ns after the last has come. `late`: how much later than the others ranks come."""
        comes = [self.now + _MS + (late or {}).get(rank, 0) for rank in range(_RANKS)]
        end = max(comes) + took
        for rank, start in zip(self.ranks, comes, strict=True):
            bytes_of = {"given": size, "got": size}
            if root >= 0:
                gives = rank.rank == root
                bytes_of = {"given": size if gives else 0, "got": 0 if gives else size, "peer": root}
            rank.collective(name, start, end, count=self.count, **bytes_of)
        self.count += 1
        self.now = end

    def findings(self, network: Network = _NETWORK) -> list[str]:
        return self.of_run(self.run(), network)

    @staticmethod
    def of_run(run: Run, network: Network) -> list[str]:
        window = parallel_window(run)
        calls = measure_calls(run, match_messages(run.messages), window)
        groups = collective_groups(run, calls.collectives, network)
        return find_slow_collectives(run, groups, network, window[1] - window[0])

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
