#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_trace_code.py [--check] [--also MORE.toml --into FOLDER]: writes what is made from src/plait/trace/schema.toml.

That is: C++ events, recorder, encoding and decoding; the description as Python reads it; the tables of
docs/reference/trace-format.md. With --check it writes nothing and fails if a file differs. With --into it writes code
only, not formatted, below FOLDER, with the records of MORE.toml as well: a test adds a made-up record so.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
SCHEMA = PROJECT / "src/plait/trace/schema.toml"
DOCUMENT = "docs/reference/trace-format.md"
HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Made from schema.toml by tools/make_trace_code.py: edit that.\n"

STORED = {  # how a type is stored; the others are enums, in one byte
    **{f"u{bits}": f"std::uint{bits}_t" for bits in (8, 16, 32, 64)},
    **{"i64": "std::int64_t", "f64": "double", "worker": "std::uint16_t"},
    **dict.fromkeys(("time", "duration", "shift"), "std::int64_t"),
    **dict.fromkeys(("name", "rank", "rank_number"), "std::uint32_t"),
    **dict.fromkeys(("size", "tag", "message_object"), "std::uint64_t"),
}
SHORT = {"std::uint8_t": "u8", "std::uint16_t": "u16", "std::uint32_t": "u32", "std::uint64_t": "u64"} | {
    "std::int64_t": "i64",
    "double": "f64",
}
BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i64": 8, "f64": 8}
IDS = {"name": "NameId", "rank": "Rank", "tag": "Tag"}
TIMES = ("time", "duration", "shift")

Table = dict[str, Any]


class Field:
    def __init__(self, told: Table) -> None:
        self.at: int = told["at"]
        self.name: str = told["name"]
        self.type: str = told["type"]
        self.doc: str = told["doc"]
        self.optional = told.get("optional", False)
        self.told = told
        self.is_list = self.type.startswith("list of ")
        self.element = self.type.removeprefix("list of ")
        self.stored = STORED.get(self.element, "std::uint8_t")
        self.is_enum = self.type not in STORED and not self.is_list and self.type not in ("flag", "text")

    @property
    def event_type(self) -> str:
        if self.type in TIMES:
            return "nanoseconds"
        if self.is_list:
            return f"std::span<const {self.stored}>"
        return {**IDS, "flag": "bool", "text": "std::string_view"}.get(self.type) or (
            self.type if self.is_enum else self.stored
        )

    @property
    def bytes(self) -> int:
        if self.type == "text":
            return 56
        return BYTES[SHORT[self.stored]] * self.told.get("length", 1)

    @property
    def initial(self) -> str:
        if "default" in self.told:
            return f" = {self.told['default']}"
        if self.type in TIMES:
            return "{}"
        if self.type in IDS or self.is_list or self.type == "text":
            return ""
        if self.is_enum:
            return f" = {self.type}{{}}"
        return " = false" if self.type == "flag" else (" = nothing" if self.optional else " = 0")


class Record:
    def __init__(self, name: str, told: Table) -> None:
        self.name = name
        self.told = told
        self.kind: int = told["kind"]
        self.doc: str = told["doc"]
        self.noun = name.replace("_", " ")
        self.is_internal = told.get("internal", False)
        self.by_thread = told.get("by_thread", True)
        self.table: str = told.get("table", "")
        self.fields = [Field(field) for field in told["fields"]]
        camel = "".join(word.capitalize() for word in name.split("_"))
        self.event = f"detail::{camel}Record" if self.is_internal else f"{camel}Event"
        self.list = next((field for field in self.fields if field.is_list), None)
        self.members = [f for f in self.fields if not (f.type == "worker" or (self.list and f.name == "count"))]
        names = {field.name for field in self.fields}
        self.interval = told.get("interval") or (["start", "end"] if {"start", "end"} <= names else None)
        self.check_layout()

    def check_layout(self) -> None:
        taken: dict[int, str] = {}
        for field in self.fields:
            if field.at % min(8, BYTES[SHORT[field.stored]] if field.type != "text" else 1):
                raise SystemExit(f"{self.name}.{field.name}: offset {field.at} is not aligned to its type")
            for byte in range(field.at, field.at + field.bytes):
                shares = field.type == "flag" and taken.get(byte) == "flag"
                if not 1 <= byte < 64 or (byte in taken and not shares):
                    raise SystemExit(f"{self.name}.{field.name}: byte {byte} is taken, or outside of the record")
                taken[byte] = field.type

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


