# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from pathlib import Path

import pytest
import trace_writer as w

from plait import read_run
from plait._events import Run

COUNT = 400
IN_BLOCK = 63  # records beside the checksum
CHUNK_BYTES = 4 * 4096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One thread with COUNT tasks, in chunks of four blocks."""
    w.write_meta(tmp_path, 1)
    records = b"".join(w.task(1, i, 2 * i, object_=i * i, id_=i) for i in range(1, COUNT + 1))
    path = tmp_path / "rank-0000.plt"
    path.write_bytes(
        w.header(0, 1, chunk_bytes=CHUNK_BYTES) + w.checked_chunks(records, chunk_bytes=CHUNK_BYTES)
    )
    return path


def count_true(run: Run) -> int:
    """Of all tasks that were written; fails for one that was not."""
    for i, object_, start, end in run.tasks.select("id", "object", "start_ns", "end_ns").rows():
        assert 1 <= i <= COUNT
        assert (object_, start, end) == (i * i, i, 2 * i)
    return run.tasks.height


def with_bytes(file: Path, at: int, new: bytes) -> Run:
    content = bytearray(file.read_bytes())
    content[at : at + len(new)] = new
    file.write_bytes(content)
    return read_run(file.parent)


def test_files_with_checksums_are_read_whole(file: Path) -> None:
    run = read_run(file.parent)
    assert count_true(run) == COUNT
    assert run.notices == ()


def test_a_damaged_block_is_named_and_the_others_are_read(file: Path) -> None:
    run = with_bytes(file, 4096 + 4096 + 1000, b"\xee")
    assert count_true(run) == COUNT - IN_BLOCK
    (notice,) = run.notices
    assert notice.startswith(
        "rank-0000.plt: byte 8,192: a block of 4,096 bytes is damaged (its checksum differs): 63 records"
    )


def test_a_damaged_head_of_a_chunk_does_not_lose_its_other_blocks(file: Path) -> None:
    assert count_true(with_bytes(file, 4096, bytes(700))) == COUNT - (IN_BLOCK - 1)


def test_zeros_in_a_block_or_a_chunk_are_damage(file: Path) -> None:
    run = with_bytes(file, 2 * 4096, bytes(4096))
    assert count_true(run) == COUNT - IN_BLOCK
    assert len(run.notices) == 1
    run = with_bytes(file, 4096, bytes(CHUNK_BYTES))
    assert count_true(run) == COUNT - (4 * IN_BLOCK - 1)
    (notice,) = run.notices
    assert "byte 4,096: 1 chunk(s) of 16,384 bytes have zeros only, but others follow" in notice


def test_records_in_another_order_are_damage(file: Path) -> None:
    content = file.read_bytes()
    at = 4096 + 5 * 64
    run = with_bytes(file, at, content[at + 64 : at + 128] + content[at : at + 64])
    assert count_true(run) == COUNT - (IN_BLOCK - 1)


def test_the_block_that_a_killed_process_was_writing_is_read(file: Path) -> None:
    content = file.read_bytes()
    end = max(at for at in range(4096, len(content), 64) if content[at] == 35)
    run = with_bytes(file, end, bytes(64))
    assert count_true(run) == COUNT
    assert run.notices == ()


def test_random_damage_loses_no_event_unnoticed_and_gives_no_wrong_one(file: Path) -> None:
    content = file.read_bytes()
    end = max(at for at in range(4096, len(content), 64) if content[at] == 35)
    for seed in range(500):
        random_ = random.Random(seed)
        at = random_.randrange(4096, end)
        length = min(2 ** random_.randrange(13), end - at)
        damaged = random_.randbytes(length)
        if length == 1:
            damaged = bytes([content[at] ^ (1 << random_.randrange(8))])
        file.write_bytes(content)
        run = with_bytes(file, at, damaged)
        assert count_true(run) == COUNT or run.notices, seed
        assert run.tasks.height >= COUNT - 3 * IN_BLOCK, seed
