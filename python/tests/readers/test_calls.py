# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
import trace_writer as w
from mpi_runs import halo, write_run

from plait import PlaitError, read_run
from plait import _events as events
from plait.report.analysis import analyse

ISEND, IRECV, WAIT, BARRIER, INIT, FINALIZE, STARTALL = range(1, 8)
FUNCTIONS = {
    ISEND: "MPI_Isend",
    IRECV: "MPI_Irecv",
    WAIT: "MPI_Wait",
    BARRIER: "MPI_Barrier",
    INIT: "MPI_Init",
    FINALIZE: "MPI_Finalize",
    STARTALL: "MPI_Startall",
}
NAMES = b"".join(w.name(3, number, text) for number, text in FUNCTIONS.items())


def write(folder: Path, *ranks: bytes, **changes: object) -> Path:
    w.write_meta(folder, len(ranks), **{"recorder": "mpi", **changes})
    for rank, records in enumerate(ranks):
        ended = w.call(9, FINALIZE, 9000, 9001)
        w.write_rank(folder, rank, len(ranks), {0: NAMES + w.clock(0, 0, 0) + records + ended})
    return folder


def posted(direction: int, peer: int, tag: int, number: int, **more: int) -> bytes:
    begin = 10 * number
    return w.message(
        direction, peer, number, 8, (begin, 0, 0, begin + 5), tag=tag, protocol=3, flags=1, **more
    )


def sent(to: int, tag: int, number: int, **more: int) -> bytes:
    return posted(0, to, tag, number, **more)


def received(source: int, tag: int, number: int, **more: int) -> bytes:
    return posted(1, source, tag, number, **more)


def test_reads_every_field_of_a_call(tmp_path: Path) -> None:
    record = w.call(
        *(3, ISEND, 100, 250),
        **{"thread": 2, "site": 4, "communicator": 6, "given": 1 << 33, "got": 7},
        **{"peer": 1, "number": 9, "count": 3, "repeats": 5},
    )
    run = read_run(write(tmp_path, w.name(4, 4, "ring+0x12f0") + record, b""))
    row = run.calls.row(0, named=True)
    assert run.functions[row.pop("function")] == "MPI_Isend"
    assert run.sites[row.pop("site")].place == "ring+0x12f0"
    assert row == {
        "rank": 0,
        "worker": 2,
        "communicator": 6,
        "class": events.CALL_MESSAGE,
        "start_ns": 100,
        "end_ns": 250,
        "bytes_given": 1 << 33,
        "bytes_got": 7,
        "peer": 1,
        "number": 9,
        "count": 3,
        "repeats": 5,
    }
    assert run.notices == ()


def test_what_a_call_does_not_have_is_minus_one(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, w.call(2, WAIT, 1, 2, communicator=w.NOTHING)))
    assert run.calls.select("site", "peer", "communicator").row(0) == (-1, -1, -1)


def test_reads_members_and_shares_over_several_records(tmp_path: Path) -> None:
    members = [3, 1, 2, 0] * 4
    record = w.communicator(5, members[:8]) + w.shares(3, list(range(100, 114)))
    run = read_run(write(tmp_path, record, w.communicator(5, members[:8]), b"", b"", b"", b"", b"", b""))
    assert run.communicators["rank"].to_list() == members[:8]
    assert run.communicators["index"].to_list() == list(range(8))
    assert run.shares["bytes_given"].to_list() == list(range(100, 114))
    assert run.shares["index"].to_list() == list(range(14))
    assert set(run.shares["number"]) == {3}


def test_sites_are_shown_by_function_and_line_where_known(tmp_path: Path) -> None:
    names = w.name(4, 1, "ring+0x10") + w.name(4, 2, "ring+0x20") + w.name(4, 3, "libm.so+0x30")
    calls = b"".join(w.call(2, WAIT, at, at + 1, site=at) for at in (1, 2, 3))
    write(tmp_path, names + calls)
    (tmp_path / "sites.json").write_text(
        json.dumps(
            {
                "ring+0x10": {"function": "exchange(int)", "file": "src/ring.cpp", "line": 12},
                "libm.so+0x30": {"function": "sum", "file": None, "line": None},
            }
        )
    )
    assert [str(site) for site in read_run(tmp_path).sites] == [
        "exchange (ring.cpp:12)",
        "ring+0x20",
        "sum (libm.so+0x30)",
    ]


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        ("main", "main"),
        ("(anonymous namespace)::ring(int, ompi_communicator_t*)", "ring"),
        ("Fix::setup(std::function<void (int)>) const", "Fix::setup"),
        ("Sum::operator()(int) const", "Sum::operator()"),
        ("Sum::operator()", "Sum::operator()"),
        ("odd)", "odd)"),
    ],
)
def test_functions_are_shown_without_their_parameters(function: str, shown: str) -> None:
    assert str(events.Site("ring+0x10", function, "src/ring.cpp", 3)) == f"{shown} (ring.cpp:3)"