class Schema:
    def __init__(self, *files: pathlib.Path) -> None:
        self.told: Table = {}
        for file in files:
            for section, entries in tomllib.loads(file.read_text()).items():
                self.told.setdefault(section, {}).update(entries)
        self.format: Table = self.told["format"]
        self.enums: dict[str, Table] = self.told["enum"]
        self.records = [Record(name, told) for name, told in self.told["record"].items()]
        kinds = [record.kind for record in self.records]
        if len(set(kinds)) != len(kinds) or not set(kinds) <= set(range(1, 256)):
            raise SystemExit("each record needs a kind of its own, from 1 to 255")

    @property
    def events(self) -> list[Record]:
        return [record for record in self.records if not record.is_internal]


def comment(text: str, indent: str = "") -> str:
    plain = text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
    return "".join(f"{indent}/// {line}\n" for line in textwrap.wrap(plain, 110))


def behind(name: str, doc: str) -> str:
    """The comment behind a member; none if it would repeat the name."""
    return "" if re.sub(r"\W", "_", doc) == name else f"  ///< {doc[0].upper()}{doc[1:]}."


# --- C++ ------------------------------------------------------------------------------------------


def struct_of(record: Record) -> str:
    out = comment(record.doc) + f"struct {record.event.removeprefix('detail::')} {{\n"
    for field in record.members:
        doc = field.doc
        if field.type == "name":
            doc += f"; of `Role::{field.told['role']}`"
        if record.list and field.name == "size":
            doc += "; found from `first` and the list when recorded"
        if field.is_list:
            doc += "; borrowed for the call"
        line = f"  {field.event_type} {field.name}{field.initial};"
        short = line + behind(field.name, doc)
        out += f"{short}\n" if len(short) <= 105 else f"{comment(doc, '  ')}{line}\n"
    return out + "};\n\n"


def event_header(schema: Schema) -> str:
    out = HEAD + (
        "#pragma once\n\n#include <cstddef>\n#include <cstdint>\n#include <span>\n#include <vector>\n\n"
        '#include "plait/base/clock.hpp"\n#include "plait/base/id.hpp"\n\n'
        "/// The events of a trace, as the layers above record them and readers return them. Times count from the\n"
        '/// recorder\'s time 0 (`Recorder::now()`); 0 means "not known" for times other than starts.\n'
        "namespace plait::trace {\n\n"
        "/// A name that was registered with `Recorder::name`.\nusing NameId = Id<struct NameTag>;\n\n"
        "/// Longest text of a name or of a thread's name in a file; longer ones are cut, at a character.\n"
        f"inline constexpr std::size_t text_bytes_max = {schema.format['text_bytes']};\n"
        "/// Stands for none, where ranks, communicators and call sites are plain numbers.\n"
        f"inline constexpr std::uint32_t nothing = {schema.format['nothing']:#x};\n\n"
    )
    for name, enum in schema.enums.items():
        out += comment(enum["doc"]) + f"enum class {name} : std::uint8_t {{\n"
        out += "".join(f"  {value['name']},{behind(value['name'], value['doc'])}\n" for value in enum["values"])
        out += "};\n\n"
        if name == "Role":
            out += f"inline constexpr std::uint8_t role_count = {len(enum['values'])};\n\n"
    out += (
        "/// The object of a send or receive task: its message.\n"
        "[[nodiscard]] constexpr std::uint64_t message_object(Rank peer, std::uint32_t sequence) noexcept {\n"
        "  return std::uint64_t{peer.value()} << 32U | sequence;\n}\n\n"
    )
    out += "".join(struct_of(record) for record in schema.events)
    out += (
        "/// An event as read, with the thread that recorded it.\ntemplate <class Event>\nstruct Recorded {\n"
        "  std::uint32_t thread = 0;  ///< Index into `RankTrace::threads`.\n  Event event;\n};\n\n"
        "/// The events in a rank's file, except those with lists. Of one thread, in the order of recording.\n"
        "struct RankEvents {\n"
    )
    for record in schema.events:
        if not record.list:
            held = f"Recorded<{record.event}>" if record.by_thread else record.event
            out += f"  std::vector<{held}> {record.table};\n"
    return out + "};\n\n}  // namespace plait::trace\n"


