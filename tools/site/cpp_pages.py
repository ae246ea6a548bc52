# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the public headers: one a header, and one a folder that lists them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import markup
from declarations import Declaration

#: Headers below these are of libraries that programs do not include.
_NOT_FOR_PROGRAMS = re.compile(
    r"/(?:detail|engine|program|record|accelerate|preload|python)/|src/plait/(?:plait|fft|particles)\.hpp"
)
#: Folders in the order in which programs meet them.
_ORDER = ("runtime", "task", "comm", "data", "fft", "particles", "testing", "trace", "files", "net", "base", "replay")
_LABEL = re.compile(
    r"(?:^|(?<=[.)`:][ \n])|(?<=\n\n))(Throws|Threads|Cost|Expects|Invariants?|Errors|Units?|Returns): "
)


def is_public(path: str) -> bool:
    return path.startswith("src/plait/") and path.endswith(".hpp") and not _NOT_FOR_PROGRAMS.search(path)


def page_of(header: str) -> str:
    """Where the page of a header is in the site."""
    return f"reference/cpp/{header.removeprefix('src/plait/').removesuffix('.hpp')}.md"


def folder_of(header: str) -> str:
    """The folder below src/plait/."""
    return header.removeprefix("src/plait/").rpartition("/")[0]


class Names:
    """Where each name of a declaration is documented; code in comments becomes links to it."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._places: dict[str, set[str]] = {}
        self._members: dict[str, set[str]] = {}
        for one in declarations:
            self._add(one, one.file, f"{page_of(one.file)}#{anchor(one)}")

    def _add(self, one: Declaration, header: str, place: str) -> None:
        parts = one.qualified.split("::")
        for start in range(len(parts)):
            self._places.setdefault("::".join(parts[start:]), set()).add(place)
        if one.is_type or one.kind == "enum":
            names = self._members.setdefault(one.name, set())
            names.update(member.name for member in one.members)
            names.add(one.name)
        for member in one.members:
            if member.kind != "value":
                has_place = _is_described(member, one)
                self._add(member, header, f"{page_of(header)}#{anchor(member)}" if has_place else place)

    def place(self, name: str) -> str:
        """Page and anchor of what `name` can only mean; empty if it is unknown or ambiguous."""
        bare = re.sub(r"\(.*\)$", "", name)
        found = self._places.get(bare, set())
        # A plain word in lower case may be a parameter.
        is_clear = "::" in bare or bare[:1].isupper() or "(" in name
        return next(iter(found)) if len(found) == 1 and is_clear else ""

    def unknown_member(self, name: str) -> bool:
        """Whether `Type::member` names a type of these headers that has no such member."""
        match = re.fullmatch(r"(?:\w+::)*([A-Z]\w*)::(\w+)(?:\(.*\))?", name)
        return match is not None and match[1] in self._members and match[2] not in self._members[match[1]]


def _is_described(member: Declaration, of: Declaration) -> bool:
    """Whether a member has a section of its own, or a row of the table of variables."""
    if member.kind == "variable":
        return any(one.text for one in of.members if one.kind == "variable")
    same = [one for one in of.members if one.name == member.name]
    return any(one.text or one.is_type or one.kind == "enum" for one in same)


def anchor(one: Declaration) -> str:
    return re.sub(r"\W+", "-", one.short.replace("~", "destroy-")).strip("-")


def broken_references(declarations: Iterable[Declaration], names: Names) -> list[str]:
    """Code in comments that names a member which its type does not have."""
    found = []
    for one in declarations:
        for span in re.findall(r"`([^`\n]+)`", one.text):
            if names.unknown_member(span):
                found.append(f"{one.file}:{one.line}: the comment names {span}, which does not exist: name what does")
        found += broken_references((member for member in one.members if member.kind != "value"), names)
    return found


def header_page(header: str, declarations: Sequence[Declaration], names: Names, exported: Collection[str]) -> str:
    """`exported`: names that plait/plait.hpp brings into namespace plait. Links are relative to the header."""
    include = header.removeprefix("src/")
    here = page_of(header)
    parts = [f"# {include}\n", markup.fenced(f'#include "{include}"', "cpp"), f"[Source](source:{header})\n"]
    for group in _grouped(declarations):
        parts += _section(group, 2, names, here, exported)
    return "\n".join(parts)


def _grouped(declarations: Iterable[Declaration]) -> Iterator[list[Declaration]]:
    """Overloads are one group, where the first of them is."""
    groups: dict[tuple[str, bool], list[Declaration]] = {}
    for one in declarations:
        groups.setdefault((one.name, one.is_type or one.kind == "enum"), []).append(one)
    yield from groups.values()


def _section(group: list[Declaration], level: int, names: Names, here: str, exported: Collection[str]) -> Iterator[str]:
    first = group[0]
    title = f"{first.short}" if level == 2 else first.name
    yield f"{'#' * level} `{title}` {{ #{anchor(first)} }}\n"
    if level == 2 and first.qualified.startswith("plait::"):
        yield _namespace(first, exported)
    if first.is_type:
        yield from _type(first, level, names, here, exported)
        return
    # Each overload with a comment begins a block; those without belong to the one before.
    block: list[Declaration] = []
    for one in group:
        if block and one.text:
            yield from _block(block, names, here)
            block = []
        block.append(one)
    yield from _block(block, names, here)


def _namespace(one: Declaration, exported: Collection[str]) -> str:
    names = one.qualified.rpartition("::")[0]
    if one.qualified in exported and names != "plait":
        return f"*`plait::{one.name}`, of namespace `{names}`*\n"
    return f"*of namespace `{names}`*\n"


def _block(block: Sequence[Declaration], names: Names, here: str) -> Iterator[str]:
    yield markup.fenced("\n".join(f"{one.signature}{_end(one)}" for one in block), "cpp")
    text = next((one.text for one in block if one.text), "")
    if text:
        yield prose(text, names, here) + "\n"
    yield from _table(("value", "meaning"), block[0].members, names, here)


def _end(one: Declaration) -> str:
    return "" if one.kind == "define" or one.signature.endswith(";") else ";"


def _type(one: Declaration, level: int, names: Names, here: str, exported: Collection[str]) -> Iterator[str]:
    if one.text:
        yield prose(one.text, names, here) + "\n"
    if one.kind == "concept":
        yield markup.fenced(one.signature, "cpp")
        return
    lines = [one.signature.replace(one.qualified, one.name, 1) + " {"]
    for member in one.members:
        text = member.signature.replace(member.qualified, member.name, 1) + (";" if _end(member) else "")
        lines.append(markup.indented(text, 2))
    yield markup.fenced("\n".join([*lines, "};"]), "cpp")
    yield from _table(("member", "meaning"), [m for m in one.members if m.kind == "variable"], names, here)
    for group in _grouped(m for m in one.members if m.kind != "variable"):
        if any(m.text or m.is_type or m.kind == "enum" for m in group):
            yield from _section(group, min(level + 1, 5), names, here, exported)


def _table(head: tuple[str, str], rows: Sequence[Declaration], names: Names, here: str) -> Iterator[str]:
    if not any(row.text for row in rows):
        return
    yield f"| {head[0]} | {head[1]} |\n|---|---|"
    for row in rows:
        text = " ".join(prose(row.text, names, here).split()).replace("|", "\\|")
        place = f'<a id="{anchor(row)}"></a>' if row.qualified else ""
        yield f"| {place}`{row.name}` | {text} |"
    yield ""


def prose(text: str, names: Names, here: str) -> str:
    """The text of a comment, with links from code to what it names."""

    def link(match: re.Match[str]) -> str:
        place = names.place(match.group(1))
        if not place:
            return match.group()
        page, _, anchored = place.partition("#")
        # "site:" addresses are from the root of the site.
        return f"[{match.group()}]({f'#{anchored}' if page == here else f'site:{place}'})"

    paragraphs = []
    for part in re.split(r"\n{2,}(?!    )", markup.adapt(text)):
        words, _, code = part.partition("\n\n    ")
        if words.startswith("    "):
            words, code = "", words.strip()
        words = re.sub(r"(?<!\[)`([\w:~]+(?:\(\))?)`(?!\])", link, words)
        words = re.sub(r"`[^`\n]*`|<(?=\w)", lambda m: "&lt;" if m.group() == "<" else m.group(), words)
        paragraphs += [_LABEL.sub(lambda m: f"\n\n**{m.group(1)}:** ", words).strip()]
        if code:
            paragraphs.append(markup.fenced(re.sub(r"^    ", "", code, flags=re.MULTILINE), "cpp"))
    return "\n\n".join(filter(None, paragraphs))


def exported_names(umbrella: str) -> set[str]:
    """What plait/plait.hpp brings into namespace plait: plait::comm::Address and others."""
    return {f"plait::{name}" for name in re.findall(r"^using ([\w:]+);", umbrella, re.MULTILINE)}


def folder_page(folder: str, about: str, headers: Mapping[str, Sequence[Declaration]]) -> str:
    """Lists the headers of a folder with what each declares. Links are relative to the page."""
    rows = []
    for header, declarations in headers.items():
        file = page_of(header).rpartition("/")[2]
        names = ", ".join(
            f"[`{name}`]({file}#{place})" for name, place in {one.short: anchor(one) for one in declarations}.items()
        )
        rows.append(f"| [{header.rpartition('/')[2]}]({file}) | {names} |")
    return "\n".join([f"# {folder}/\n", f"{about}\n", "| header | declares |", "|---|---|", *rows, ""])


def rank_of(folder: str) -> tuple[int, str]:
    """Sorts folders: those first that programs meet first."""
    top = folder.partition("/")[0]
    return (_ORDER.index(top) if top in _ORDER else len(_ORDER), folder)


def tree(folders: Mapping[str, Iterable[str]]) -> list[object]:
    """The navigation: headers in the section of their folder, which is in that of the folder above."""
    found: list[object] = []
    sections: dict[str, list[object]] = {}
    for folder in sorted(folders, key=rank_of):
        above = next((p for p in _parents(folder) if p in sections), "")
        inside: list[object] = [f"reference/cpp/{folder}/index.md"]
        inside += [{header.rpartition("/")[2]: page_of(header)} for header in folders[folder]]
        sections[folder] = inside
        name = folder.removeprefix(f"{above}/") if above else folder
        (sections[above] if above else found).append({f"{name}/": inside})
    return found


def _parents(folder: str) -> Iterator[str]:
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        yield folder


def names_of(headers: Mapping[str, Sequence[Declaration]]) -> str:
    """The first types and functions of a folder, where its purpose is not described."""
    names = list(dict.fromkeys(one.short for inside in headers.values() for one in inside))
    return ", ".join(f"`{name}`" for name in names[:4]) + (", ..." if len(names) > 4 else "")


def index_page(folders: Mapping[str, str], where: Callable[[str], str]) -> str:
    """`folders`: what each is for; `where`: link to its page."""
    rows = [f"| [{name}/]({where(name)}) | {about} |" for name, about in folders.items()]
    return "\n".join(
        [
            "# C++\n",
            "Programs include one header for each library that they link. The pages below have its parts, a page for",
            "each header; the names that programs use most are in namespace `plait` too.\n",
            "| include | link | has |",
            "|---|---|---|",
            '| `"plait/plait.hpp"` | `plait::core` | tasks, messages, collections, balancing, traces |',
            '| `"plait/fft.hpp"` | `plait::fft` | Fourier transforms |',
            '| `"plait/particles.hpp"` | `plait::particles` | trees, neighbours, domains, time steps |',
            "",
            "| folder | |",
            "|---|---|",
            *rows,
            "",
        ]
    )