@pytest.mark.parametrize("content", ["", "[]", '{"ring+0x10": 3}', '{"ring+0x10": {"line": "x"}}'])
def test_a_bad_file_of_sites_is_no_obstacle(tmp_path: Path, content: str) -> None:
    write(tmp_path, w.name(4, 1, "ring+0x10") + w.call(2, WAIT, 1, 2, site=1))
    (tmp_path / "sites.json").write_text(content)
    assert [str(site) for site in read_run(tmp_path).sites] == ["ring+0x10"]


def sequences(folder: Path) -> list[list[int]]:
    """Of each rank's messages, in the order in which they were recorded."""
    messages = read_run(folder).messages
    ranks = sorted(messages["rank"].unique())
    return [messages.filter(pl.col("rank") == rank)["sequence"].to_list() for rank in ranks]


# The first four: as in tests/trace/match_by_order_test.cpp.
def test_takes_the_order_of_posting_and_not_that_of_completion(tmp_path: Path) -> None:
    write(tmp_path, sent(1, 5, 12) + sent(1, 5, 10), received(0, 5, 3) + received(0, 5, 2))
    assert sequences(tmp_path) == [[1, 0], [1, 0]]


def test_keeps_tags_sources_and_communicators_apart(tmp_path: Path) -> None:
    write(
        tmp_path,
        sent(2, 1, 1) + sent(2, 2, 2) + sent(1, 1, 3),
        sent(2, 2, 1) + received(0, 1, 9),
        received(1, 2, 1) + received(0, 2, 2) + received(0, 1, 3),
    )
    assert sequences(tmp_path) == [[0, 1, 0], [0, 0], [0, 1, 0]]


def test_numbers_receives_that_nobody_sent_as_no_send_is(tmp_path: Path) -> None:
    write(tmp_path, sent(1, 1, 1), received(0, 1, 1) + received(0, 1, 2) + received(0, 7, 3))
    of_sender, of_receiver = sequences(tmp_path)
    assert of_sender == [0]
    assert of_receiver == [0, 0x80000000, 0x80000001]


def test_leaves_other_messages_alone(tmp_path: Path) -> None:
    write(tmp_path, w.message(0, 0, 41, 8, (1, 2, 3, 4)) + sent(0, 7, 3))
    assert sequences(tmp_path) == [[41, 0]]


def test_matches_messages_whatever_their_tags_and_communicators(tmp_path: Path) -> None:
    """Many of each, so that all labels together do not fit into 31 bits."""
    count = 300
    outward = [sent(1, 2**40 + 17 * n, n, communicator=n * 3) for n in range(1, count + 1)]
    inward = [
        received(0, 2**40 + 17 * n, count + 1 - n, communicator=n * 3) for n in range(1, count + 1)
    ]
    messages = read_run(write(tmp_path, b"".join(outward), b"".join(inward))).messages
    key = ["source", "destination", "communicator", "sequence"]
    both = messages.filter(~pl.col("received")).join(messages.filter("received"), on=key)
    assert both.height == count
    assert (both["tag"] == both["tag_right"]).all()


def test_messages_know_what_posted_them(tmp_path: Path) -> None:
    records = (
        w.name(4, 1, "ring+0x10")
        + w.name(4, 2, "ring+0x20")
        + w.call(1, ISEND, 10, 12, number=1, site=1)
        + w.call(1, STARTALL, 18, 45, number=2, site=2)  # of messages 2 and 3
        + sent(0, 1, 1)
        + sent(0, 1, 2)
        + sent(0, 1, 3)
        + sent(0, 1, 70)  # its call was not recorded
    )
    run = read_run(write(tmp_path, records))
    of = [run.functions[f] if f >= 0 else None for f in run.messages["function"]]
    places = [run.sites[s].place if s >= 0 else None for s in run.messages["site"]]
    assert of == ["MPI_Isend", "MPI_Startall", "MPI_Startall", None]
    assert places == ["ring+0x10", "ring+0x20", "ring+0x20", None]