def recorder_header(schema: Schema) -> str:
    out = HEAD + (
        '#pragma once\n\n#include "plait/trace/event.hpp"\n#include "plait/trace/record_writer.hpp"\n\n'
        "namespace plait::trace {\n\n"
        "/// Records the events of one thread: about 20 ns each; when tracing is off, one predictable branch.\n///\n"
        "/// Owned by its `Recorder`. The worker of an event is this recorder's. An event is in the file when the\n"
        "/// call returns, also if the process is killed then. Threads: one at a time.\n"
        "class ThreadRecorder final : public RecordWriter {\n public:\n  using RecordWriter::RecordWriter;\n\n"
    )
    for record in schema.events:
        if record.list:
            least = ", at least one" if record.told.get("empty") else ""
            out += f"  /// One record for each {record.list.told['length']} of `{record.list.name}`{least}.\n"
        out += f"  void {record.name}(const {record.event}& event) noexcept {{ record(event); }}\n"
    return out + (
        "\n private:\n  template <class Event>\n  void record(const Event& event) noexcept {\n"
        "    if (is_on()) {\n      write(event);\n    }\n  }\n"
        "  template <class Event>\n  void write(const Event& event) noexcept;\n};\n\n}  // namespace plait::trace\n"
    )


def recorder_source(schema: Schema) -> str:
    out = HEAD + (
        '#include "plait/trace/thread_recorder.hpp"\n\n#include "plait/trace/detail/encode.hpp"\n\n'
        "namespace plait::trace {\n\n"
        "template <class Event>\nvoid ThreadRecorder::write(const Event& event) noexcept {\n"
        "  detail::encode(event, *this);\n}\n\n"
    )
    out += "".join(f"template void ThreadRecorder::write(const {r.event}&) noexcept;\n" for r in schema.events)
    return out + "\n}  // namespace plait::trace\n"


def layout_header(schema: Schema) -> str:
    limits = schema.format
    out = HEAD + (
        "#pragma once\n\n#include <array>\n#include <bit>\n#include <cstddef>\n#include <cstdint>\n"
        "#include <string_view>\n\n"
        '#include "plait/trace/event.hpp"\n\n'
        f"/// The bytes of a rank's trace file, version {limits['version']}, as {DOCUMENT} defines them.\n"
        "namespace plait::trace::detail {\n\n"
        'static_assert(std::endian::native == std::endian::little, "fields are stored as in memory");\n\n'
    )
    magic = ", ".join(f"'{letter}'" for letter in limits["magic"])
    out += f"inline constexpr std::array<char, 8> magic = {{{magic}}};\n"
    for name, kind in (
        *(("version", "std::uint32_t"), ("header_bytes", "std::size_t"), ("record_bytes", "std::size_t")),
        *(("chunk_bytes_min", "std::size_t"), ("no_worker", "std::uint16_t"), ("time_max_ns", "std::int64_t")),
        *(("size_max", "std::uint64_t"), ("rank_count_max", "std::uint32_t"), ("worker_count_max", "std::uint32_t")),
    ):
        out += f"inline constexpr {kind} {name} = {limits[name]};\n"
    out += "\nenum class Kind : std::uint8_t {\n  none = 0,\n"
    out += "".join(f"  {record.name} = {record.kind},\n" for record in schema.records) + "};\n\n"
    out += "struct Header {\n"
    for told in schema.told["header"]["fields"]:
        name = told["name"]
        kind = STORED.get(told["type"], "std::array<char, 8>")
        default = f" = detail::{name}" if name in ("magic", "version", "record_bytes") else " = 0"
        out += f"  {kind} {name}{default};\n"
    last = schema.told["header"]["fields"][-1]
    out += f"}};\nstatic_assert(sizeof(Header) == {last['at'] + 8} && "
    out += f"offsetof(Header, {last['name']}) == {last['at']});\n\n"
    out += "".join(struct_of(record) for record in schema.records if record.is_internal)
    return out + "}  // namespace plait::trace::detail\n"


def encoded(field: Field) -> str:
    value = f"event.{field.name}"
    if field.type in IDS:
        return f"{value}.value()"
    if field.type in TIMES:
        return f"{value}.count()"
    return f"static_cast<std::uint8_t>({value})" if field.is_enum else value


