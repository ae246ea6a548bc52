# SPDX-License-Identifier: Apache-2.0
"""The pages of the site as Markdown: which file of the project is which page, and where their links lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection
from pathlib import PurePosixPath

import example_pages
import manuals
import markup
import notebooks

#: Folders whose page is another one than a list of their files.
FOLDERS = {
    "apps": "programs/index.md",
    "docs": "project/documents.md",
    "examples": "examples/index.md",
    "python": "reference/python.md",
    "src/plait": "reference/cpp/index.md",
}
_PICTURES = (".png", ".svg", ".jpg", ".gif")
_LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".py": "python", ".f90": "fortran", ".toml": "toml"}
_LANGUAGES |= {".json": "json", ".cmake": "cmake", ".yml": "yaml", "": "sh", ".sh": "sh"}
#: A line each in a list of files; a source page for each would be too many.
_FOLDER_MAX = 150


class Site:
    """All pages, by their place in the site.

    `files`: paths in the project; `read`: the text of one. Pages of headers are added by `add` before `resolve`.
    """

    def __init__(self, files: Collection[str], read: Callable[[str], str]) -> None:
        self.files = frozenset(files)
        self.folders = {str(parent) for path in files for parent in PurePosixPath(path).parents} - {"."}
        self.read = read
        self.pages: dict[str, str] = {}
        self.origins: dict[str, str] = {}  # place in the site of a file of the project
        self.sources: dict[str, str] = {}  # the reverse: file by which a page's links are relative
        self.pictures: dict[str, bytes | str] = {}  # by place: content, or the file of the project to copy
        self.nav: list[object] = []
        self.broken: list[str] = []
        self._waiting: list[str] = []

    def add(self, place: str, text: str, origin: str = "", also: Collection[str] = ()) -> None:
        """A page. Links in it are relative to `origin`, a file of the project; without one, to the page."""
        self.pages[place] = text
        self._waiting.append(place)
        if origin:
            self.sources[place] = origin
        for path in (*([origin] if origin else []), *also):
            self.origins.setdefault(path, place)

    def add_documents(self) -> None:
        for path in sorted(self.files):
            if path.endswith(".md") and not path.startswith("tools/site/"):
                place = place_of(path)
                self.add(place, _search_weight(place) + markup.adapt(self.read(path)), path)
            elif re.fullmatch(r"docs/tutorials/[\w-]+\.ipynb", path):
                self._add_notebook(path)
        for path in sorted(p for p in self.files if re.fullmatch(r"docs/man/[\w-]+\.1", p)):
            self.add(f"reference/commands/{PurePosixPath(path).stem}.md", manuals.page(self.read(path)), also=[path])

    def _add_notebook(self, path: str) -> None:
        place = f"tutorials/{PurePosixPath(path).stem}.md"

        def store(name: str, data: bytes) -> str:
            picture = f"{place.removesuffix('.md')}/{name}"
            self.pictures[picture] = data
            return f"site:{picture}"

        self.add(place, markup.adapt(notebooks.page(self.read(path), store)), path)

    def add_examples(self) -> list[example_pages.Example]:
        found = example_pages.find(self.files, self.read)
        self.add("examples/index.md", example_pages.index(found, self.read), also=["examples/CMakeLists.txt"])
        for one in found:
            expected = [p for p in self.files if p == f"examples/{one.name}.expected"]
            page = example_pages.page(one, self.files, self.read)
            self.add(f"examples/{one.name}.md", page, also=[*one.sources, *expected])
            if one.sources[0].startswith(f"examples/{one.name}/"):
                self.origins[f"examples/{one.name}"] = f"examples/{one.name}.md"
        return found

    def resolve(self) -> None:
        """Makes the links of all pages lead to pages; adds one for each file of the project that is linked."""
        while self._waiting:
            place = self._waiting.pop(0)
            base = self.sources.get(place, "")
            self.pages[place] = markup.with_links(self.pages[place], lambda a, p=place, b=base: self._target(a, p, b))

    def _target(self, address: str, place: str, base: str) -> str:
        if re.match(r"(?:https?|mailto):", address) or address.startswith("#"):
            return address
        path, _, anchor = address.partition("#")
        end = f"#{anchor}" if anchor else ""
        if path.startswith("site:"):
            return _relative(path.removeprefix("site:"), place) + end
        if path.startswith("source:"):
            return _relative(self._source(path.removeprefix("source:")), place) + end
        if not base:
            return address
        full = posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
        target = self._place(full)
        if not target:
            self.broken.append(f"{base}:1: the link {address} leads nowhere: mend the path")
            return address
        return _relative(target, place) + end

    def _place(self, path: str) -> str:
        """Where a file or folder of the project is in the site; empty if there is none. Adds what is missing."""
        if path in FOLDERS and FOLDERS[path] in self.pages:
            return FOLDERS[path]
        if path in self.origins:
            return self.origins[path]
        if path.endswith(_PICTURES) and path in self.files:
            place = path.removeprefix("docs/")
            self.pictures[place] = path
            return place
        if path in self.files:
            self.origins[path] = self._source(path)
        elif path in self.folders:
            self._add_folder(path)
        return self.origins.get(path, "")

    def _source(self, path: str) -> str:
        """The page that shows a file of the project as it is, which is added if there is none yet."""
        place = f"files/{path.removesuffix('.md')}.md"
        if place not in self.pages:
            language = "make" if path.endswith("Makefile") else _LANGUAGES.get(PurePosixPath(path).suffix, "text")
            text = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n{markup.fenced(self.read(path), language)}"
            self.add(place, text)
        return place

    def _add_folder(self, path: str) -> None:
        about = self.origins.get(f"{path}/README.md")
        if about:
            self.origins[path] = about
            return
        inside = sorted({p.removeprefix(f"{path}/").partition("/")[0] for p in self.files if p.startswith(f"{path}/")})
        rows = []
        for name in inside[:_FOLDER_MAX]:
            full = f"{path}/{name}"
            is_linked = full in self.files or full in self.origins
            rows.append(f"- [{name}](site:{self._place(full)})" if is_linked else f"- {name}/")
        place = f"files/{path}/index.md"
        self.origins[path] = place
        self.add(place, f"---\nsearch:\n  exclude: true\n---\n\n# {path}/\n\n" + "\n".join(rows) + "\n")


def _search_weight(place: str) -> str:
    """Guides come before decisions in the results of a search."""
    weight = {"how-to": 2, "tutorials": 2, "explanation": 1.5, "decisions": 0.4, "project": 0.4}
    folder = place.partition("/")[0]
    return f"---\nsearch:\n  boost: {weight[folder]}\n---\n\n" if folder in weight else ""


def place_of(path: str) -> str:
    """The page of a document of the project."""
    if path == "docs/README.md":
        return FOLDERS["docs"]
    if path == "docs/decisions/README.md":
        return "decisions/index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if match := re.fullmatch(r"apps/(\w+)/README\.md", path):
        return f"programs/{match.group(1)}.md"
    name = path.removesuffix(".md").removesuffix("/README").replace("/", "-").replace("_", "-").lower()
    return f"project/{name}.md"


def _relative(target: str, place: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(place) or ".")
