#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_versions.py [VERSION ...]: writes VERSION.tar.xz, a run of two ranks as each version of the trace format had it.

Uses released.json and nothing of plait: neither its schema nor its writers. Beside the run's files each archive holds
expected.json, the tables that any reader has to find: times by rank 0's clock, texts in place of numbers of names.
"""

from __future__ import annotations

import io
import json
import struct
import sys
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOLD = json.loads((HERE / "released.json").read_text())
VERSIONS = ("1.0", "1.1", "1.2", "1.3")
RANKS = 2
CHUNK_BYTES = 4096
ROWS = 3
#: What rank 1 adds to its times to get those of rank 0.
SHIFT_NS = 5_000_000
STRUCT = {
    **{"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i64": "q", "f64": "d"},
    **{"worker": "H", "name": "I", "rank": "I", "rank_number": "I", "size": "Q", "tag": "Q", "message_object": "Q"},
    **dict.fromkeys(("time", "shift", "duration"), "q"),
}


def is_of(version: str, since: str) -> bool:
    """Whether what came with `since` is in `version`."""
    return [int(part) for part in since.split(".")] <= [int(part) for part in version.split(".")]


class RankFile:
    """One rank's file in the making, and the rows that readers have to find."""

    def __init__(self, version: str, rank: int) -> None:
        self.version, self.rank = version, rank
        self.records: list[bytes] = []
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, record: str, **values: Any) -> None:
        """A record with these values, as far as the version has the fields."""
        told = TOLD["records"][record]
        if not is_of(self.version, told["since"]):
            return
        raw = bytearray(TOLD["format"]["record_bytes"])
        raw[0] = told["kind"]
        row: dict[str, Any] = {"rank": self.rank}
        for field in told["fields"]:
            if is_of(self.version, field.get("since", told["since"])) and field["name"] in values:
                self._put(raw, field, values[field["name"]])
                row[self._column(field)] = self._seen(field, values[field["name"]])
        self.records.append(bytes(raw))
        if "table" in told:
            self.rows.setdefault(told["table"], []).append(row)

    def _put(self, raw: bytearray, field: dict[str, Any], value: Any) -> None:
        kind, at = field["type"], field["at"]
        if kind == "flag":
            raw[at] |= field["bit"] if value else 0
        elif kind == "text":
            raw[at : at + len(value)] = value.encode()
        elif kind.startswith("list of "):
            struct.pack_into(f"<{len(value)}{STRUCT[kind.removeprefix('list of ')]}", raw, at, *value)
        elif kind in TOLD["enums"]:
            raw[at] = TOLD["enums"][kind].index(value)
        else:
            struct.pack_into(f"<{STRUCT[kind]}", raw, at, value)

    @staticmethod
    def _column(field: dict[str, Any]) -> str:
        is_time = field["type"] in ("time", "shift", "duration")
        return str(field.get("column", f"{field['name']}_ns" if is_time else field["name"]))

    def _seen(self, field: dict[str, Any], value: Any) -> Any:
        if field["type"] == "time":
            return value + self.rank * SHIFT_NS
        if field["type"] == "name":
            return text_of(field["role"], value)
        if field["type"] in TOLD["enums"]:
            return TOLD["enums"][field["type"]].index(value)
        return value

    def file(self) -> bytes:
        header = bytearray(TOLD["format"]["header_bytes"])
        values = {
            **{"version": 1, "rank": self.rank, "rank_count": RANKS, "record_bytes": 64, "chunk_bytes": CHUNK_BYTES},
            **{"reserved": 0, "wall_clock_ns": 10**18, "clock_ns": 77_000},
        }
        header[:8] = TOLD["format"]["magic"].encode()
        for field in TOLD["header"][1:]:
            struct.pack_into(f"<{STRUCT[field['type']]}", header, field["at"], values[field["name"]])
        assert len(self.records) * 64 <= CHUNK_BYTES
        return bytes(header) + b"".join(self.records).ljust(CHUNK_BYTES, b"\0")


