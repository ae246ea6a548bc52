#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py [FOLDER]: builds the site into FOLDER, build/site by default. Start it through tools/docs, which installs
what it needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

import c_page  # noqa: E402
import check_links  # noqa: E402
import cpp_pages  # noqa: E402
import declarations  # noqa: E402
import example_pages  # noqa: E402
import fortran_page  # noqa: E402
import markup  # noqa: E402
import navigation  # noqa: E402
from pages import Site  # noqa: E402
from project_files import project_files  # noqa: E402


def main() -> int:
    site_folder = Path(sys.argv[1] if len(sys.argv) > 1 else PROJECT / "build/site").resolve()
    work = site_folder.parent / f"{site_folder.name}-work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    site = Site(project_files(), lambda path: (PROJECT / path).read_text(encoding="utf-8"))
    headers = read_headers(site, work)
    fill(site, headers)
    if site.broken:
        print(*site.broken, sep="\n", file=sys.stderr)
        return 1
    write(site, work)
    shutil.rmtree(site_folder, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "-f", work / "mkdocs.json", "-d", site_folder],
        cwd=work,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    (site_folder / "404.html").unlink(missing_ok=True)  # its addresses need a server
    if done.returncode != 0:
        return done.returncode
    return check(site_folder)


def read_headers(site: Site, work: Path) -> list[declarations.Declaration]:
    """Declarations of the public headers; none without Doxygen."""
    if shutil.which("doxygen") is None:
        print("docs: there is no doxygen, so the site has no C++ pages: apt-get install doxygen", file=sys.stderr)
        return []
    public = [path for path in sorted(site.files) if cpp_pages.is_public(path)]
    try:
        return declarations.read(PROJECT, public, work)
    except RuntimeError as error:
        sys.exit(f"docs: comments of headers are wrong:\n{error}")


def fill(site: Site, headers: Sequence[declarations.Declaration]) -> None:
    """Adds all pages."""
    site.add_documents()
    site.nav = navigation_of(site, headers)
    site.resolve()


def navigation_of(site: Site, headers: Sequence[declarations.Declaration]) -> list[object]:
    found = {section.title: section for section in navigation.sections_of(site.read("docs/README.md"))}
    kinds = {}
    for title, section in found.items():
        places = {path: site.origins.get(f"docs/{path}", "") for _, path in section.pages}
        gone = [path for path, place in places.items() if not place]
        site.broken += [f"docs/README.md:1: the link {path} leads nowhere: mend the path" for path in gone]
        kinds[title] = navigation.entries(section, places)
    for title, folder in (("Tutorials", "tutorials"), ("How-to guides", "how-to"), ("Explanation", "explanation")):
        add_index(site, folder, found[title])
    add_index(site, "reference", found["Reference"], reference_table(site, bool(headers)))
    examples_found = site.add_examples()
    add_programs(site)
    site.add("index.md", markup.adapt(site.read("tools/site/home.md")), "tools/site/home.md")
    decisions = sorted(p for p in site.pages if re.match(r"decisions/\d", p))
    project = [
        ("About plait", "project/readme.md"),
        ("Architecture", "project/architecture.md"),
        ("Contributing", "project/contributing.md"),
        ("Changes", "project/changelog.md"),
        ("Security", "project/security.md"),
        ("Conduct", "project/code-of-conduct.md"),
        ("The lab", "project/bench-lab.md"),
        ("All documents", "project/documents.md"),
    ]
    return [
        {"Home": "index.md"},
        {"Tutorials": ["tutorials/index.md", *kinds["Tutorials"]]},
        {"How-to": ["how-to/index.md", *kinds["How-to guides"]]},
        {"Examples": ["examples/index.md", *examples_navigation(examples_found)]},
        {"Programs": ["programs/index.md", *sorted(p for p in site.pages if re.match(r"programs/(?!index)", p))]},
        {"Reference": ["reference/index.md", *kinds["Reference"], *interfaces(site, headers)]},
        {
            "Explanation": [
                "explanation/index.md",
                *kinds["Explanation"],
                {"Decisions": ["decisions/index.md", *decisions]},
            ]
        },
        {"Project": [{title: place} for title, place in project if place in site.pages]},
    ]