def puts_of(record: Record) -> str:
    out = ""
    flags: dict[int, list[str]] = {}
    for field in record.fields:
        if field.type == "flag":
            flags.setdefault(field.at, []).append(f"(event.{field.name} ? {field.told['bit']}U : 0U)")
        elif field.type == "worker":
            out += f"put<std::uint16_t>(to, {field.at}, writer.worker());\n"
        elif field.type == "text":
            out += f"put_text(to, {field.at}, event.{field.name});\n"
        elif record.list and field.name == "count":
            out += f"put(to, {field.at}, static_cast<{field.stored}>(count));\n"
        elif record.list and field.name == "size":
            out += f"put(to, {field.at}, static_cast<{field.stored}>(event.first + list.size()));\n"
        elif record.list and field.name == "first":
            out += f"put(to, {field.at}, static_cast<{field.stored}>(event.first + done));\n"
        elif field.is_list:
            out += f"put_list<{field.told['length']}>(to, {field.at}, list.subspan(done, count)"
            out += ", nothing);\n" if field.optional else ");\n"
        else:
            out += f"put<{field.stored}>(to, {field.at}, {encoded(field)});\n"
    return out + "".join(
        f"put(to, {at}, static_cast<std::uint8_t>({' | '.join(bits)}));\n" for at, bits in flags.items()
    )


def encode_header(schema: Schema) -> str:
    out = HEAD + (
        "#pragma once\n\n#include <algorithm>\n#include <cstddef>\n#include <cstdint>\n\n"
        '#include "plait/trace/detail/bytes.hpp"\n#include "plait/trace/detail/layout.hpp"\n'
        '#include "plait/trace/event.hpp"\n#include "plait/trace/record_writer.hpp"\n\n'
        "/// Each `encode` writes an event as one record; one with a list, as many as the list needs.\n"
        "namespace plait::trace::detail {\n\n"
    )
    for record in schema.records:
        event = record.event.removeprefix("detail::")
        out += f"inline void encode(const {event}& event, RecordWriter& writer) noexcept {{\n"
        write = "if (std::byte* const to = writer.begin_record(); to != nullptr) {\n" + puts_of(record)
        write += f"writer.end_record(static_cast<std::uint8_t>(Kind::{record.name}));\n}}\n"
        if record.list:
            out += f"const auto list = event.{record.list.name};\nstd::size_t done = 0;\n"
            size = (
                f"const std::size_t count = std::min<std::size_t>(list.size() - done, {record.list.told['length']});\n"
            )
            step = f"{size}{write}done += count;\n"
            is_more = "done < list.size()"
            out += (
                f"do {{\n{step}}} while ({is_more});\n"
                if record.told.get("empty")
                else f"while ({is_more}) {{\n{step}}}\n"
            )
        else:
            out += write
        out += "}\n\n"
    return out + "}  // namespace plait::trace::detail\n"


def gets_of(record: Record) -> str:
    out = ""
    for field in record.members:
        raw = f"get<{field.stored}>(from, {field.at})"
        target = f"event.{field.name}"
        if field.type == "flag":
            out += f"{target} = ({raw} & {field.told['bit']}U) != 0;\n"
        elif field.type == "text":
            length = "event.length" if record.field("length") else "text_bytes_max"
            out += f"{target} = get_text(from, {field.at}, {length});\n"
        elif field.is_list:
            out += f"const auto list = get_list<{field.stored}, {field.told['length']}>(from, {field.at});\n"
            if count := record.field("count"):
                out += f"const std::size_t count = get<{count.stored}>(from, {count.at});\n"
            elif record.field("size"):
                rest = "event.size - std::min(event.first, event.size)"
                out += f"const std::size_t count = std::min<std::size_t>({rest}, {field.told['length']});\n"
            out += f"{target} = std::span{{list}}.first(std::min<std::size_t>(count, list.size()));\n"
        elif field.is_enum:
            out += f"{target} = static_cast<{field.type}>({raw});\n"
        else:
            braces = field.type in IDS or field.type in TIMES
            out += f"{target} = {field.event_type}{{{raw}}};\n" if braces else f"{target} = {raw};\n"
    return out


Check = tuple[str, str]  # a C++ condition that holds for what cannot be true, and the words of the notice


def checks_of(record: Record, schema: Schema) -> list[Check]:
    """As `_checks` of python/src/plait/readers/_rank_file.py."""
    noun = record.noun
    found: list[Check] = []
    if times := [f"event.{field.name}" for field in record.members if field.type in TIMES]:
        found.append((f"is_impossible({{{', '.join(times)}}})", f"{noun} with an impossible time"))
    if record.interval:
        first, last = (record.field(name) for name in record.interval)
        known = f"event.{last.name} != nanoseconds{{}} && " if last.told.get("unknown") else ""
        found.append((f"{known}event.{last.name} < event.{first.name}", f"{noun} ends before it starts"))
    for field in record.fields:
        found += check_of_field(record, field, schema)
    if record.list:
        found += checks_of_list(record, record.list)
    if record.field("length"):
        found.append(("event.length > text_bytes_max", f"{noun} that is longer than its record"))
    return found


