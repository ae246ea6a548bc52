# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
import trace_writer as w

from plait import PlaitError, read_run
from plait import _events as events
from plait.report.analysis import analyse
from plait.report.lanes import make_lanes
from plait.report.page import build_page
from plait.report.payload import make_payload


def write_one(folder: Path, records: bytes, rank: int = 0, ranks: int = 1) -> Path:
    w.write_meta(folder, ranks)
    return w.write_rank(folder, rank, ranks, {0: records})


def test_reads_every_field_of_a_task(tmp_path: Path) -> None:
    write_one(
        tmp_path,
        w.name(0, 7, "force pair")
        + w.task(7, 100, 250, worker=3, object_=2**40, ready=90, id_=5, released_by=4, step=9, place=6),
    )
    run = read_run(tmp_path)
    assert run.kinds == ("force pair",)
    assert run.tasks.row(0, named=True) == {
        "rank": 0,
        "worker": 3,
        "kind": 0,
        "role": 0,
        "object": 2**40,
        "ready_ns": 90,
        "start_ns": 100,
        "end_ns": 250,
        "id": 5,
        "released_by": 4,
        "step": 9,
        "place": 6,
    }


def test_reads_graphs_and_their_runs(tmp_path: Path) -> None:
    many = list(range(2, 20))
    records = (
        w.name(0, 3, "split")
        + w.name(0, 4, "gate")
        + b"".join(w.graph_task(1, 1, 3, later=many[at : at + 12]) for at in (0, 12))
        + w.graph_task(1, 2, 4, part=3, later=[19])
        + w.graph_run(1, 7, 1000, active=2)
    )
    write_one(tmp_path, records)
    run = read_run(tmp_path)
    rows = run.graph_tasks.select("rank", "graph", "place", "kind", "role").rows()
    assert rows == [(0, 1, 1, 0, 0), (0, 1, 2, 1, events.ROLE_JOIN)]
    assert run.kinds == ("split", "gate")
    assert run.dependencies.rows() == [*((0, 1, 1, later) for later in many), (0, 1, 2, 19)]
    assert run.graph_runs.rows() == [(0, 1, 7, 1000, 2)]


def test_leaves_out_tasks_of_graphs_that_cannot_be(tmp_path: Path) -> None:
    record = bytearray(w.graph_task(1, 1, 3, later=[2]))
    record[2] = 13
    write_one(tmp_path, bytes(record) + w.graph_task(1, 2, 3, part=4) + w.task(1, 1, 2))
    run = read_run(tmp_path)
    assert run.graph_tasks.height == run.dependencies.height == 0
    assert len(run.notices) == 2


def test_reads_every_field_of_a_message(tmp_path: Path) -> None:
    record = w.message(1, 2, 77, 1 << 33, (10, 20, 30, 40), protocol=1, communicator=6, tag=2**63)
    write_one(tmp_path, record, rank=1, ranks=3)
    assert read_run(tmp_path).messages.row(0, named=True) == {
        "rank": 1,
        "received": True,
        "protocol": 1,
        "source": 2,
        "destination": 1,
        "communicator": 6,
        "sequence": 77,
        "tag": 2**63,
        "size_bytes": 1 << 33,
        "posted_ns": 10,
        "handed_ns": 20,
        "arrived_ns": 30,
        "completed_ns": 40,
        "unfinished": False,
        "non_contiguous": False,
        "worker": 0,
        "number": 0,
        "function": -1,
        "site": -1,
    }


def test_reads_spans_gaps_and_counters(tmp_path: Path) -> None:
    names = w.name(1, 1, "drift") + w.name(2, 1, "energy")
    write_one(tmp_path, names + w.span(1, 5, 8, step=2) + w.gap(3, 9) + w.counter(1, 6, -0.5, step=2))
    run = read_run(tmp_path)
    assert run.span_kinds == ("drift",)
    assert run.spans.select("start_ns", "end_ns", "step").row(0) == (5, 8, 2)
    assert run.gaps.select("start_ns", "end_ns").row(0) == (3, 9)
    assert run.counters.select("time_ns", "value").row(0) == (6, -0.5)


def test_a_name_may_stand_in_another_threads_chunk(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 1)
    w.write_rank(tmp_path, 0, 1, {0: w.task(4, 1, 2), w.OTHER_THREAD: w.name(0, 4, "late name")})
    assert read_run(tmp_path).kinds == ("late name",)


def test_the_same_name_has_one_number_over_all_ranks(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 2)
    w.write_rank(tmp_path, 0, 2, {0: w.name(0, 1, "a") + w.name(0, 2, "b") + w.task(2, 1, 2)})
    w.write_rank(tmp_path, 1, 2, {0: w.name(0, 9, "b") + w.task(9, 1, 2)})
    run = read_run(tmp_path)
    assert run.kinds == ("b",)
    assert run.tasks["kind"].to_list() == [0, 0]


