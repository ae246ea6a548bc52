# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import trace_writer as w
from mpi_runs import Rank, halo, make_run
from synthetic import Ring
from synthetic_mpi import HaloProgram

from plait import read_run
from plait._events import Run
from plait.measures import losses as names
from plait.measures.loss_sentences import describe_loss, heading, largest_losses
from plait.measures.losses import Loss, Losses
from plait.report.analysis import analyse

MS = 1_000_000


def losses_of(run: Run) -> Losses:
    return analyse(run, Path("run"), None).losses


def named(losses: Losses) -> dict[str, Loss]:
    return {loss.name: loss for loss in losses.found}


def late_sender(seconds: float = 0.2, times: int = 1) -> list[Rank]:
    """Rank 0 computes before it sends; rank 1 waits for the message."""
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
    now, late = 1000, int(seconds * 1e9)
    for step in range(times):
        ranks[0].send(now + late, now + late + 100, 1, 64, tag=step)
        ranks[1].receive(now, now + late + 1000, 0, 64, tag=step)
        now += late + 1000
    for rank in ranks:
        rank.finalise(now, now + 1000)
    return ranks


def at_barrier(computing_ms: list[int], steps: int = 10) -> list[Rank]:
    """In each step each rank computes as long as given, then all meet at a barrier of 10 us."""
    ranks = [Rank(number) for number in range(len(computing_ms))]
    for rank in ranks:
        rank.initialise(1000)
    now = 1000
    for step in range(steps):
        last = now + max(computing_ms) * MS
        for rank, length in zip(ranks, computing_ms, strict=True):
            rank.collective("MPI_Barrier", now + length * MS, last + 10_000, count=step, communicator=0)
        now = last + 10_000
    for rank in ranks:
        rank.finalise(now, now + 1000)
    return ranks


def test_a_late_sender_of_200_ms_costs_the_receiver_all_of_it() -> None:
    found = losses_of(make_run(*late_sender()))
    loss = found.largest[0]
    assert loss.name == names.LATE_SENDERS
    assert loss.lost_ns == pytest.approx(200 * MS, rel=1e-3)
    assert loss.share == pytest.approx(0.5, rel=1e-3)
    assert (loss.rank, loss.caused) == (0, 1.0)
    # Of the 200 ms that rank 0 computes alone, both could compute one half.
    assert loss.gain_ns == pytest.approx(100 * MS, rel=1e-2)


def test_a_rank_that_computes_longest_is_named_with_what_balance_gains() -> None:
    run = make_run(*at_barrier([10, 10, 10, 18]))
    found = losses_of(run)
    (loss,) = found.largest
    assert loss.name == names.LATE_AT_COLLECTIVES
    assert loss.lost_ns == 3 * 8 * MS * 10
    assert loss.rank == 3
    assert loss.computes == pytest.approx(18 / 12)
    assert loss.gain_ns == pytest.approx((18 - 12) * MS * 10, rel=1e-6)
    text = largest_losses(run, found)[0]
    assert text.startswith(
        "1. Ranks wait in collective operations for rank 3, which comes last, and it computes 1.50 "
        "times as long as the mean. That takes 33 % of the run: 60 ms of 180 ms for the mean thread. "
        "If all ranks computed equally long, the run would take about 120 ms."
    )
    assert text.endswith("What to do: give rank 3 less of the work, and the others more.")


def test_ranks_that_are_late_in_turns_gain_nothing_from_balance() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
    now = 1000
    for step in range(20):
        for rank in ranks:
            length = 10 * MS if step % 2 == rank.rank else 6 * MS
            rank.collective("MPI_Barrier", now + length, now + 10 * MS + 10, count=step, communicator=0)
        now += 10 * MS + 10
    for rank in ranks:
        rank.finalise(now, now + 1000)
    run = make_run(*ranks)
    (loss,) = losses_of(run).largest
    assert loss.lost_ns == 20 * 4 * MS
    assert (loss.rank, loss.gain_ns) == (-1, 0)
    text = describe_loss(run, losses_of(run), loss)
    assert "not always the same" in text.what
    assert "ranks compute about equally long" in text.gain


def test_data_that_no_call_moves_is_unpolled() -> None:
    found = losses_of(make_run(*halo(200, moving=100_000)))
    assert found.largest[0].name == names.UNPOLLED
    assert found.largest[0].share == pytest.approx(0.198, abs=0.003)
    assert losses_of(make_run(*halo(200, progress=True))).largest == ()


def test_collectives_that_are_slow_in_themselves_are_compared_with_the_quickest() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
    now = 1000
    for step in range(40):
        took = MS if step < 10 else 5 * MS
        for rank in ranks:
            rank.collective(
                *("MPI_Allreduce", now + 10 * MS, now + 10 * MS + took),
                **{"count": step, "communicator": 0, "given": 8},
            )
        now += 10 * MS + took
    for rank in ranks:
        rank.finalise(now, now + 1000)
    (loss,) = losses_of(make_run(*ranks)).largest
    assert loss.name == names.COLLECTIVES
    assert loss.lost_ns == 2 * (10 * MS + 30 * 5 * MS)
    assert loss.gain_ns == 30 * 4 * MS


