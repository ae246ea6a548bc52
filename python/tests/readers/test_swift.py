# SPDX-License-Identifier: Apache-2.0
"""Logs written by hand, as docs/reference/formats.md describes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait._errors import PlaitError
from plait.readers._swift_files import Names, read_names
from plait.readers.swift import read_swift
from plait.readers.swift_run import run_of_swift

HEAD = "# stic etic dtic step rank otherrank type itype subtype isubtype activation tag size sum\n"
FOOT = """##
## Number of requests: 3
## Maximum request size: 0.0039 (MB)
## Sum of all requests: 0.0079 (MB)
## Mean of all requests: 0.0026 (MB)
"""
#: Two sends of equal key, of which the second ends first, and one receive; 2 ticks a nanosecond.
RANK_0 = """100 10100 0 1 0 1 send 22 xv 14 1 7 4096 4096
150 10150 0 1 0 1 send 22 xv 14 1 7 4096 8192
200 10200 0 1 0 1 recv 23 rho 15 1 9 100 8292
400 10400 250 1 0 1 send 22 xv 14 0 7 -4096 4196
500 10500 400 1 0 1 send 22 xv 14 0 7 -4096 100
700 10700 500 1 0 1 recv 23 rho 15 0 9 -100 0
"""
#: Its own run began 5000 ticks earlier, its steps with the other's.
RANK_1 = """90 15090 0 1 1 0 recv 23 xv 14 1 7 4096 4096
95 15095 0 1 1 0 recv 23 xv 14 1 7 4096 4096
300 15300 0 1 1 0 send 22 rho 15 1 9 100 4096
450 15450 360 1 1 0 recv 23 xv 14 0 7 -4096 4096
460 15460 365 1 1 0 recv 23 xv 14 0 7 -4096 4096
600 15600 300 1 1 0 send 22 rho 15 0 9 -100 4096
"""
DUMP = """0 0 0 0 0 1000000 1001000 10 10 0 0 0 2000000000
0 0 3 1 1 1000010 1000050 10 0 10 0 0 -1
0 1 22 14 0 1000510 1000520 10 10 0 0 7 -1
1 0 0 0 0 5000000 5001400 10 10 0 0 0 2000000000
1 0 3 1 1 5000010 5000050 10 0 10 0 0 -1
"""


def write(folder: Path, rank_0: str = RANK_0, rank_1: str = RANK_1, dump: str = DUMP) -> Path:
    folder.mkdir(exist_ok=True)
    for rank, text in enumerate((rank_0, rank_1)):
        if text:
            (folder / f"mpiuse_report-rank{rank}-step1.dat").write_text(HEAD + text + FOOT)
    if dump:
        (folder / "thread_info_MPI-step1.dat").write_text(dump)
    return folder


def test_requests_are_paired_by_when_they_say_that_they_began(tmp_path: Path) -> None:
    log = read_swift([write(tmp_path)])
    sends = log.requests.filter(~log.requests["received"] & (log.requests["rank"] == 0))
    assert sends.select("posted_ns", "completed_ns").rows() == [(5050, 5250), (5075, 5200)]
    assert log.ranks == 2
    assert log.notices == ()


def test_both_sides_of_a_message_have_one_sequence_number(tmp_path: Path) -> None:
    log = read_swift([write(tmp_path)])
    key = ("subtype", "tag", "size_bytes", "sequence")
    sent = log.requests.filter(~log.requests["received"]).select(key).rows()
    got = log.requests.filter(log.requests["received"]).select(key).rows()
    assert sorted(sent) == sorted(got) == [(14, 7, 4096, 1), (14, 7, 4096, 2), (15, 9, 100, 1)]


def test_a_step_begins_at_one_time_on_all_ranks(tmp_path: Path) -> None:
    log = read_swift([write(tmp_path)])
    assert log.steps.select("rank", "start_ns", "end_ns").rows() == [(0, 5000, 5500), (1, 5000, 5700)]
    receives = log.requests.filter(log.requests["received"] & (log.requests["rank"] == 1))
    assert receives["posted_ns"].to_list() == [5045, 5048]  # 90 and 95 ticks into the step


def test_tasks_are_named_by_what_the_reports_call_their_numbers(tmp_path: Path) -> None:
    run = run_of_swift(read_swift([write(tmp_path)], names=Names({3: "self"})))
    assert run.kinds == ("self subtype 1", "send xv")
    rows = run.tasks.select("rank", "worker", "kind", "start_ns", "end_ns", "step").rows()
    assert rows == [(0, 0, 0, 5005, 5025, 1), (0, 1, 1, 5255, 5260, 1), (1, 0, 0, 5005, 5025, 1)]


def test_names_come_from_a_file_as_well(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("# of types\ntype 3 self\nsubtype 1 density\n")
    names = read_names(tmp_path / "names")
    log = read_swift([write(tmp_path / "logs")], names=names)
    assert log.names.task(3, 1) == "self density"
    (tmp_path / "names").write_text("type three self\n")
    with pytest.raises(PlaitError, match="line 1"):
        read_names(tmp_path / "names")


def test_the_frequency_is_asked_for_where_no_file_tells_it(tmp_path: Path) -> None:
    write(tmp_path, dump="")
    with pytest.raises(PlaitError, match="--frequency"):
        read_swift([tmp_path])
    log = read_swift([tmp_path], frequency_hz=1e9)
    assert log.requests["posted_ns"].to_list()[:2] == [10100, 10150]
    assert not log.tasks.height


def test_a_given_frequency_wins(tmp_path: Path) -> None:
    log = read_swift([write(tmp_path)], frequency_hz=1e9)
    assert log.requests["posted_ns"].to_list()[:2] == [10100, 10150]
    with pytest.raises(PlaitError, match="ticks a second"):
        read_swift([tmp_path], frequency_hz=2.2)


def test_dumps_alone_make_a_run_of_tasks(tmp_path: Path) -> None:
    log = read_swift([write(tmp_path, rank_0="", rank_1="")])
    assert log.tasks.select("rank", "start_ns", "end_ns").rows()[0] == (0, 5, 25)
    assert log.ranks_present == (0, 1)


def test_files_of_all_ranks_in_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "step1.log").write_text(HEAD + RANK_0 + FOOT + HEAD + RANK_1 + FOOT)
    log = read_swift([tmp_path / "step1.log"], frequency_hz=2e9)
    assert log.requests.height == 6


def test_a_fifteenth_column_tells_the_thread(tmp_path: Path) -> None:
    rows = "".join(f"{line} 3\n" for line in RANK_0.splitlines())
    log = read_swift([write(tmp_path, rank_0=rows)])
    assert log.requests.filter(log.requests["rank"] == 0)["thread"].to_list() == [3, 3, 3]


def test_a_request_that_never_ends_is_unfinished(tmp_path: Path) -> None:
    short = "".join(RANK_0.splitlines(keepends=True)[:-1])
    log = read_swift([write(tmp_path, rank_0=short)])
    run = run_of_swift(log)
    open_ = run.messages.filter(run.messages["unfinished"])
    assert open_.select("rank", "source", "tag").rows() == [(0, 1, 9)]


def test_an_end_without_a_beginning_begins_when_it_says(tmp_path: Path) -> None:
    late = "".join(RANK_0.splitlines(keepends=True)[1:])
    log = read_swift([write(tmp_path, rank_0=late)])
    sends = log.requests.filter(~log.requests["received"] & (log.requests["rank"] == 0))
    assert sorted(sends["posted_ns"].to_list()) == [5050, 5075]
    assert "line 5 of mpiuse_report-rank0-step1.dat" in log.notices[0]


def test_a_cut_file_is_read_up_to_there(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "mpiuse_report-rank0-step1.dat"
    path.write_text((HEAD + RANK_0)[:-20])
    log = read_swift([tmp_path])
    assert log.requests.filter(log.requests["rank"] == 0).height == 3
    assert log.requests.filter(log.requests["completed_ns"].is_null()).height == 1
    assert "cut off" in log.notices[0]
    path.write_text(HEAD + RANK_0)
    assert "no lines with ##" in read_swift([tmp_path]).notices[0]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("300 10300 0 1 0 1 send 22 xv 14 1 7 4096", "has 13 columns where 14 belong"),
        ("300 10300 0 1 0 1 put 22 xv 14 1 7 4096 1", "neither send nor recv"),
        ("300 10300 0 1 0 1 send 22 xv 14 2 7 4096 1", "activation"),
        ("300 10300 0 1 0 1 send 22 xv 14 1 7 -4096 1", "should not be negative"),
        ("300 10300 9 1 0 1 send 22 xv 14 0 7 4096 1", "should be negative"),
        ("300 10300 0 1 0 -1 send 22 xv 14 1 7 4096 1", "rank cannot be"),
        ("300 10300 0 1 0 1 send 22 xv 14 1 7 4k 1", "its size '4k' is no whole number"),
        ("300 10300 -5 1 0 1 send 22 xv 14 0 7 -1 1", "ends before it begins"),
    ],
)
def test_a_line_that_cannot_be_is_named(tmp_path: Path, line: str, wrong: str) -> None:
    lines = RANK_0.splitlines()
    write(tmp_path, rank_0="\n".join([*lines[:3], line, *lines[3:]]) + "\n")
    with pytest.raises(PlaitError, match=wrong) as caught:
        read_swift([tmp_path])
    assert "mpiuse_report-rank0-step1.dat: line 5: " in str(caught.value)


@pytest.mark.parametrize(
    ("dump", "wrong"),
    [
        (
            DUMP.replace("0 0 3 1 1 1000010 1000050", "0 0 3 1 1 1000050 1000010"),
            "line 2: it ends before",
        ),
        (DUMP.replace(" 2000000000\n1 0 3", " 2000000000 7\n1 0 3"), "line 4: has 14 columns"),
        ("\n".join(DUMP.splitlines()[1:]) + "\n", "line 1: a task of a rank whose head"),
        (DUMP + DUMP, "line 6: a second head"),
    ],
)
def test_a_dump_that_cannot_be_is_named(tmp_path: Path, dump: str, wrong: str) -> None:
    with pytest.raises(PlaitError, match=wrong):
        read_swift([write(tmp_path, dump=dump)])


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("dear diary\nnothing happened\n")
    with pytest.raises(PlaitError, match=r"other.txt: line 1: has 2 columns where 14 belong"):
        read_swift([tmp_path / "other.txt"], frequency_hz=1e9)
    with pytest.raises(PlaitError, match="holds neither"):
        read_swift([tmp_path])
    (tmp_path / "thread_info_MPI.dat").write_text(DUMP)
    with pytest.raises(PlaitError, match="has its step in its name"):
        read_swift([tmp_path / "thread_info_MPI.dat"])
    (tmp_path / "mpiuse_report-rank0-step1.dat").write_text(HEAD)
    with pytest.raises(PlaitError, match="neither messages nor tasks"):
        read_swift([tmp_path / "mpiuse_report-rank0-step1.dat"], frequency_hz=1e9)


def test_files_of_two_versions_of_swift_are_noticed(tmp_path: Path) -> None:
    write(tmp_path, rank_1=RANK_1.replace("rho 15", "rho 16").replace("xv 14", "xv 15"))
    notices = read_swift([tmp_path]).notices
    assert any("subtype 15" in notice and "versions" in notice for notice in notices)