def examples_navigation(found: Sequence[example_pages.Example]) -> list[object]:
    """Examples in C++, with their twins in other languages; then a section for each other language."""
    sections: dict[str, list[object]] = {}
    for one in found:
        sections.setdefault(one.language, []).append({one.title: f"examples/{one.name}.md"})
    return [*sections.pop("", []), *({language: inside} for language, inside in sections.items())]


def add_index(site: Site, folder: str, section: navigation.Section, more: str = "") -> None:
    aim = f"{section.aim[:1].upper()}{section.aim[1:]}.\n\n" if section.aim else ""
    text = f"# {section.title}\n\n{aim}{section.text}\n\n{more}"
    site.pages.pop(f"{folder}/index.md", None)
    site.add(f"{folder}/index.md", markup.adapt(text))
    site.sources[f"{folder}/index.md"] = "docs/README.md"


def reference_table(site: Site, has_cpp: bool) -> str:
    rows = ["| [Commands](site:reference/commands/plait.md) | a page for each command of `plait` |"]
    if has_cpp:
        rows.append("| [C++](site:reference/cpp/index.md) | what the public headers declare |")
    for header, (title, place) in c_page.HEADERS.items():
        rows.append(f"| [{title}](site:{place}) | the header `{header.removeprefix('src/')}` |")
    for module, (title, place) in fortran_page.MODULES.items():
        rows.append(f"| [{title}](site:{place}) | the module `{Path(module).stem}` |")
    rows.append("| [Python](site:reference/python.md) | the module `plait`, which reads runs |")
    return "\n".join(["| interfaces | |", "|---|---|", *rows, ""])


def add_programs(site: Site) -> None:
    rows = []
    for place in sorted(p for p in site.pages if p.startswith("programs/")):
        text = site.pages[place]
        first = next((line for line in re.split(r"\n\s*\n", text) if line and not line.startswith(("#", "!"))), "")
        sentence = re.split(r"(?<=[.:])\s", " ".join(first.split()), maxsplit=1)[0].rstrip(":")
        sentence = re.sub(r"!?\[(.*?)\]\(.*?\)", r"\1", sentence)
        rows.append(f"| [{markup.title_of(text)}](site:{place}) | {sentence} |")
    head = "# Programs\n\nWhole simulations on plait, to read and to measure.\n\n| | |\n|---|---|\n"
    site.add("programs/index.md", head + "\n".join(rows) + "\n")


def interfaces(site: Site, headers: Sequence[declarations.Declaration]) -> list[object]:
    """Pages of the command line and of the interfaces of each language, as navigation."""
    commands = sorted(p for p in site.pages if p.startswith("reference/commands/") and not p.endswith("/plait.md"))
    modules = sorted(p for p in site.files if re.fullmatch(r"python/src/plait/[a-z]\w*\.py", p))
    text = site.read("tools/site/python.md")
    for name in (f"plait.{Path(module).stem}" for module in modules):
        text += f"\n## `{name}`\n\n::: {name}\n    options:\n      heading_level: 3\n"
    site.add("reference/python.md", text, "tools/site/python.md")
    names = {place: manuals_name(place) for place in commands}
    found: list[object] = [
        {"Commands": [{"plait": "reference/commands/plait.md"}, *({names[place]: place} for place in commands)]}
    ]
    if headers:
        found += add_headers(site, headers)
    in_c: dict[str, str] = {}
    for header, (title, place) in c_page.HEADERS.items():
        source = site.read(header)
        site.add(place, c_page.page(header, source), also=[header])
        in_c |= dict.fromkeys(c_page.names(header, source), place)
        found.append({title: place})
    for module, (title, place) in fortran_page.MODULES.items():
        site.add(place, fortran_page.page(module, site.read(module), in_c), also=[module])
        found.append({title: place})
    found.append({"Python": "reference/python.md"})
    return found


