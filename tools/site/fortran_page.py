# SPDX-License-Identifier: Apache-2.0
"""The pages of the Fortran modules: their procedures and types, with the comments above them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import markup

#: The modules, with the title and the place of their pages.
MODULES = {
    "src/plait/fortran/plait.F90": ("Fortran", "reference/fortran.md"),
    "src/plait/fortran_particles/plait_particles.f90": ("Fortran: particles", "reference/fortran-particles.md"),
}
_BEGIN = re.compile(
    r"^\s*(?:(?:pure|elemental|impure|recursive|module)\s+)*"
    r"(?:type\([\w:]+\)\s+|integer(?:\([\w:]+\))?\s+|logical(?:\([\w:]+\))?\s+|real(?:\([\w:]+\))?\s+)?"
    r"(?P<kind>subroutine|function|type|interface)(?:\s*,[^:\n]*)?(?:\s*::)?\s+(?P<name>\w+)",
    re.IGNORECASE,
)


def page(path: str, source: str, in_c: Mapping[str, str]) -> str:
    """`in_c`: the names that pages of headers for C document, with the page of each."""
    text = re.sub(r"&[ \t]*\n\s*&?", "", source)
    public = _public_names(text)
    parts = [f"# {MODULES[path][0]}\n", markup.fenced(f"use {Path(path).stem}", "fortran")]
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
            parts += [f"{_in_c(name, in_c)} has the rest.\n"] if name in in_c else []
        comment = []
    others = [name for name in sorted(in_c) if name.lower() in public - described]
    if others:
        parts += ["## As in C\n", "\n".join(f"- {_in_c(name, in_c)}" for name in others), ""]
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


def _in_c(name: str, in_c: Mapping[str, str]) -> str:
    return f"[`{name}`](site:{in_c[name]}#{name})"


def _prose(comment: list[str]) -> str:
    return "\n".join(line for line in comment if not line.startswith("SPDX-")) + "\n"