def check_of_field(record: Record, field: Field, schema: Schema) -> list[Check]:
    noun, value = record.noun, f"event.{field.name}"
    not_there = f"{noun} of a rank that is not in the run"
    if field.is_enum:
        last = field.told.get("until") or schema.enums[field.type]["values"][-1]["name"]
        return [(f"{value} > {field.type}::{last}", f"{noun} with an unknown {field.told.get('column', field.name)}")]
    if field.type in ("rank", "rank_number"):
        number = f"{value}.value()" if field.type == "rank" else value
        if_set = f" && event.{field.optional}" if isinstance(field.optional, str) else ""
        none = f"!({number} == nothing{if_set}) && " if field.optional else ""
        return [(f"{none}{number} >= rank_count", not_there)]
    bad = {
        "worker": (f"is_bad_worker(get<std::uint16_t>(from, {field.at}))", f"{noun} of an impossible worker"),
        "size": (f"{value} > size_max", f"{noun} of an impossible size"),
        "message_object": (f"event.role != TaskRole::compute && {value} >> 32U >= rank_count", not_there),
        "f64": (f"!std::isfinite({value})", f"{noun} whose {field.name} is not finite"),
        "duration": (f"{value} < nanoseconds{{}}", f"{noun} with a negative {field.name.replace('_', ' ')}"),
    }
    return [bad[field.type]] if field.type in bad else []


def checks_of_list(record: Record, field: Field) -> list[Check]:
    noun, value = record.noun, f"event.{field.name}"
    found: list[Check] = []
    if record.field("count"):
        found.append(("count > list.size()", f"{noun} with more {field.name} than a record holds"))
    if record.field("first"):
        end = "event.size" if record.field("size") else "event.first + count"
        found.append((f"{end} > 2 * std::uint64_t{{rank_count}}", f"{noun} of more members than the run has ranks"))
    if record.field("size"):
        found.append(("event.first >= event.size", f"{noun} with a member beyond its size"))
    if field.element == "size":
        found.append((f"has_impossible_size({value})", f"{noun} of an impossible size"))
    elif field.element == "rank_number":
        found.append((f"has_other_rank({value}, rank_count)", f"{noun} of a rank that is not in the run"))
    return found


def decode_header(schema: Schema) -> str:
    out = HEAD + (
        "#pragma once\n\n#include <algorithm>\n#include <cmath>\n#include <cstddef>\n#include <cstdint>\n"
        '#include <span>\n\n#include "plait/trace/detail/bytes.hpp"\n#include "plait/trace/detail/checks.hpp"\n'
        '#include "plait/trace/detail/layout.hpp"\n#include "plait/trace/event.hpp"\n\n'
        "namespace plait::trace::detail {\n\n"
    )
    for record in schema.records:
        event = record.event.removeprefix("detail::")
        out += f"template <class Take>\nconst char* decode_{record.name}(const std::byte* from, "
        out += f"[[maybe_unused]] std::uint32_t rank_count, Take& take) {{\n{event} event;\n{gets_of(record)}"
        why = "".join(f'{condition} ? "{why}" : ' for condition, why in checks_of(record, schema))
        out += f"return take_if_true({why}nullptr, event, take);\n}}\n\n"
    out += (
        "/// Decodes the record at `from` and calls `take` with its event, whose texts and lists last for the call.\n"
        "/// Returns what about it cannot be true in a run of `rank_count` ranks, in which case it does not call;\n"
        "/// else nullptr, also for kinds of later versions.\ntemplate <class Take>\n"
        "[[nodiscard]] const char* decode(const std::byte* from, std::uint32_t rank_count, Take&& take) {\n"
        "switch (static_cast<Kind>(from[0])) {\n"
    )
    for record in schema.records:
        out += f"case Kind::{record.name}:\nreturn decode_{record.name}(from, rank_count, take);\n"
    out += "case Kind::none:\nbreak;\n}\nreturn nullptr;\n}\n\n"
    out += "/// The latest time in an event.\n"
    for record in schema.events:
        times = [f"event.{f.name}" for f in record.members if f.type == "time"]
        latest = f"std::max({{{', '.join(times)}}})" if len(times) > 1 else (times or ["nanoseconds{}"])[0]
        named = "event" if times else ""
        out += f"inline nanoseconds last_time(const {record.event}& {named}) {{ return {latest}; }}\n"
        if not record.list:
            pushed = "{thread, event}" if record.by_thread else "event"
            out += "inline void add(RankEvents& events, [[maybe_unused]] std::uint32_t thread, "
            out += f"const {record.event}& event) {{ events.{record.table}.push_back({pushed}); }}\n"
    return out + "\n}  // namespace plait::trace::detail\n"


