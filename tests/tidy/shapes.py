# SPDX-License-Identifier: Apache-2.0
"""Rules about the shape of the code: sizes of classes, names of public types, what public headers include."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

import rules

METHODS_MAX = 25
FIELDS_MAX = 15

_TYPE = re.compile(
    r"(?<!friend )\b(class|struct|union|enum(?:\s+class|\s+struct)?)\s+"
    r"(?:alignas\s*\([^()]*(?:\([^()]*\))?[^()]*\)\s*)?"
    r"(?:\[\[[^\]]*\]\]\s*)?(?:[A-Z_]{4,}\s+)?([A-Za-z_]\w*)\s*(?:<[^;{}]*>)?\s*(?:final\s*)?(?::[^:;{}][^;{}]*)?\{"
)
_NAMESPACE = re.compile(r"\bnamespace(?:\s+([\w:]+))?\s*\{")
_NO_MEMBER = re.compile(r"(?:using|typedef|friend|static_assert|enum|class|struct|union|template\s+class)\b")


@dataclasses.dataclass(frozen=True)
class Type:
    name: str  # with its namespaces and the types around it
    line: int
    methods: int
    fields: int
    is_nested: bool  # in another type


def is_public_header(path: str) -> bool:
    return path.startswith("src/plait/") and path.endswith(".hpp") and "/detail/" not in path


def closing(code: str, opening: int) -> int:
    """The position of the brace that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)


def without_preprocessor(text: str) -> str:
    lines = rules.code_only(text).split("\n")
    return "\n".join("" if line.lstrip().startswith("#") else line for line in lines)


def declarations(body: str) -> Iterator[str]:
    """The declarations of a class, each without its body or initialiser."""
    at, start = 0, 0
    while at < len(body):
        if body[at] == "{":
            head = body[start:at]
            end = closing(body, at)
            follows = body[end + 1 :].lstrip()[:1]
            # A function's body ends its declaration; a brace initialiser is followed by more.
            if "(" in head and follows not in (",", ";", "{", ":"):
                yield head
                at = start = end + 1
                continue
            body = body[:at] + " " * (end + 1 - at) + body[end + 1 :]
            if "(" in head and follows == ";":
                yield head
                at = start = body.index(";", end) + 1
                continue
        elif body[at] == ";":
            yield body[start:at]
            start = at + 1
        at += 1


def members(body: str) -> tuple[int, int]:
    """Member functions, but for those that are defaulted or deleted, and data members."""
    methods = fields = 0
    for declaration in declarations(body):
        text = re.sub(r"\b(?:public|private|protected)\s*:", " ", declaration)
        text = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)", " ", text, flags=re.DOTALL)
        while (shorter := re.sub(r"<[^<>;{}]*>", " ", text)) != text:
            text = shorter
        text = re.sub(r"\btemplate\b|\brequires\b[^;{]*?(?=\b(?:auto|void|\w+)\s+\w+\s*\()", " ", text).strip()
        if not text or _NO_MEMBER.match(text):
            continue
        head = re.split(r"(?<!operator)=(?!=)", text, maxsplit=1)
        if "(" in head[0] or "operator" in head[0]:
            methods += not re.search(r"=\s*(?:default|delete)\s*$", text)
        elif not re.match(r"(?:inline\s+|const\s+)*(?:static|constexpr)\b", text):
            fields += 1 + head[0].count(",")
    return methods, fields


def types_in(text: str) -> list[Type]:
    """Of a header: its types with their sizes; nested ones after those around them."""
    code = without_preprocessor(text)
    opened = [(m.end() - 1, m.group(1) or "", None) for m in _NAMESPACE.finditer(code)]
    opened += [(m.end() - 1, m.group(2), m) for m in _TYPE.finditer(code)]
    scopes = [(at, closing(code, at), name, match) for at, name, match in sorted(opened, key=lambda s: s[0])]
    found = []
    for at, end, name, match in scopes:
        if match is None:
            continue
        around = [scope for scope in scopes if scope[0] < at and end < scope[1]]
        full = "::".join([s[2] for s in around if s[2]] + [name])
        sizes = (0, 0) if match.group(1).startswith("enum") else members(code[at + 1 : end])
        is_nested = any(scope[3] for scope in around)
        found.append(Type(full, rules.line_of(code, match.start()), *sizes, is_nested))
    return found


def classes_stay_small(path: str, text: str, exceptions: Mapping[str, Mapping[str, object]]) -> list[str]:
    """`exceptions` maps `path:Class` to limits and a reason."""
    found = []
    for type_ in types_in(text):
        key = f"{path}:{type_.name.rpartition('::')[2]}"
        limits = exceptions.get(key, {})
        for what, count, limit in (
            ("member functions", type_.methods, limits.get("methods", METHODS_MAX)),
            ("data members", type_.fields, limits.get("fields", FIELDS_MAX)),
        ):
            if isinstance(limit, int) and count > limit:
                found.append(
                    f"{path}:{type_.line}: {type_.name} has {count} {what}, limit {limit}: move an idea into a class "
                    f'of its own, or give "{key}" a reason in tests/tidy/exceptions.toml'
                )
    return found


def public_headers_include_no_detail(path: str, text: str) -> list[str]:
    if not is_public_header(path):
        return []
    return [
        f"{path}:{line}: a public header includes {name}: declare its types only, or move it out of detail/"
        for line, _, name in rules.includes(text)
        if name.startswith("plait/") and "/detail/" in name
    ]


def repeated_type_names(headers: Mapping[str, str], exceptions: Mapping[str, str]) -> list[str]:
    """Of public headers: types at namespace scope that share a name; `exceptions` maps a name to a reason."""
    where: dict[str, dict[str, str]] = {}
    for path in sorted(headers):
        if not is_public_header(path):
            continue
        for type_ in types_in(headers[path]):
            spaces, _, name = type_.name.rpartition("::")
            if type_.is_nested or "detail" in spaces.split("::"):
                continue
            where.setdefault(name, {}).setdefault(type_.name, f"{path}:{type_.line}")
    found = []
    for name, places in sorted(where.items()):
        if len(places) > 1 and name not in exceptions:
            others = ", ".join(f"{full} ({place})" for full, place in list(places.items())[1:])
            first, place = next(iter(places.items()))
            found.append(f"{place}: {first} shares its name with {others}: rename one")
        elif len(places) == 1 and name in exceptions:
            found.append(f"tests/tidy/exceptions.toml:1: there is one type {name} only: delete its line")
    found += [
        f"tests/tidy/exceptions.toml:1: there is no type {name}: delete its line"
        for name in exceptions
        if name not in where
    ]
    return found


# 0 is the world of an endpoint: `comm::world`.
_COMM = re.compile(
    r"\bCommId\s*(?:\w+\s*)?[{(]\s*\d[\w\']*|\b(?:first_comm|\w+_comm)\s*=\s*\d[\w\']*|\binternal\.value\(\)\s*\+"
)


def communicators_are_claimed(path: str, text: str) -> list[str]:
    if not path.startswith(("src/", "apps/")):
        return []
    code = rules.code_only(text)
    return [
        f"{path}:{rules.line_of(code, m.start())}: the number of a communicator: claim one (Endpoint::claim_comms)"
        for m in _COMM.finditer(code)
    ]