def text_of(role: str, number: int) -> str:
    return f"{role} {'abc'[number]}"


def rank_file(version: str, rank: int) -> RankFile:
    file = RankFile(version, rank)
    file.add("chunk", thread=0, number=0, name="worker 0")
    for role in TOLD["enums"]["Role"] if is_of(version, "1.2") else TOLD["enums"]["Role"][:3]:
        for number in range(ROWS):
            text = text_of(role, number)
            file.add("name", role=role, length=len(text), number=number, text=text)
    for time in (1000, 900_000):
        file.add("clock", time=time, offset=rank * SHIFT_NS, round_trip=0)
    add_graph(file)
    for row in range(ROWS):
        add_row(file, row)
    file.add("communicator", communicator=3, size=2, first=0, members=[1, 0])
    file.add("shares", call=1, first=0, count=2, bytes=[100 + rank, 200 + rank])
    return file


def add_graph(file: RankFile) -> None:
    file.add("graph_task", graph=1, place=1, role="compute", kind=0, count=2, later=[2, 3])
    for place in (2, 3):
        file.add("graph_task", graph=1, place=place, role="compute", kind=place - 1, count=0, later=[])
    file.add("graph_run", graph=1, step=4, start=10_000, active=3)


def add_row(file: RankFile, row: int) -> None:
    """One of each kind of event; messages to the other rank and from it."""
    begin, peer = 10_000 + 50_000 * row, 1 - file.rank
    by_order = is_of(file.version, "1.2")
    file.add(
        "task", worker=0, kind=row, role="compute", object=row, ready=begin, start=begin + 10, end=begin + 900,
        id=row + 1, released_by=row, step=4, place=row + 1,
    )  # fmt: skip
    for place, direction in enumerate(("sent", "received")):
        file.add(
            "message", direction=direction, protocol="eager", peer=peer, communicator=0,
            sequence=2 * row + place + 1 if by_order else row, tag=40 + row, bytes=1 << row,
            is_matched_by_order=by_order, is_unfinished=False, posted=begin + 1000 + place, handed=begin + 1010,
            arrived=begin + 1020, completed=begin + 1030,
        )  # fmt: skip
    file.add("span", worker=0, name=row, object=row, start=begin + 2000, end=begin + 2500, step=4)
    file.add("poll_gap", worker=0, start=begin + 3000, end=begin + 3600)
    file.add("counter", name=row, time=begin + 4000, value=row + 0.5, step=4)
    file.add(
        "call", what="begins_message", worker=0, function=row, site=row, communicator=0, start=begin + 990,
        end=begin + 1005, bytes_given=1 << row, bytes_got=0, peer=peer, number=2 * row + 1, count=0, repeats=row,
    )  # fmt: skip


def archive(version: str) -> bytes:
    files = [rank_file(version, rank) for rank in range(RANKS)]
    meta = {
        **{"format": "plait-trace", "version": 1, "program": "old", "command": ["old"], "ranks": RANKS, "workers": 1},
        **{"hosts": ["a", "b"], "started": "2026-11-01T12:00:00.000Z", "ended": "2026-11-01T12:00:01.000Z"},
        **{"mpi": "none", "revision": "", "options": {}, "recorder": "plait"},
    }
    tables: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        for table, rows in file.rows.items():
            tables.setdefault(table, []).extend(rows)
    contents = {
        "meta.json": json.dumps(meta).encode(),
        **{f"rank-{file.rank:04d}.plt": file.file() for file in files},
        "expected.json": json.dumps(tables).encode(),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in contents.items():
            entry = tarfile.TarInfo(f"{version}/{name}")
            entry.size, entry.mtime = len(data), 1_793_534_400
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def main() -> None:
    for version in sys.argv[1:] or VERSIONS:
        (HERE / f"{version}.tar.xz").write_bytes(archive(version))


if __name__ == "__main__":
    main()