def test_records_cross_chunks(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 1)
    records = b"".join(w.task(1, i, i + 1, id_=i) for i in range(1, 501))
    w.write_rank(tmp_path, 0, 1, {0: records}, chunk_bytes=256)
    assert read_run(tmp_path).tasks["id"].to_list() == list(range(1, 501))


def test_clocks_follow_the_line_through_the_best_exchanges(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 2)
    w.write_rank(tmp_path, 0, 2, {0: w.task(1, 1, 2)})
    clocks = (
        w.clock(0, 5000, 900) + w.clock(10, 1000, 100) + w.clock(1_000_010, 1100, 100)
        + w.clock(1_000_020, 9000, 800)
    )  # fmt: skip
    w.write_rank(tmp_path, 1, 2, {0: clocks + w.task(1, 500_010, 1_000_010)})
    run = read_run(tmp_path)
    own = run.tasks.filter(pl.col("rank") == 1)
    assert own.select("start_ns", "end_ns").row(0) == (501_060, 1_001_110)
    assert run.clock_error_ns == 50


def test_a_killed_runs_clock_is_not_extrapolated(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 2, ended=None)
    w.write_rank(tmp_path, 0, 2, {0: w.task(1, 1, 2)})
    clocks = w.clock(10, 1000, 100) + w.clock(60, 1050, 120)
    w.write_rank(tmp_path, 1, 2, {0: clocks + w.task(1, 10**9, 2 * 10**9)})
    own = read_run(tmp_path).tasks.filter(pl.col("rank") == 1)
    assert own["start_ns"].item() == 10**9 + 1000


def test_without_exchanges_the_wall_clocks_align_ranks(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 2)
    w.write_rank(tmp_path, 0, 2, {0: w.task(1, 1, 2)}, wall_ns=10**18)
    w.write_rank(tmp_path, 1, 2, {0: w.task(1, 100, 200)}, wall_ns=10**18 + 5000)
    run = read_run(tmp_path)
    assert run.tasks.filter(pl.col("rank") == 1)["start_ns"].item() == 5100
    assert any("wall clocks" in notice for notice in run.notices)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (w.task(1, 200, 100), "event 2: task ends before it starts"),
        (w.task(1, 2**62, 2**62 + 1), "event 2: task with an impossible time"),
        (w.task(1, 1, 2, flags=1, object_=9 << 32), "event 2: task of a rank"),
        (w.task(1, 1, 2, worker=60000), "event 2: task of an impossible worker"),
        (w.message(0, 5, 1, 8, (1, 2, 3, 4)), "event 2: message of a rank that is not in the run"),
        (w.message(0, 0, 1, 2**60, (1, 2, 3, 4)), "event 2: message of an impossible size"),
        (w.message(0, 0, 1, 8, (9, 2, 3, 4)), "event 2: message ends before it starts"),
        (w.counter(1, 5, float("nan")), "event 2: counter whose value is not finite"),
        (w.span(1, 9, 3), "event 2: span ends before it starts"),
    ],
)
def test_a_damaged_record_is_left_out_and_named(tmp_path: Path, record: bytes, words: str) -> None:
    write_one(tmp_path, w.task(1, 10, 20) + record)
    run = read_run(tmp_path)
    assert run.event_count == 1
    assert any(f"rank-0000.plt: {words}" in notice for notice in run.notices), run.notices


def test_unknown_kinds_are_counted_and_meta_keys_ignored(tmp_path: Path) -> None:
    write_one(tmp_path, bytes([200]) + b"\xff" * 63 + w.task(1, 1, 2))
    meta = json.loads((tmp_path / "meta.json").read_text()) | {"new": 1}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    run = read_run(tmp_path)
    assert run.event_count == 1
    assert len(run.notices) == 1
    assert run.notices[0].startswith("1 records of kind 200 are not known to this plait")


def test_a_file_cut_anywhere_keeps_what_stands_before(tmp_path: Path) -> None:
    records = b"".join(w.task(1, i, i + 1, id_=i) for i in range(1, 50))
    path = write_one(tmp_path, records)
    whole = path.read_bytes()
    for kept in range(0, 40, 7):
        path.write_bytes(whole[: 4096 + 64 + 64 * kept + 13])
        assert read_run(tmp_path).tasks.height == kept