def code_files(schema: Schema) -> dict[str, str]:
    return {
        "event.hpp": event_header(schema),
        "thread_recorder.hpp": recorder_header(schema),
        "thread_recorder.cpp": recorder_source(schema),
        "detail/layout.hpp": layout_header(schema),
        "detail/encode.hpp": encode_header(schema),
        "detail/decode.hpp": decode_header(schema),
    }


def formatted(path: pathlib.Path, text: str) -> str:
    beside = PROJECT / ".venv/bin/clang-format"
    tool = beside if beside.exists() else shutil.which("clang-format")
    if tool is None:
        raise SystemExit("there is no clang-format: run tools/setup")
    command = [str(tool), "--style=file", f"--assume-filename={path}"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def described_in_json(schema: Schema) -> str:
    """One line for each entry."""
    sections = []
    for name, entries in schema.told.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items())
        sections.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


# --- the document ---------------------------------------------------------------------------------


def table_of(fields: list[Field], schema: Schema) -> str:
    out = "| offset | type | field | |\n|---|---|---|---|\n"
    for field in sorted(fields, key=lambda field: (field.at, field.told.get("bit", 0))):
        kind = SHORT[field.stored]
        doc = field.doc
        if field.type == "text":
            kind = "56 bytes"
        elif field.is_list:
            kind = f"{field.told['length']} of {kind}"
        elif field.type == "flag":
            kind, doc = f"bit {field.told['bit']}", f"flag: {doc}"
        elif field.type == "name":
            number = [value["name"] for value in schema.enums["Role"]["values"]].index(field.told["role"])
            doc += f": a name's number, role {number}"
        elif field.is_enum:
            values = schema.enums[field.type]["values"]
            names = [value["name"] for value in values]
            allowed = values[: names.index(field.told.get("until", names[-1])) + 1]
            doc += ": " + "; ".join(f"{i} {value['doc']}" for i, value in enumerate(allowed))
        doc = doc.replace("|", "\\|")
        since = f" (since {field.told['since']})" if "since" in field.told else ""
        out += f"| {field.at} | {kind} | `{field.name}` | {doc}{since} |\n"
    return out


def sections(schema: Schema) -> dict[str, str]:
    header = "| offset | type | field | |\n|---|---|---|---|\n"
    for told in schema.told["header"]["fields"]:
        header += f"| {told['at']} | {told['type']} | `{told['name']}` | {told['doc']} |\n"
    header += f"| 48 | | | zeros to {schema.format['header_bytes']} |\n"
    records = "### Kind 0: the end\nNo more records in this chunk.\n\n"
    for record in schema.records:
        since = f" Since {record.told['since']}." if "since" in record.told else ""
        text = "\n".join(textwrap.wrap(record.doc + since, 120))
        records += f"### Kind {record.kind}: {record.noun}\n{text}\n\n{table_of(record.fields, schema)}\n"
    return {"header": header, "records": records.rstrip() + "\n"}


def document(schema: Schema, text: str) -> str:
    for name, section in sections(schema).items():
        begin, end = f"<!-- made by tools/make_trace_code.py: {name} -->\n", f"<!-- end of {name} -->\n"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text, count = re.subn(pattern, lambda _, s=section, b=begin, e=end: b + s + e, text, flags=re.S)
        if count != 1:
            raise SystemExit(f"{DOCUMENT}: there is no place for {name}: {begin!r} ... {end!r}")
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--also", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path)
    options = parser.parse_args()
    schema = Schema(SCHEMA, *([options.also] if options.also else []))
    described = described_in_json(schema)
    if options.into:
        made = {options.into / "plait/trace" / name: text for name, text in code_files(schema).items()}
        made[options.into / "schema.json"] = described
    else:
        places = {SCHEMA.parent / name: text for name, text in code_files(schema).items()}
        made = {path: formatted(path, text) for path, text in places.items()}
        made[PROJECT / "python/src/plait/trace_schema.json"] = described
        made[PROJECT / DOCUMENT] = document(schema, (PROJECT / DOCUMENT).read_text())
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if options.check:
            print(f"{path.relative_to(PROJECT)}:1: not what schema.toml describes: run tools/make_trace_code.py")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path])
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
