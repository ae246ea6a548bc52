# SPDX-License-Identifier: Apache-2.0
"""The layout of trace records that were released never changes: old runs stay readable (docs/reference/formats.md)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
RELEASED = json.loads((PROJECT / "tests/trace/versions/released.json").read_text())
SCHEMA = tomllib.loads((PROJECT / "src/plait/trace/schema.toml").read_text())
#: Of a field; what else it has is how readers show it.
FIXED = ("at", "name", "type", "bit", "length", "role", "since", "column")
BYTES = {"u8": 1, "u16": 2, "worker": 2, "u32": 4, "name": 4, "rank": 4, "rank_number": 4, "flag": 1, "text": 56}


def troubles(released: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """What a schema changes of a released layout."""
    found = [
        f"[format] {name} is {schema['format'].get(name)}, released as {value}"
        for name, value in released["format"].items()
        if schema["format"].get(name) != value
    ]
    header = [{name: field[name] for name in ("at", "name", "type")} for field in schema["header"]["fields"]]
    if header != released["header"]:
        found.append("the header differs from the released one")
    for name, values in released["enums"].items():
        now = [value["name"] for value in schema["enum"].get(name, {"values": []})["values"]]
        if now[: len(values)] != values:
            found.append(f"enum {name}: released values keep their places")
    kinds = {record["kind"] for record in released["records"].values()}
    for name, record in schema["record"].items():
        if name not in released["records"] and (record["kind"] in kinds or not is_later(record)):
            found.append(f"record {name}: a new one has a kind of its own and since = the next version")
    for name, record in released["records"].items():
        found += [f"record {name}: {words}" for words in _troubles_of(record, schema["record"].get(name))]
    return found


def is_later(entry: dict[str, Any]) -> bool:
    latest = max(field.get("since", "1.0") for one in RELEASED["records"].values() for field in one["fields"])
    return _number(entry.get("since", "1.0")) > _number(latest)


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _troubles_of(record: dict[str, Any], now: dict[str, Any] | None) -> list[str]:
    if now is None:
        return ["was released, and is gone"]
    if now["kind"] != record["kind"] or now.get("since", "1.0") != record["since"]:
        return ["has another kind or another since than at its release"]
    found = []
    fields = {field["name"]: field for field in now["fields"]}
    for field in record["fields"]:
        kept = {name: value for name, value in fields.get(field["name"], {}).items() if name in FIXED}
        if kept != {name: value for name, value in field.items() if name in FIXED}:
            found.append(f"its field {field['name']} is no longer as it was released")
    used = {at for field in record["fields"] for at in _places(field)}
    for name in fields.keys() - {field["name"] for field in record["fields"]}:
        if not is_later(fields[name]):
            found.append(f"its new field {name} needs since = the next version")
        if used & set(_places(fields[name])):
            found.append(f"its new field {name} lies on a released one")
    return found


def _places(field: dict[str, Any]) -> range | list[tuple[int, int]]:
    """The bytes of a field; the bit of a flag."""
    if field["type"] == "flag":
        return [(field["at"], field["bit"])]
    element = field["type"].removeprefix("list of ")
    size = 1 if element in RELEASED["enums"] else BYTES.get(element, 8)
    return range(field["at"], field["at"] + size * field.get("length", 1))


def test_the_schema_keeps_what_was_released() -> None:
    assert troubles(RELEASED, SCHEMA) == []


def _change(path: str, value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(SCHEMA))
    at, *steps = path.split("/")
    entry = copy[at]
    for step in steps[:-1]:
        entry = entry[int(step)] if isinstance(entry, list) else entry[step]
    if steps[-1] == "+":
        entry.append(value)
    elif value is None:
        entry.pop(int(steps[-1]) if isinstance(entry, list) else steps[-1])
    else:
        entry[int(steps[-1]) if isinstance(entry, list) else steps[-1]] = value
    return dict(copy)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("format/record_bytes", 128, "record_bytes is 128"),
        ("header/fields/1/at", 12, "the header differs"),
        ("enum/CallClass/values/3", {"name": "another"}, "enum CallClass"),
        ("record/span/kind", 60, "record span: has another kind"),
        ("record/span", None, "record span: was released, and is gone"),
        ("record/task/fields/3/at", 9, "record task: its field object is no longer"),
        ("record/task/fields/3", None, "record task: its field object is no longer"),
        ("record/span/fields/+", {"at": 40, "name": "new", "type": "u32"}, "new needs since"),
        ("record/span/fields/+", {"at": 16, "name": "new", "type": "u32", "since": "1.9"}, "lies on a released"),
        ("record/newer", {"kind": 3, "since": "1.9", "fields": []}, "record newer: a new one"),
    ],
)
def test_each_change_of_a_released_layout_is_found(path: str, value: Any, words: str) -> None:
    found = troubles(RELEASED, _change(path, value))
    assert any(words in trouble for trouble in found), found


def test_additions_are_allowed() -> None:
    field = {"at": 60, "name": "new", "type": "u32", "since": "1.9"}
    assert troubles(RELEASED, _change("record/span/fields/+", field)) == []
    assert troubles(RELEASED, _change("record/newer", {"kind": 99, "since": "1.9", "fields": []})) == []
    assert troubles(RELEASED, _change("enum/CallClass/values/+", {"name": "newer", "since": "1.9"})) == []
