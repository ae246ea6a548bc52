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
LIST_BYTES = 48

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
            if field.is_list and (field.at < 64 - LIST_BYTES or field.at + field.bytes != 64):
                raise SystemExit(
                    f"{self.name}.{field.name}: a list takes the last bytes of a record, at most {LIST_BYTES}"
                )

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
    out += "\n"
    for record in schema.events:
        if not record.list:
            thread, held = ("thread", "{thread, event}") if record.by_thread else ("/*thread*/", "event")
            out += f"  void add(std::uint32_t {thread}, const {record.event}& event) "
            out += f"{{ {record.table}.push_back({held}); }}\n"
    return out + "};\n\n}  // namespace plait::trace\n"


def recorder_header(schema: Schema) -> str:
    out = HEAD + (
        "#pragma once\n\n#include <cstdint>\n#include <string>\n#include <utility>\n\n"
        '#include "plait/trace/event.hpp"\n#include "plait/trace/record_writer.hpp"\n\n'
        "namespace plait::trace {\n\nnamespace detail {\nclass EventProfile;\n}\n\n"
        "/// Records the events of one thread: about 20 ns each; when tracing is off, one predictable branch.\n///\n"
        "/// Owned by its `Recorder`. The worker of an event is this recorder's. An event is in the file when the\n"
        "/// call returns, also if the process is killed then. Of a profile, events are counted, and recorded in\n"
        "/// windows only. Threads: one at a time.\n"
        "class ThreadRecorder final : public RecordWriter {\n public:\n"
        "  /// As `RecordWriter`. Borrows the profile; null: all events are recorded.\n"
        "  ThreadRecorder(ChunkSource* chunks,\n                 std::uint16_t worker,\n"
        "                 std::string thread_name,\n"
        "                 detail::EventProfile* profile = nullptr) noexcept\n"
        "      : RecordWriter{chunks, worker, std::move(thread_name)}, profile_{profile} {}\n\n"
    )
    for record in schema.events:
        if record.list:
            least = ", at least one" if record.told.get("empty") else ""
            out += f"  /// One record for each {record.list.told['length']} of `{record.list.name}`{least}.\n"
        out += f"  void {record.name}(const {record.event}& event) noexcept {{ record(event); }}\n"
    return out + (
        "\n private:\n  template <class Event>\n  void record(const Event& event) noexcept {\n"
        "    if (is_on()) {\n      write(event);\n    }\n  }\n"
        "  template <class Event>\n  void write(const Event& event) noexcept;\n\n"
        "  detail::EventProfile* profile_;\n};\n\n}  // namespace plait::trace\n"
    )


