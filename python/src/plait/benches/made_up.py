# SPDX-License-Identifier: Apache-2.0
"""A long run of an MPI program, made up: as many records as wanted, written at the speed of the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait import _events as events
from plait import _schema
from plait._schema import ROLES, SCHEMA

FUNCTIONS = ("MPI_Init", "MPI_Finalize", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce")
#: Records of one step of one rank: a halo with two neighbours, and a reduction.
RECORDS_IN_STEP = 10
_STEP_NS = 100_000
_CHUNK_RECORDS = 1024
_IRECV, _ISEND, _WAITALL, _ALLREDUCE = 2, 3, 4, 5


def write_halo_run(folder: Path, ranks: int, event_count: int) -> int:
    """A ring of ranks that exchange messages of many sizes; returns how many events were written."""
    steps = max(1, event_count // (ranks * RECORDS_IN_STEP))
    folder.mkdir(parents=True, exist_ok=True)
    meta = {
        **{"format": "plait-trace", "version": 1, "recorder": "mpi", "program": "halo", "ranks": ranks},
        **{"command": ["halo"], "ended": "2026-11-21T12:00:09Z"},
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    for rank in range(ranks):
        begin, end = np.split(_ends(steps), 2)
        records = np.concatenate((_names(), begin, _steps(rank, ranks, steps), end))
        with (folder / f"rank-{rank:04d}.plt").open("wb") as file:
            file.write(_header(rank, ranks).tobytes())
            file.write(_chunks(records).tobytes())
    return ranks * (steps * RECORDS_IN_STEP + 2)


def _header(rank: int, ranks: int) -> npt.NDArray[Any]:
    header = np.zeros(1, dtype=_schema.HEADER)
    header["magic"], header["version"], header["rank"], header["rank_count"] = (
        _schema.MAGIC,
        1,
        rank,
        ranks,
    )
    header["record_bytes"], header["chunk_bytes"] = _schema.RECORD_BYTES, 64 * _CHUNK_RECORDS
    header["wall_clock_ns"] = 10**18
    return header


def _raw(records: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return records.view(np.uint8).reshape(-1, _schema.RECORD_BYTES)


def _chunks(records: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    room = _CHUNK_RECORDS - 1
    count = -(-records.shape[0] // room)
    whole = np.zeros((count, _CHUNK_RECORDS, _schema.RECORD_BYTES), dtype=np.uint8)
    head = np.zeros(count, dtype=SCHEMA["chunk"].dtype)
    head["record"], head["number"] = SCHEMA["chunk"].kind, np.arange(count)
    whole[:, 0] = _raw(head)
    full = records.shape[0] // room
    whole[:full, 1:] = records[: full * room].reshape(full, room, _schema.RECORD_BYTES)
    if full < count:
        whole[full, 1 : 1 + records.shape[0] - full * room] = records[full * room :]
    return whole


def _names() -> npt.NDArray[np.uint8]:
    texts = [(ROLES["function"], n, text) for n, text in enumerate(FUNCTIONS)]
    texts += [(ROLES["call_site"], n, f"halo+0x{n:x}40") for n in range(len(FUNCTIONS))]
    found = np.zeros(len(texts) + 1, dtype=SCHEMA["name"].dtype)
    found["record"] = SCHEMA["name"].kind
    for row, (role, number, text) in zip(found, texts, strict=False):
        row["role"], row["number"], row["length"] = role, number, len(text)
        row["text"] = np.void(text.encode().ljust(_schema.NAME_BYTES, b"\0"))
    clock = np.zeros(1, dtype=SCHEMA["clock"].dtype)
    clock["record"] = SCHEMA["clock"].kind
    whole = _raw(found)
    whole[-1] = _raw(clock)[0]
    return whole


def _ends(steps: int) -> npt.NDArray[np.uint8]:
    found = np.zeros(2, dtype=SCHEMA["call"].dtype)
    found["record"], found["what"] = SCHEMA["call"].kind, events.CALL_BEGINS_OR_ENDS
    found["function"], found["communicator"], found["peer"] = [0, 1], _schema.NOTHING, _schema.NOTHING
    found["start"], found["end"] = [0, (steps + 1) * _STEP_NS], [_STEP_NS, (steps + 2) * _STEP_NS]
    return _raw(found)


def _steps(rank: int, ranks: int, steps: int) -> npt.NDArray[np.uint8]:
    """Two receives, two sends, their wait, a reduction; and the messages' records after the wait."""
    step = np.arange(steps, dtype=np.int64)
    begin = (step + 1) * _STEP_NS + 1
    whole = np.zeros((steps, RECORDS_IN_STEP, _schema.RECORD_BYTES), dtype=np.uint8)
    calls: npt.NDArray[Any] = whole.view(SCHEMA["call"].dtype)[..., 0]
    messages: npt.NDArray[Any] = whole.view(SCHEMA["message"].dtype)[..., 0]
    size = 8 << (step % 16)
    wait = begin + 30_000 + (step * 7919 + rank * 104729) % 20_000
    end = wait + 2000 + size // 10
    neighbours = ((rank + 1) % ranks, (rank - 1) % ranks)
    for at in range(4):
        is_sent = at >= 2
        peer, number = neighbours[at % 2], 1 + 6 * step + at
        call = calls[:, at]
        call["record"], call["what"] = SCHEMA["call"].kind, events.CALL_BEGINS
        call["function"] = call["site"] = _ISEND if is_sent else _IRECV
        call["start"], call["end"] = begin + 300 * at, begin + 300 * at + 200
        call["bytes_given" if is_sent else "bytes_got"] = size
        call["peer"], call["number"] = peer, number
        message = messages[:, 6 + at]
        message["record"], message["direction"], message["protocol"] = (
            SCHEMA["message"].kind,
            not is_sent,
            3,
        )
        message["flags"], message["peer"], message["sequence"] = (
            SCHEMA["message"].flags[0].options["bit"],
            peer,
            number,
        )
        # Of two messages between a pair of two ranks the tag gives the direction around the ring.
        message["tag"] = 2 * (step % 50) + (at % 2 if is_sent else 1 - at % 2)
        message["bytes"], message["posted"], message["completed"] = size, begin + 300 * at, end
    _fill(calls[:, 4], _WAITALL, events.CALL_COMPLETES, wait, end, 5 + 6 * step)
    calls[:, 4]["communicator"], calls[:, 4]["count"] = _schema.NOTHING, 4
    _fill(calls[:, 5], _ALLREDUCE, events.CALL_COLLECTIVE, end + 1000, end + 9000, 6 + 6 * step)
    calls[:, 5]["count"], calls[:, 5]["bytes_given"], calls[:, 5]["bytes_got"] = step, 8, 8
    # As they are made: messages complete in the wait, whose record comes when it returns.
    order = [0, 1, 2, 3, 6, 7, 8, 9, 4, 5]
    return np.ascontiguousarray(whole[:, order]).reshape(-1, _schema.RECORD_BYTES)


def _fill(
    calls: npt.NDArray[Any],
    function: int,
    what: int,
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    number: npt.NDArray[np.int64],
) -> None:
    calls["record"], calls["what"], calls["function"], calls["site"] = (
        SCHEMA["call"].kind,
        what,
        function,
        function,
    )
    calls["start"], calls["end"], calls["number"], calls["peer"] = start, end, number, _schema.NOTHING
