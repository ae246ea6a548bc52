# SPDX-License-Identifier: Apache-2.0
"""The navigation of the site, from the tables of docs/README.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Section:
    """One kind of page, such as how-to guides, with its groups: title of a group (or ''), and (title, path) of each."""

    title: str
    aim: str
    text: str
    groups: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)

    @property
    def pages(self) -> list[tuple[str, str]]:
        return [page for _, pages in self.groups for page in pages]


def sections_of(index: str) -> list[Section]:
    """Sections of docs/README.md: '## Kind: what it is for', with tables whose rows begin with a link."""
    found = []
    for block in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        head, _, text = block.partition("\n")
        title, _, aim = head.partition(": ")
        section = Section(title.strip(), aim.strip(), text.strip())
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if re.match(r"\|[-| ]+\|$", line) and number:
                name = lines[number - 1].strip("| ").partition("|")[0].strip()
                section.groups.append((f"{name[:1].upper()}{name[1:]}", []))
            elif match := re.match(r"\| \[(.+?)\]\((\S+?)\) \|", line):
                section.groups[-1][1].append((match.group(1), match.group(2)))
        found.append(section)
    return found


def entries(section: Section, places: dict[str, str]) -> list[object]:
    """The section's pages as MkDocs' navigation. `places`: place in the site of a path in docs/."""

    def of(pages: Sequence[tuple[str, str]]) -> list[object]:
        return [{title: places[path]} for title, path in pages]

    found: list[object] = []
    for name, pages in section.groups:
        found += [{name: of(pages)}] if name else of(pages)
    return found