def test_small_messages_cost_what_posting_them_takes() -> None:
    ranks = [Rank(0), Rank(1)]
    for rank in ranks:
        rank.initialise(1000)
    now = 1000
    for step in range(10):
        sent, received = {}, {}
        for rank in ranks:
            peer = 1 - rank.rank
            sent[rank.rank] = [
                rank.isend(now + 20_000 * i, peer, 8, tag=100 * step + i, cost=10_000) for i in range(50)
            ]
            received[rank.rank] = [
                rank.irecv(now + 20_000 * i + 10_000, peer, 8, tag=100 * step + i, cost=9_000)
                for i in range(50)
            ]
        for rank in ranks:
            rank.wait(now + MS, now + MS + 1000, sent[rank.rank], received[rank.rank])
        now += MS + 1000
    for rank in ranks:
        rank.finalise(now, now + 1000)
    loss = named(losses_of(make_run(*ranks)))[names.SMALL_MESSAGES]
    assert loss.lost_ns == 2 * 10 * 49 * 19_000
    assert loss.gain_ns == 10 * 49 * 19_000


def test_more_ranks_than_cores_lose_what_has_no_core() -> None:
    run = make_run(*at_barrier([10, 10, 10, 10]))
    crowded = replace(run, meta={**run.meta, "cores": 2, "hosts": ["one"] * 4})
    loss = losses_of(crowded).largest[0]
    assert loss.name == names.CROWDED
    assert loss.lost_ns == pytest.approx(4 * 10 * 10 * MS / 2, rel=1e-3)
    assert loss.gain_ns == pytest.approx(10 * 10 * MS / 2, rel=1e-3)
    spread = replace(run, meta={**run.meta, "cores": 2, "hosts": ["one", "one", "two", "two"]})
    for roomy in (run, spread):
        assert names.CROWDED not in named(losses_of(roomy))


def test_recording_costs_what_each_record_takes() -> None:
    loss = named(losses_of(make_run(*at_barrier([1, 1], steps=1000))))[names.RECORDING]
    assert loss.lost_ns == 2 * 1002 * names.RECORD_NS


def test_a_worker_that_waits_between_its_tasks_is_starved_and_unpolled_in_gaps(tmp_path: Path) -> None:
    """In each step rank 0 computes 4 ms, rank 1 8 ms; a short task ends the step on both."""
    for rank, length in ((0, 4 * MS), (1, 8 * MS)):
        records = w.name(0, 1, "work")
        for step in range(5):
            start = step * 9 * MS + 1
            end = start + 9 * MS
            records += w.task(1, start, start + length, id_=step + 1, step=step)
            records += w.task(1, end - 1000, end, id_=100 + step, step=step)
        if rank == 0:
            records += w.gap(4 * MS, 6 * MS)  # beside the task, which ends at 4 ms and 1 ns
        w.write_rank(tmp_path, rank, 2, {0: records})
    w.write_meta(tmp_path, 2)
    lost = named(losses_of(read_run(tmp_path)))
    assert lost[names.UNPOLLED].lost_ns == pytest.approx(2 * MS, rel=1e-5)
    starved = lost[names.STARVED]
    assert starved.lost_ns == pytest.approx(5 * (5 + 1) * MS - 2 * MS, rel=1e-3)
    assert starved.gain_ns == pytest.approx(5 * 1 * MS, rel=1e-2)


def test_workers_without_a_task_at_the_end_of_steps_are_uneven_work(tmp_path: Path) -> None:
    for rank, length in ((0, 4 * MS), (1, 8 * MS)):
        records = w.name(0, 1, "work")
        for worker, own in ((0, length), (1, MS)):
            records += w.task(1, 1, 1 + own, id_=worker + 1, worker=worker)
        w.write_rank(tmp_path, rank, 2, {0: records})
    w.write_meta(tmp_path, 2, 2)
    found = losses_of(read_run(tmp_path))
    loss = named(found)[names.UNEVEN_WORK]
    assert loss.rank == 1
    assert loss.computes == pytest.approx(9 / 7)
    assert loss.gain_ns == pytest.approx((9 - 7) / 2 * MS, rel=1e-3)


def test_nothing_lost_is_reported() -> None:
    run = make_run(*at_barrier([100, 100]))
    (text,) = largest_losses(run, losses_of(run))
    assert text.startswith("No loss takes more than 2 % of the run")
    assert heading(losses_of(run)) == "Where time is lost"


def test_a_run_of_neither_calls_nor_tasks_has_no_losses() -> None:
    empty = Losses(0, 0, 0)
    assert largest_losses(Run({}, 1, (0,)), empty) == []


@pytest.mark.parametrize("seed", range(6))
def test_no_moment_is_in_two_losses(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    program = HaloProgram(
        ranks=int(random.integers(2, 9)), seed=seed, uneven=float(random.uniform(0, 3))
    )
    cores = int(random.integers(1, 9))
    run = read_run(program.write(tmp_path / "calls", cores=cores, hosts=["one"] * program.ranks))
    ring = Ring(ranks=2, workers=2, seed=seed)
    ring.run(10)
    for one in (run, read_run(ring.write(tmp_path / "tasks"))):
        found = losses_of(one)
        assert sum(loss.share for loss in found.found) <= 1.0 + 1e-9
        assert sum(loss.lost_ns for loss in found.found) <= found.whole_ns
        for loss in found.found:
            assert 0 <= loss.gain_ns <= found.length_ns
            assert loss.gain_ns <= loss.lost_ns / found.threads + 1
            assert str(describe_loss(one, found, loss))
    calls = analyse(run, Path("run"), None).calls
    late = sum(named(losses_of(run))[name].lost_ns for name in named(losses_of(run)) if "late" in name)
    assert late == int(calls.waits.select(pl.col("lost_ns").sum()).item())
