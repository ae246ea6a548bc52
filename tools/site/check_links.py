# SPDX-License-Identifier: Apache-2.0
"""Checks the pages of a built site: every link inside of it leads to a page and, if it names one, to a heading there;
nothing is loaded from elsewhere."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

#: Elements that the browser loads by itself, with the attribute that names what.
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@dataclass
class Page(HTMLParser):
    """Anchors, links and loaded files of one page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        is_link_only = tag == "link" and values.get("rel") in ("canonical", "prev", "next")
        if (address := values.get(_LOADED.get(tag, ""))) and not is_link_only:
            self.loaded.append(address)


def read(folder: Path) -> dict[str, Page]:
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.relative_to(folder).as_posix()] = page
    return pages


def broken(folder: Path, pages: dict[str, Page]) -> Iterator[str]:
    """What is wrong, a line each."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name, page in pages.items():
        for address in page.loaded:
            if _is_external(address):
                yield f"{name}: loads {address}: nothing may come from elsewhere"
            elif _target(name, address)[0] not in files and not address.startswith("data:"):
                yield f"{name}: loads {address}, which does not exist"
        for address in dict.fromkeys(page.links):
            if _is_external(address) or address.startswith(("mailto:", "javascript:")):
                continue
            target, anchor = _target(name, address)
            if target not in files:
                yield f"{name}: the link {address} leads nowhere"
            elif anchor and not anchor.startswith("__") and target in pages and anchor not in pages[target].anchors:
                yield f"{name}: the link {address} leads to no heading of {target}"


def external(pages: dict[str, Page]) -> list[str]:
    return sorted({address for page in pages.values() for address in page.links if _is_external(address)})


def _is_external(address: str) -> bool:
    return re.match(r"(?:[a-z]+:)?//", address) is not None


def _target(name: str, address: str) -> tuple[str, str]:
    path, _, anchor = address.partition("#")
    path = path.partition("?")[0]
    full = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
    return ("index.html" if full == "." else full), unquote(anchor)