def manuals_name(place: str) -> str:
    return Path(place).stem.removeprefix("plait-").replace("-", " ")


def add_headers(site: Site, headers: Sequence[declarations.Declaration]) -> list[object]:
    names = cpp_pages.Names(headers)
    site.broken += cpp_pages.broken_references(headers, names)
    exported = cpp_pages.exported_names(site.read("src/plait/plait.hpp"))
    by_header: dict[str, list[declarations.Declaration]] = {}
    for one in headers:
        by_header.setdefault(one.file, []).append(one)
    found: list[object] = []
    folders: dict[str, dict[str, list[declarations.Declaration]]] = {}
    for header, inside in sorted(by_header.items()):
        page = cpp_pages.header_page(header, inside, names, exported)
        site.add(cpp_pages.page_of(header), page, header)
        folders.setdefault(cpp_pages.folder_of(header), {})[header] = inside
    about = folder_sentences(site.read("ARCHITECTURE.md"))
    tops: dict[str, str] = {}
    for folder, inside in sorted(folders.items(), key=lambda one: cpp_pages.rank_of(one[0])):
        place = f"reference/cpp/{folder}/index.md"
        sentence = about.get(folder) or cpp_pages.names_of(inside)
        site.add(place, cpp_pages.folder_page(folder, sentence, inside), also=[f"src/plait/{folder}"])
        tops[folder] = sentence
    site.add("reference/cpp/index.md", cpp_pages.index_page(tops, lambda folder: f"{folder}/index.md"))
    for header in ("plait", "fft", "particles"):
        site.origins[f"src/plait/{header}.hpp"] = "reference/cpp/index.md"
    modules = cpp_pages.tree(folders)
    found.append({"C++": ["reference/cpp/index.md", *modules]})
    return found


def folder_sentences(architecture: str) -> dict[str, str]:
    """What each folder is for: the first sentence of its part of the map."""
    found = {}
    for match in re.finditer(
        r"^(?:### |- )`([\w/]+?)/`(?: \(.*?\))?:?\s+(.+?)(?=\n\n|\n- |\Z)", architecture, re.M | re.S
    ):
        text = re.sub(r"!?\[(.*?)\]\(.*?\)", r"\1", " ".join(match.group(2).split()))
        text = re.sub(r" \([^()]*\)", "", text)
        sentence = re.split(r"(?<=\w[.;])\s", text, maxsplit=1)[0].rstrip(".;")
        found.setdefault(match.group(1), f"{sentence[:1].upper()}{sentence[1:]}.")
    return found


def write(site: Site, work: Path) -> None:
    """The pages, the pictures and MkDocs' configuration, into `work`."""
    for place, text in site.pages.items():
        path = work / "pages" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for place, content in site.pictures.items():
        path = work / "pages" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else (PROJECT / content).read_bytes())
    shutil.copytree(HERE / "assets", work / "pages/assets")
    settings = {
        "INHERIT": str(HERE / "mkdocs.yml"),
        "docs_dir": str(work / "pages"),
        "plugins": {"mkdocstrings": {"handlers": {"python": {"paths": [str(PROJECT / "python/src")]}}}},
        "nav": site.nav,
    }
    (work / "mkdocs.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")


def check(folder: Path) -> int:
    pages = check_links.read(folder)
    found = list(check_links.broken(folder, pages))
    listed = folder.parent / f"{folder.name}-external-links.txt"
    listed.write_text("\n".join(check_links.external(pages)) + "\n", encoding="utf-8")
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{folder / 'index.html'}: {len(pages)} pages; links that leave it are in {listed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
