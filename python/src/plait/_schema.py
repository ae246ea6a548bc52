# SPDX-License-Identifier: Apache-2.0
"""The records of a trace (docs/reference/trace-format.md): numpy dtypes and columns of tables.

They come from trace_schema.json, which is made from src/plait/trace/schema.toml.
Nothing else in the package knows a byte offset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

_STORED = {
    **{"u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "i64": "<i8", "f64": "<f8"},
    **{"worker": "<u2", "name": "<u4", "rank": "<u4", "rank_number": "<u4"},
    **dict.fromkeys(("time", "duration", "shift"), "<i8"),
    **dict.fromkeys(("size", "tag", "message_object"), "<u8"),
}
_IN_TABLES: dict[str, pl.DataType] = {
    **dict.fromkeys(("worker", "name", "rank", "rank_number"), pl.Int32()),
    **dict.fromkeys(("tag", "message_object", "u64"), pl.UInt64()),
    **{"f64": pl.Float64(), "flag": pl.Boolean()},
}


@dataclass(frozen=True)
class Field:
    at: int
    name: str
    type: str
    options: Mapping[str, Any]
    last: int  # of an enum: its largest value

    @property
    def is_list(self) -> bool:
        return self.type.startswith("list of ")

    @property
    def element(self) -> str:
        return self.type.removeprefix("list of ")

    @property
    def is_enum(self) -> bool:
        return not self.is_list and self.type not in _STORED and self.type not in ("flag", "text")

    @property
    def is_time(self) -> bool:
        return self.type in ("time", "duration", "shift")

    @property
    def length(self) -> int:
        return int(self.options.get("length", 1))

    @property
    def optional(self) -> str | bool:
        """Whether NOTHING is allowed; with the name of a flag, only where that is set."""
        found: str | bool = self.options.get("optional", False)
        return found

    @property
    def column(self) -> str:
        return str(self.options.get("column", f"{self.name}_ns" if self.is_time else self.name))

    @property
    def dtype(self) -> Any:
        if self.type == "text":
            return f"V{NAME_BYTES}"
        stored = _STORED.get(self.element, "u1")
        return (stored, self.length) if self.is_list else stored


class Record:
    """One kind of record."""

    def __init__(self, name: str, told: Mapping[str, Any], enums: Mapping[str, list[str]]) -> None:
        self.name = name
        self.noun = name.replace("_", " ")
        self.kind = int(told["kind"])
        self.table: str | None = told.get("table")
        self.fields = [_field(entry, enums) for entry in told["fields"]]
        self.list = next((field for field in self.fields if field.is_list), None)
        named = {field.name: field for field in self.fields}
        interval = told.get("interval") or ("start", "end")
        self.interval = [named[name] for name in interval] if set(interval) <= set(named) else None
        self.flags = [field for field in self.fields if field.type == "flag"]
        #: What tables have a column of: all but a list and what belongs to it.
        beside = {"count", "first", "size"} if self.list else set()
        self.plain = [f for f in self.fields if not f.is_list and f.name not in beside]

    def has(self, field: str) -> bool:
        return any(one.name == field for one in self.fields)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The kind as "record", the byte of all flags as "flags"."""
        stored = {field.name: (field.at, field.dtype) for field in self.fields if field.type != "flag"}
        if self.flags:
            stored["flags"] = (self.flags[0].at, "u1")
        return _layout({"record": (0, "u1"), **stored}, RECORD_BYTES)

    @cached_property
    def columns(self) -> dict[str, pl.DataType]:
        """Of the table of such records: the rank, and one for each field of `plain`."""
        small = {field.column: pl.Int8() for field in self.plain if field.is_enum}
        types = {field.column: _IN_TABLES.get(field.type, pl.Int64()) for field in self.plain}
        return {"rank": pl.Int32(), **types, **small}


def _field(told: Mapping[str, Any], enums: Mapping[str, list[str]]) -> Field:
    values = enums.get(told["type"], [])
    last = values.index(told["until"]) if "until" in told else len(values) - 1
    return Field(told["at"], told["name"], told["type"], told, last)


def _layout(fields: Mapping[str, tuple[int, Any]], size: int) -> np.dtype[Any]:
    return np.dtype(
        {
            "names": list(fields),
            "offsets": [offset for offset, _ in fields.values()],
            "formats": [kind for _, kind in fields.values()],
            "itemsize": size,
        }
    )


class Schema:
    """All records, by name."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        enums = {
            name: [value["name"] for value in enum["values"]] for name, enum in told["enum"].items()
        }
        self.records = {name: Record(name, entry, enums) for name, entry in told["record"].items()}

    def __getitem__(self, record: str) -> Record:
        return self.records[record]


def read_schema(path: Path) -> Schema:
    """A description as tools/make_trace_code.py writes it."""
    return Schema(json.loads(path.read_text(encoding="utf-8")))


_TOLD = json.loads(Path(__file__).with_name("trace_schema.json").read_text(encoding="utf-8"))
_FORMAT = _TOLD["format"]
MAGIC = _FORMAT["magic"].encode()
VERSION: int = _FORMAT["version"]
HEADER_BYTES: int = _FORMAT["header_bytes"]
RECORD_BYTES: int = _FORMAT["record_bytes"]
CHUNK_BYTES_MIN: int = _FORMAT["chunk_bytes_min"]
NAME_BYTES: int = _FORMAT["text_bytes"]
NO_WORKER: int = _FORMAT["no_worker"]
NOTHING: int = _FORMAT["nothing"]  # no rank, no communicator, no call site
#: Larger values are taken for damage.
TIME_MAX_NS: int = _FORMAT["time_max_ns"]
SIZE_MAX_BYTES: int = _FORMAT["size_max"]
RANKS_MAX: int = _FORMAT["rank_count_max"]
WORKERS_MAX: int = _FORMAT["worker_count_max"]

SCHEMA = Schema(_TOLD)
#: What a name is for.
ROLES = {value["name"]: number for number, value in enumerate(_TOLD["enum"]["Role"]["values"])}
HEADER = _layout(
    {
        field["name"]: (field["at"], _STORED.get(field["type"], "S8"))
        for field in _TOLD["header"]["fields"]
    },
    HEADER_BYTES,
)
