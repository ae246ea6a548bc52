# SPDX-License-Identifier: Apache-2.0
"""The page of the Fortran module: its procedures and types, with the comments above them."""

from __future__ import annotations

import re
from collections.abc import Collection

import markup

_MODULE = re.compile(r"src/plait/fortran/plait\.[fF]90")
_BEGIN = re.compile(
    r"^\s*(?:(?:pure|elemental|impure|recursive|module)\s+)*"
    r"(?:type\([\w:]+\)\s+|integer(?:\([\w:]+\))?\s+|logical(?:\([\w:]+\))?\s+|real(?:\([\w:]+\))?\s+)?"
    r"(?P<kind>subroutine|function|type|interface)(?:\s*,[^:\n]*)?(?:\s*::)?\s+(?P<name>\w+)",
    re.IGNORECASE,
)


def module_of(files: Collection[str]) -> str:
    return next((path for path in sorted(files) if _MODULE.fullmatch(path)), "")


def page(path: str, source: str, in_c: Collection[str] = ()) -> str:
    """`in_c`: names that the page of the header for C documents."""
    text = re.sub(r"&[ \t]*\n\s*&?", "", source)
    public = _public_names(text)
    parts = ["# Fortran\n", markup.fenced("use plait", "fortran")]
    comment: list[str] = []
    described: set[str] = set()
    lines = text.split("\n")
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith("!"):
            comment.append(stripped.lstrip("!<> "))
            continue
        match = _BEGIN.match(line)
        name = match.group("name") if match else ""
        if comment and re.match(r"module\s+\w+$", stripped, re.IGNORECASE):
            parts.append(_prose(comment))
        elif comment and name.lower() in public and not stripped.lower().startswith("end"):
            described.add(name.lower())
            code = "\n".join([stripped, *_dummies(lines[number + 1 :])])
            parts += [f"## `{name}` {{ #{name} }}\n", markup.fenced(code, "fortran"), _prose(comment)]
            parts += [f"{_in_c(name)} has the rest.\n"] if name in in_c else []
        comment = []
    others = [name for name in sorted(in_c) if name.lower() in public - described]
    if others:
        parts += ["## As in C\n", "\n".join(f"- {_in_c(name)}" for name in others), ""]
    parts += ["## Source\n", markup.fenced(source, "fortran", path)]
    return "\n".join(parts)


def _public_names(text: str) -> set[str]:
    """Names in lower case: of public statements and attributes, or all if the module has no private statement."""
    listed = re.findall(r"^\s*public\s*(?:::)?\s+(.+)$", text, re.IGNORECASE | re.MULTILINE)
    listed += re.findall(r"^.*\bpublic\b[^!\n]*::(.+)$", text, re.IGNORECASE | re.MULTILINE)
    if not re.search(r"^\s*private\s*$", text, re.IGNORECASE | re.MULTILINE):
        listed.append(text)
    return set(re.findall(r"[a-z]\w*", " ".join(listed).lower()))


def _dummies(lines: list[str]) -> list[str]:
    """Declarations of arguments that follow the line of a procedure."""
    found = []
    for line in lines:
        if not re.search(r"::", line) or not re.search(r"intent|optional|value|target|procedure|dimension", line):
            break
        found.append(f"  {line.strip()}")
    return found


def _in_c(name: str) -> str:
    return f"[`{name}`](site:reference/c.md#{name})"


def _prose(comment: list[str]) -> str:
    return "\n".join(line for line in comment if not line.startswith("SPDX-")) + "\n"