def recorder_source(schema: Schema) -> str:
    out = HEAD + (
        '#include "plait/trace/thread_recorder.hpp"\n\n#include "plait/trace/detail/encode.hpp"\n'
        '#include "plait/trace/detail/event_profile.hpp"\n\n'
        "namespace plait::trace {\n\n"
        "template <class Event>\nvoid ThreadRecorder::write(const Event& event) noexcept {\n"
        "  if (profile_ == nullptr || profile_->keeps(event, *this)) {\n"
        "    detail::encode(event, *this);\n  }\n}\n\n"
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


def description_of(record: Record, field: Field, schema: Schema) -> str:
    """The call that describes a field; its words are those of `_checks` in python/src/plait/readers/_rank_file.py."""
    value = f"{field.at}, event.{field.name}"
    if field.type == "worker":
        return f"record.worker({field.at});\n"
    if record.list and field.name == "count":
        return f"record.count({field.at}, static_cast<{field.stored}>(event.{record.list.name}.size()));\n"
    if field.is_list:
        return f"record.{ {'size': 'sizes', 'rank_number': 'ranks'}.get(field.element, 'list') }({value});\n"
    if field.is_enum:
        last = field.told.get("until") or schema.enums[field.type]["values"][-1]["name"]
        words = f"with an unknown {field.told.get('column', field.name)}"
        return f'record.choice({value}, {field.type}::{last}, "{words}");\n'
    if field.type in ("rank", "rank_number"):
        may_be_none = f"event.{field.optional}" if isinstance(field.optional, str) else str(field.optional).lower()
        return f"record.rank({value}, {may_be_none});\n"
    call, more = {
        "time": ("time", ""),
        "shift": ("shift", ""),
        "duration": ("duration", f', "with a negative {field.name.replace("_", " ")}"'),
        "flag": ("flag", f", {field.told.get('bit')}U"),
        "text": ("text", ", event.length" if record.field("length") else ", text_bytes_max"),
        "size": ("size", ""),
        "message_object": ("object", ", event.role"),
    }.get(field.type, ("value", ""))
    return f"record.{call}({value}{more});\n"


def describes(record: Record, schema: Schema) -> str:
    """Times first and flags before what depends on them; of a list, the fields with its length before it."""
    event = record.event.removeprefix("detail::")
    out = f'template <class Record>\nvoid describe(Record& record, {event}& event) {{\nrecord.begin("{record.noun}");\n'
    firsts = [[f for f in record.members if f.type in TIMES], [f for f in record.fields if f.type == "flag"]]
    out += "".join(description_of(record, field, schema) for field in firsts[0])
    if record.interval:
        first, last = (record.field(name) for name in record.interval)
        is_known = f"event.{last.name} != nanoseconds{{}}" if last.told.get("unknown") else "true"
        out += f"record.interval(event.{first.name}, event.{last.name}, {is_known});\n"
    rest = [f for f in record.fields if f.type not in (*TIMES, "flag") and not f.is_list]
    out += "".join(description_of(record, field, schema) for field in [*firsts[1], *rest])
    if record.list:
        has_size = record.field("size") is not None
        out += "record.part_of(event.first, event.size);\n" if has_size else ""
        out += description_of(record, record.list, schema)
        out += "record.part(event.first);\n" if record.field("first") and not has_size else ""
    return out + "}\n\n"


def records_header(schema: Schema) -> str:
    out = HEAD + (
        "#pragma once\n\n#include <cstddef>\n#include <cstdint>\n#include <type_traits>\n\n"
        '#include "plait/trace/detail/layout.hpp"\n#include "plait/trace/event.hpp"\n\n'
        "/// The records: what encode.hpp writes and decode.hpp reads, each field at its offset.\n"
        "namespace plait::trace::detail {\n\n"
        "template <class Described, Kind number>\nstruct RecordOf {\nusing Event = Described;\n"
        "static constexpr Kind kind = number;\n};\ntemplate <class... All>\nstruct RecordList {};\n"
    )
    names = (f"RecordOf<{r.event.removeprefix('detail::')}, Kind::{r.name}>" for r in schema.records)
    out += f"using Records = RecordList<{', '.join(names)}>;\n\n" + (
        "/// The kind of the record that an event becomes.\ntemplate <class Event, class... All>\n"
        "[[nodiscard]] consteval Kind kind_of(RecordList<All...> /*all*/) {\nKind kind = Kind::none;\n"
        "((kind = std::is_same_v<Event, typename All::Event> ? All::kind : kind), ...);\nreturn kind;\n}\n\n"
        "/// The list of an event, which takes the rest of its record, and of further ones if it is longer.\n"
        "template <class Event>\ninline constexpr std::nullptr_t list_of = nullptr;\n"
    )
    lists = [record for record in schema.records if record.list]
    for record in lists:
        out += f"template <>\ninline constexpr auto list_of<{record.event}> = &{record.event}::{record.list.name};\n"
    out += (
        "/// The entries of it in one record.\ntemplate <class Event>\ninline constexpr std::size_t list_length = 0;\n"
    )
    for record in lists:
        length = record.list.told["length"]
        out += f"template <>\ninline constexpr std::size_t list_length<{record.event}> = {length};\n"
    out += "/// The most bytes that it takes.\n"
    out += f"inline constexpr std::size_t list_bytes = {LIST_BYTES};\n/// Whether an empty list leaves a record, too.\n"
    empty = " || ".join(f"std::is_same_v<Event, {r.event}>" for r in lists if r.told.get("empty"))
    out += f"template <class Event>\ninline constexpr bool records_empty_list = {empty or 'false'};\n\n"
    out += "// Each `describe` calls a member of `record` for each field of an event: a writer's or a reader's.\n\n"
    out += "".join(describes(record, schema) for record in schema.records)
    return out + "}  // namespace plait::trace::detail\n"


def code_files(schema: Schema) -> dict[str, str]:
    return {
        "event.hpp": event_header(schema),
        "thread_recorder.hpp": recorder_header(schema),
        "thread_recorder.cpp": recorder_source(schema),
        "detail/layout.hpp": layout_header(schema),
        "detail/records.hpp": records_header(schema),
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
        shutil.rmtree(options.into / "plait", ignore_errors=True)  # an earlier version may have written other files
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
