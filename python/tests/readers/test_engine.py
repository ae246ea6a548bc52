# SPDX-License-Identifier: Apache-2.0
"""Programs recorded while they were accelerated: their messages, joined with those of the engine."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import polars as pl
import pytest
import trace_writer as w

from plait import read_run
from plait._events import Run

BEGINS, COMPLETES, MESSAGE, ENDS = 1, 2, 3, 9
INIT, ISEND, WAIT, FINALIZE = range(4)
NAMES = b"".join(
    w.name(3, i, text) for i, text in enumerate(("MPI_Init", "MPI_Isend", "MPI_Wait", "MPI_Finalize"))
)
#: Time 0 of the engine's file, on the clock of the program's; 0 where they are one file.
SINCE = 0
FOLDER_SINCE = -4000
AGREEMENT = 0x2000_0001
END = 1_000_000


@pytest.fixture(autouse=True, params=["one file", "a folder of the engine's"])
def since(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings were in two files once."""
    since_ns = 0 if request.param == "one file" else FOLDER_SINCE
    monkeypatch.setattr(sys.modules[__name__], "SINCE", since_ns)


def posted(number: int, at: int, done: int, *, size: int = 8, received: int = 0) -> bytes:
    times = (at, 0, 0, done)
    return w.message(received, 0, number, size, times, protocol=3, flags=1)


def moved(times: tuple[int, int, int, int], **more: int) -> bytes:
    """By the engine; times of the program's file."""
    direction, size = more.pop("received", 0), more.pop("size", 8)
    posted_at, *others = (time - SINCE for time in times)
    return w.message(direction, 0, 0, size, (posted_at, *others), **more)  # type: ignore[arg-type]


def call(number: int, at: int, until: int, what: int = BEGINS, function: int = ISEND) -> bytes:
    return w.call(what, function, at, until, number=number)


def write(folder: Path, program: bytes, engine: bytes | None) -> Path:
    ends = [call(1, 0, 10, ENDS, INIT), call(9999, END, END + 10, ENDS, FINALIZE)]
    threads = {0: NAMES + w.clock(0, 0, 0) + ends[0] + program + ends[1]}
    if engine is not None and SINCE == 0:
        threads[w.OTHER_THREAD] = w.engine(1, 5, carries_calls=True) + engine
    w.write_rank(folder, 0, 1, threads)
    w.write_meta(folder, 1, recorder="mpi")
    if engine is not None and SINCE != 0:
        w.write_rank(folder / "engine", 0, 1, {w.OTHER_THREAD: engine}, clock_ns=w.CLOCK_NS + SINCE)
    return folder


def only(run: Run) -> dict[str, int]:
    assert run.messages.height == 1
    return run.messages.row(0, named=True)


def test_a_message_gets_what_only_the_engine_knows(tmp_path: Path) -> None:
    program = call(2, 100, 120) + posted(2, 100, 900) + call(3, 880, 900, COMPLETES, WAIT)
    run = read_run(write(tmp_path, program, moved((105, 300, 500, 501), protocol=1)))
    message = only(run)
    assert (message["posted_ns"], message["completed_ns"]) == (100, 900)
    assert (message["handed_ns"], message["arrived_ns"], message["protocol"]) == (300, 500, 1)
    engine = run.engine_messages.row(0, named=True)
    assert (engine["number"], engine["posted_ns"], engine["completed_ns"]) == (2, 105, 501)
    assert engine["function"] == run.functions.index("MPI_Isend")


def test_without_the_engine_nothing_is_known(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, call(2, 100, 120) + posted(2, 100, 900), None))
    assert run.engine_messages.height == 0
    assert only(run)["protocol"] == 3


def test_times_stay_in_their_order(tmp_path: Path) -> None:
    program = call(2, 100, 120, MESSAGE) + posted(2, 100, 120)
    message = only(read_run(write(tmp_path, program, moved((105, 110, 150, 200)))))
    assert (message["handed_ns"], message["arrived_ns"]) == (110, 120)


def test_what_differs_is_another_message(tmp_path: Path) -> None:
    program = call(2, 100, 120) + posted(2, 100, 900)
    for other in ({"size": 16}, {"tag": 8}, {"received": 1}):
        run = read_run(write(tmp_path, program, moved((105, 300, 500, 501), **other)))
        assert only(run)["protocol"] == 3, other
        assert run.engine_messages["number"].to_list() == [0]