def test_a_kind_that_was_overwritten_is_named_with_its_place(tmp_path: Path) -> None:
    path = write_one(tmp_path, b"".join(w.task(1, 10 * i, 10 * i + 5) for i in range(10)))
    content = bytearray(path.read_bytes())
    place = 4096 + 64 * 4  # behind the chunk's first record and three tasks
    assert content[place] == 3
    content[place] = 0
    path.write_bytes(content)
    run = read_run(tmp_path)
    assert run.tasks.height == 3
    (notice,) = run.notices
    assert f"rank-0000.plt: byte {place:,}: a record without a kind, and 6 records behind it" in notice


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    path = write_one(tmp_path, b"".join(w.task(1, i, i + 1, id_=i) for i in range(1, 50)))
    path.write_bytes(path.read_bytes()[: 4096 + 64 * 20])
    (notice,) = read_run(tmp_path).notices
    assert "rank-0000.plt ends in the middle of its records" in notice


def test_zero_tails_are_the_end(tmp_path: Path) -> None:
    path = write_one(tmp_path, w.task(1, 1, 2))
    path.write_bytes(path.read_bytes() + bytes(200_000))
    run = read_run(tmp_path)
    assert run.tasks.height == 1
    assert run.notices == ()


def test_a_missing_rank_is_named(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 3)
    w.write_rank(tmp_path, 1, 3, {0: w.task(1, 1, 2)})
    run = read_run(tmp_path)
    assert (run.ranks, run.ranks_present) == (3, (1,))
    assert any("2 of 3 ranks are missing" in n and "rank 0, 2" in n for n in run.notices)


@pytest.mark.parametrize("meta", [None, "", "{", "[1]", "nul", '{"ranks": "many"}', "\x00"])
def test_a_bad_meta_file_is_no_obstacle(tmp_path: Path, meta: str | None) -> None:
    write_one(tmp_path, w.task(1, 1, 2))
    (tmp_path / "meta.json").unlink()
    if meta is not None:
        (tmp_path / "meta.json").write_text(meta)
    run = read_run(tmp_path)
    assert run.tasks.height == 1
    assert run.notices


@pytest.mark.parametrize(
    "content", [b"", b"PLAITTRC", b"x" * 5000, w.header(0, 1)[:8] + b"\x00" + w.header(0, 1)[9:]]
)
def test_nothing_usable_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    w.write_meta(tmp_path, 1)
    (tmp_path / "rank-0000.plt").write_bytes(content)
    with pytest.raises(PlaitError, match=r"no readable rank-NNNN\.plt"):
        read_run(tmp_path)


def test_a_folder_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PlaitError, match="is no folder"):
        read_run(tmp_path / "nowhere")


def damage(data: bytearray, random_: random.Random) -> bytearray:
    """One of the ways in which files break: flips, runs of noise, cuts, zeros, doubled pieces."""
    at = random_.randrange(len(data))
    # Half of the damage where it hurts most: in the header and the first records.
    if random_.random() < 0.5:
        at = random_.choice((random_.randrange(64), 4096 + random_.randrange(64 * 40)))
    at = min(at, len(data) - 1)
    length = random_.choice((1, 1, 4, 8, 64, 500))
    match random_.randrange(5):
        case 0:
            data[at] ^= 1 << random_.randrange(8)
        case 1:
            data[at : at + length] = random_.randbytes(length)
        case 2:
            del data[at:]
        case 3:
            data[at : at + length] = bytes(length)
        case 4:
            data[at:at] = data[max(0, at - length) : at]
    return data


def test_thousands_of_damaged_traces_end_in_tables_or_one_sentence(
    small_folder: Path, tmp_path: Path
) -> None:
    originals = {path.name: path.read_bytes() for path in small_folder.iterdir()}
    for seed in range(2000):
        random_ = random.Random(seed)
        for name, content in originals.items():
            (tmp_path / name).write_bytes(content)
        for _ in range(random_.choice((1, 1, 3, 10))):
            path = tmp_path / random_.choice([*originals, "rank-0000.plt"])
            path.write_bytes(damage(bytearray(path.read_bytes() or b"\0"), random_))
        try:
            run = read_run(tmp_path)
            if seed % 20 == 0:
                analysis = analyse(run, tmp_path, None)
                build_page(analysis, make_payload(analysis, make_lanes(analysis.run)), [])
        except PlaitError as error:
            assert "\n" not in str(error)


def test_a_file_with_a_damaged_number_of_ranks_is_left_out(tmp_path: Path) -> None:
    w.write_meta(tmp_path, 3)
    for rank in range(3):
        w.write_rank(tmp_path, rank, 3, {0: w.name(0, 0, "work") + w.task(0, 1, 2)})
    damaged = bytearray((tmp_path / "rank-0001.plt").read_bytes())
    damaged[17] = 0xFF  # 65283 ranks
    (tmp_path / "rank-0001.plt").write_bytes(damaged)
    run = read_run(tmp_path)
    assert (run.ranks, run.ranks_present, run.unusable) == (3, (0, 2), ("rank-0001.plt",))
    assert any("claims 65283 ranks and the run has 3" in notice for notice in run.notices)
    assert any("1 of 3 ranks are missing" in notice for notice in run.notices)
