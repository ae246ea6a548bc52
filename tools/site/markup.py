# SPDX-License-Identifier: Apache-2.0
"""Changes Markdown as GitHub reads it into Markdown as the site's tools read it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"^ *(```+|~~~+)(.*)$")
_LIST_ITEM = re.compile(r"^( *)([-*+]|\d+[.)])( +)(?=\S)")
#: Inline code, which may continue on the next line of its paragraph or list item.
_CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?:[^\n]|\n(?! *(?:\n|$|[-*+|>#]|\d+[.)])))*?(?<!`)(?P=ticks)(?!`)")
#: A link or an image, with its title if it has one.
_LINK = re.compile(r"(?<=\]\()(<[^>\n]+>|[^()\s]+)(?=(?: +\"[^\"\n]*\")?\))")


def adapt(text: str) -> str:
    """Lists begin after an empty line and are indented by four; a fence names its language only."""
    out: list[str] = []
    for line, is_code in lists_by_four(text):
        if not is_code and (match := _FENCE.match(line)) and match.group(2).strip():
            line = line[: match.end(1)] + match.group(2).split()[0]
        out.append(line)
    return "\n".join(out)


def lists_by_four(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is code inside of a fence."""
    items: list[int] = []  # column of the text of each open list item
    fence = ""
    before = ""
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if fence:
            yield _moved(line, items), not line.strip().startswith(fence)
            if line.strip() == fence:
                fence = ""
            before = line
            continue
        if not line.strip():
            yield "", False
            before = line
            continue
        item = _LIST_ITEM.match(line)
        while items and indent < items[-1] and (item or not before.strip() or before.startswith("#")):
            items.pop()
        moved = _moved(line, items)
        if item:
            starts_list = before.strip() and not _LIST_ITEM.match(before) and not before.startswith(" ")
            if starts_list and not before.startswith("|"):
                yield "", False
            items.append(item.end())
            moved = f"{' ' * 4 * (len(items) - 1)}{item.group(2)} {line[item.end() :]}"
        if match := _FENCE.match(line):
            fence = match.group(1)
        yield moved, False
        before = line


def _moved(line: str, items: list[int]) -> str:
    if not items or not line.strip():
        return line
    indent = len(line) - len(line.lstrip(" "))
    return " " * (4 * len(items) + max(0, indent - items[-1])) + line.lstrip(" ")


def with_links(text: str, target: Callable[[str], str]) -> str:
    """Replaces where each link and image leads, outside of code. `target`: new address by old one."""

    def replace(match: re.Match[str]) -> str:
        address = match.group(1)
        if address is None:
            return match.group()
        return target(address.strip("<>"))

    parts = []
    for is_code, lines in itertools.groupby(_lines(text), key=lambda line: line[1]):
        part = "\n".join(line for line, _ in lines)
        # Inline code is matched as a whole, and kept.
        parts.append(part if is_code else re.sub(f"{_LINK.pattern}|{_CODE.pattern}", replace, part))
    return "\n".join(parts)


def links_in(text: str) -> list[str]:
    found: list[str] = []

    def note(address: str) -> str:
        found.append(address)
        return address

    with_links(text, note)
    return found


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    fence = ""
    for line in text.split("\n"):
        if fence:
            yield line, True
            if line.strip() == fence:
                fence = ""
            continue
        if match := _FENCE.match(line):
            fence = match.group(1)
        yield line, bool(fence)


def title_of(text: str) -> str:
    match = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def fenced(code: str, language: str = "", title: str = "") -> str:
    """A block of code, with a fence that does not occur in it."""
    longest = max((len(m.group()) for m in re.finditer(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    head = f'{language} title="{title}"' if title else language
    return f"{fence}{head}\n{code.rstrip()}\n{fence}\n"


def escaped(text: str) -> str:
    """Plain text as Markdown."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;")):
        text = text.replace(sign, entity)
    return re.sub(r"([\\`*_\[\]{}])", r"\\\1", text)


def escaped_but_code(text: str) -> str:
    """As `escaped`; what is in backquotes stays code."""
    return re.sub(r"`[^`]+`|[^`]+|`", lambda m: m.group() if m.group().startswith("`") else escaped(m.group()), text)


def indented(text: str, by: int = 4) -> str:
    return "\n".join(" " * by + line if line.strip() else "" for line in text.split("\n"))