def test_others_are_the_engine_s_own_and_the_recorder_s_are_left_out(tmp_path: Path) -> None:
    program = call(2, 100, 120) + posted(2, 100, 900) + call(3, 800, 900, COMPLETES, WAIT)
    engine = b"".join(
        moved((at, at + 1, at + 2, at + 3), communicator=AGREEMENT, tag=3)
        for at in (5, 110, 850, END + 5)
    )
    run = read_run(write(tmp_path, program, engine + moved((105, 300, 500, 501))))
    found = run.engine_messages.sort("posted_ns")
    assert found["posted_ns"].to_list() == [105, 110, 850]
    assert found["number"].to_list() == [2, 0, 0]


def test_a_call_that_posts_several_alike_posts_each_once(tmp_path: Path) -> None:
    program = call(2, 100, 150) + b"".join(posted(2 + i, 100, 900 + i) for i in range(3))
    engine = [moved((at, at, at + 100, at + 100)) for at in (110, 120, 130)]
    program += call(5, 890, 910, COMPLETES, WAIT)
    run = read_run(write(tmp_path, program, b"".join(reversed(engine))))
    assert run.engine_messages.sort("posted_ns")["number"].to_list() == [2, 3, 4]
    assert run.messages.sort("number")["arrived_ns"].to_list() == [210, 220, 230]


def test_clocks_that_differ_by_some_nanoseconds_do_not_part_calls_and_engine(tmp_path: Path) -> None:
    program = b"".join(
        call(2 + i, at, at + 20) + posted(2 + i, at, 900) for i, at in enumerate((100, 300))
    )
    engine = b"".join(moved((at, at + 5, at + 100, at + 100)) for at in (100 - 51, 300 - 40))
    run = read_run(write(tmp_path, program, engine))
    assert run.engine_messages.sort("posted_ns")["number"].to_list() == [2, 3]
    assert run.messages["protocol"].to_list() == [0, 0]


def test_poll_gaps_are_the_run_s(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, b"", w.gap(500 - SINCE, 700 - SINCE)))
    assert run.gaps.select("start_ns", "end_ns").rows() == [(500, 700)]


def test_an_unusable_file_is_left_out_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SINCE", FOLDER_SINCE)
    program = call(2, 100, 120) + posted(2, 100, 900)
    folder = write(tmp_path, program, moved((105, 300, 500, 501)))
    path = folder / "engine/rank-0000.plt"
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    run = read_run(folder)
    assert run.engine_messages.height == 0
    assert any(notice.startswith("engine/rank-0000.plt") for notice in run.notices)
    path.write_bytes(w.header(3, 4) + whole[4096:])
    assert "engine/rank-0000.plt claims to be rank 3; it was left out" in read_run(folder).notices


def test_random_messages_are_joined_as_they_were_posted(tmp_path: Path) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        program, engine, now = [], [], 100
        expected: dict[int, int] = {}  # the engine's time of posting: the number
        number = 2
        for _ in range(200):
            begun = now
            several = chance.choice((1, 1, 1, 4))
            details = {"size": chance.choice((8, 16)), "received": chance.choice((0, 1))}
            for _ in range(several):
                now += chance.randint(1, 5)
                program.append(posted(number, begun, END - 1, **details))
                if chance.random() < 0.9 or several > 1:  # some do not go through the engine
                    engine.append(moved((now, now, now + 50, now + 60), **details))
                    expected[now] = number
                elif chance.random() < 0.5:  # and it has some of its own
                    engine.append(moved((now, now, now + 1, now + 1), communicator=AGREEMENT, tag=1))
                    expected[now] = 0
                number += 1
            now += chance.randint(1, 30)
            program.append(call(number - several, begun, now))
        chance.shuffle(engine)
        run = read_run(write(tmp_path / str(seed), b"".join(program), b"".join(engine)))
        found = run.engine_messages.select("posted_ns", "number").rows()
        assert dict(found) == expected
        known = run.messages.filter(pl.col("protocol") == 0)
        assert known.height == sum(number > 0 for number in expected.values())
