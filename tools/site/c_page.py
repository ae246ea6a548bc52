# SPDX-License-Identifier: Apache-2.0
"""The pages of the headers for C programs: their declarations, with the comments above them."""

from __future__ import annotations

import re

import markup

#: The headers, with the title and the place of their pages.
HEADERS = {
    "src/plait/plait.h": ("C", "reference/c.md"),
    "src/plait/plait_particles.h": ("C: particles", "reference/c-particles.md"),
}
_SECTION = re.compile(r"/\* -{3,} *(.*?) *-{3,} \*/")
#: A comment at the start of a line, a preprocessor line, an empty line, or a line of code.
_PART = re.compile(r"^/\*.*?\*/[ \t]*$|^#.*$|^[ \t]*$|^.+$", re.MULTILINE | re.DOTALL)


def page(header: str, source: str) -> str:
    include = header.removeprefix("src/")
    parts = [f"# {HEADERS[header][0]}\n", markup.fenced(f'#include "{include}"', "c")]
    comment, code, is_first = "", [], True
    for line in [*_parts(source), ""]:
        is_end = not line.strip() or line.startswith("/*")
        if code and is_end and _is_whole("\n".join(code)):
            parts += _declaration(comment, "\n".join(code))
            comment, code = "", []
        if match := _SECTION.fullmatch(line):
            parts.append(f"## {match.group(1)}\n")
        elif line.startswith("/*") and not code:
            text = _prose(line)
            if is_first and "SPDX-" not in text:
                parts.append(f"{text}\n")
                is_first = False
            comment = text
        elif line.strip() and not line.startswith(("#", "}  /*", 'extern "C"')) and line != "}":
            code.append(line)
    parts += ["## The header\n", markup.fenced(source, "c", header)]
    return "\n".join(parts)


def names(header: str, source: str) -> set[str]:
    """The declarations that have a section in the page."""
    return set(re.findall(r"\{ #(\w+) \}", page(header, source)))


def _parts(source: str) -> list[str]:
    """Comments that begin a line as one part each; all other lines one by one."""
    found, at = [], 0
    while at < len(source):
        comment = source.startswith("/*", at)
        end = source.find("*/", at) + 2 if comment else at
        end = source.find("\n", end)
        end = len(source) if end < 0 else end
        found.append(source[at:end])
        at = end + 1
    return found


def _is_whole(code: str) -> bool:
    """Whether a declaration ends here: not within braces, where empty lines may be."""
    bare = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    return bare.count("{") == bare.count("}") and bare.rstrip().endswith((";", "}"))


def _declaration(comment: str, code: str) -> list[str]:
    name = re.search(r"(?:^|[\s*(])(plait_\w+)\s*\)?\s*\(", code) or re.search(r"(\w+)\s*;\s*$", code.rstrip())
    name = name or re.search(r"enum\s*\{\s*(\w+)", code)
    title = name.group(1) if name else code.split()[0]
    text = f"{comment}\n" if comment else ""
    return [f"### `{title}` {{ #{title} }}\n", markup.fenced(code, "c"), text]


def _prose(comment: str) -> str:
    """The text of a comment. What is indented in it is code."""
    lines = [re.sub(r"^ ?\* ?", "", line) for line in comment.strip()[2:-2].split("\n")]
    text, code = [], []
    for line in [*(one.rstrip() for one in lines), ""]:
        if line.startswith("    "):
            code.append(line[4:])
            continue
        if code:
            text += ["", markup.fenced("\n".join(code), "c")]
            code = []
        text.append(line.strip())
    return "\n".join(text).strip()