def test_unfinished_messages_are_told_apart_and_take_part_in_the_matching(tmp_path: Path) -> None:
    first = w.message(1, 0, 1, 8, (10, 0, 0, 0), protocol=3, flags=3)
    write(tmp_path, sent(1, 7, 1) + sent(1, 7, 2), first + received(0, 7, 2))
    messages = read_run(tmp_path).messages.filter("received").sort("number")
    assert messages["unfinished"].to_list() == [True, False]
    assert messages["sequence"].to_list() == [0, 1]
    assert messages["completed_ns"].to_list() == [10, 25]


def test_an_unfinished_receive_from_anyone_has_no_source(tmp_path: Path) -> None:
    record = w.message(1, w.NOTHING, 1, 8, (10, 0, 0, 0), protocol=3, flags=3)
    run = read_run(write(tmp_path, record))
    assert run.messages["source"].to_list() == [-1]
    assert run.notices == ()


def test_the_thread_that_recorded_a_message_is_known(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 1)
    threads = {0: sent(0, 1, 1) * 9, 3: sent(0, 1, 2) * 9, w.OTHER_THREAD: sent(0, 1, 3)}
    w.write_rank(tmp_path, 0, 1, threads, chunk_bytes=256)
    messages = read_run(tmp_path).messages
    assert dict(messages.select("number", "worker").unique().iter_rows()) == {1: 0, 2: 3, 3: 65535}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (w.call(2, WAIT, 200, 100), "call ends before it starts"),
        (w.call(2, WAIT, 2**62, 2**62), "call with an impossible time"),
        (w.call(99, WAIT, 1, 2), "call with an unknown class"),
        (w.call(3, WAIT, 1, 2, peer=7), "call of a rank that is not in the run"),
        (w.call(3, WAIT, 1, 2, given=2**60), "call of an impossible size"),
        (w.call(3, WAIT, 1, 2, thread=60000), "call of an impossible worker"),
        (w.communicator(1, [0, 0, 0]), "communicator of more members than the run has ranks"),
        (w.communicator(1, [4]), "communicator of a rank that is not in the run"),
        (w.shares(1, [2**60]), "shares of an impossible size"),
    ],
)
def test_a_damaged_record_is_left_out_and_named(tmp_path: Path, record: bytes, words: str) -> None:
    run = read_run(write(tmp_path, record + w.call(2, WAIT, 10, 20)))
    assert run.calls.height == 2
    assert run.communicators.height == run.shares.height == 0
    assert any(words in notice for notice in run.notices), run.notices


def test_ranks_that_never_finalised_are_named(tmp_path: Path) -> None:
    write(tmp_path, w.call(2, WAIT, 1, 2), b"")
    w.write_rank(tmp_path, 1, 2, {0: NAMES + w.clock(0, 0, 0) + w.call(2, WAIT, 1, 2)})
    notices = read_run(tmp_path).notices
    assert len(notices) == 1
    assert "1 of 2 ranks never came back from MPI_Finalize (rank 1)" in notices[0]


def test_calls_count_as_events_and_belong_to_the_window(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, w.call(2, WAIT, 5, 20)))
    assert run.event_count == 2
    assert run.window_ns() == (5, 9001)


def test_damaged_recordings_end_in_tables_or_one_sentence(tmp_path: Path) -> None:
    ranks = halo(2)
    for rank in ranks:
        rank.members(3, [0, 1])
        rank.collective("MPI_Allreduce", 10**8, 10**8 + 50, given=8, got=8, communicator=3)
        rank.shares(rank.collective("MPI_Alltoallv", 10**8 + 90, 10**8 + 99, count=1, given=9), [4, 5])
    original = write_run(tmp_path / "whole", *ranks)
    contents = {path.name: path.read_bytes() for path in original.iterdir()}
    folder = tmp_path / "damaged"
    folder.mkdir()
    for seed in range(100):
        random_ = random.Random(seed)
        for name, content in contents.items():
            data = bytearray(content)
            if name.endswith(".plt"):
                for _ in range(random_.choice((0, 1, 5, 40))):
                    at = 4096 + random_.randrange(64 * 120)
                    data[at] ^= 1 << random_.randrange(8)
            (folder / name).write_bytes(data)
        try:
            analyse(read_run(folder), folder, None)
        except PlaitError as error:
            assert "\n" not in str(error)
