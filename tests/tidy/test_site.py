# SPDX-License-Identifier: Apache-2.0
"""The documentation site: its parts on made-up input, and its pages before they become HTML. Building it whole is
python/tests/test_site.py."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))

import c_page  # noqa: E402
import check_links  # noqa: E402
import cpp_pages  # noqa: E402
import declarations  # noqa: E402
import example_pages  # noqa: E402
import fortran_page  # noqa: E402
import manuals  # noqa: E402
import markup  # noqa: E402
import navigation  # noqa: E402
import notebooks  # noqa: E402
import pages  # noqa: E402

import build  # noqa: E402

FILES = {
    "README.md": "# A\n\n[guide](docs/how-to/a.md#b) [code](src/x.cpp) [all](src) ![p](docs/images/p.png)\n",
    "docs/how-to/a.md": "# Guide\n\n## B\n\n[up](../../README.md), `[no](link)`\n\n```sh\n[no](link)\n```\n",
    "docs/images/p.png": "",
    "src/x.cpp": "int x;\n",
    "src/deep/y.cpp": "int y;\n",
}


@pytest.fixture
def site() -> pages.Site:
    return pages.Site(FILES, FILES.__getitem__)


def test_links_lead_to_pages_of_the_site(site: pages.Site) -> None:
    site.add_documents()
    site.resolve()
    text = site.pages["project/readme.md"]
    assert "[guide](../how-to/a.md#b) [code](../files/src/x.cpp.md)" in text
    assert "[all](../files/src/index.md) ![p](../images/p.png)" in text
    assert "[up](../project/readme.md), `[no](link)`" in site.pages["how-to/a.md"]
    assert "int x;" in site.pages["files/src/x.cpp.md"]
    assert "- [x.cpp](x.cpp.md)\n" in site.pages["files/src/index.md"]
    assert site.pictures == {"images/p.png": "docs/images/p.png"}
    assert site.broken == []


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("code `that\ngoes on` [a](b) `x`", ["b"]),
        ("`one\n[no](link)` and `two` [a](b)", ["b"]),
        ("an open ` [a](b)\n\nand `code` [c](d)", ["b", "d"]),
        ("- an open ` here\n- [a](b) and ` there", ["b"]),
        ("``a ` [no](link)`` [a](b)", ["b"]),
        ("`open\n\n```sh\n[no](link)\n```\n[a](b)", ["b"]),
    ],
)
def test_inline_code_may_go_on_in_the_next_line(text: str, links: list[str]) -> None:
    assert markup.links_in(text) == links


def test_broken_links_are_reported(site: pages.Site) -> None:
    site.add("a.md", "[gone](gone.md)", "docs/how-to/a.md")
    site.resolve()
    assert site.broken == ["docs/how-to/a.md:1: the link gone.md leads nowhere: mend the path"]


def test_every_page_of_this_project_has_its_links_and_its_place() -> None:
    site = pages.Site(build.project_files(), lambda path: (ROOT / path).read_text(encoding="utf-8"))
    build.fill(site, [])
    assert site.broken == []
    linked = set(_places(site.nav))
    assert linked <= set(site.pages)
    # What is not in the navigation is source code, or linked from the pages of the project.
    assert {p for p in set(site.pages) - linked if not p.startswith(("files/", "project/"))} == set()
    assert [next(iter(one)) for one in site.nav][:4] == ["Home", "Tutorials", "How-to", "Examples"]


def _places(entries: object) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    inside = entries.values() if isinstance(entries, dict) else entries
    return [place for entry in inside for place in _places(entry)]


def test_the_first_page_has_its_ways_in_order() -> None:
    text = (ROOT / "tools/site/home.md").read_text(encoding="utf-8")
    titles = ["## Speed up a program you have", "## See where its time goes", "## Write a new one"]
    assert sorted(titles, key=text.index) == titles


@pytest.mark.parametrize(
    ("github", "site"),
    [
        ("text\n- a\n- b", "text\n\n- a\n- b"),
        ("- a\n  more\n  - b\n    c\n\ntext", "- a\n    more\n    - b\n        c\n\ntext"),
        ("1. a\n\n   ```cpp\n   x\n   ```\n2. b", "1. a\n\n    ```cpp\n    x\n    ```\n2. b"),
        ("```cpp sketch\n- x\n```", "```cpp\n- x\n```"),
        ("| a |\n|---|\n| - b |", "| a |\n|---|\n| - b |"),
    ],
)
def test_lists_and_fences(github: str, site: str) -> None:
    assert markup.adapt(github) == site


def test_plain_text_is_escaped() -> None:
    assert markup.escaped_but_code("a_b <c> `d_e`") == "a\\_b &lt;c&gt; `d_e`"


def test_manual_pages() -> None:
    roff = (
        '.TH PLAIT-RUN 1 "2026-11-26"\n.nh\n.SH NAME\nplait\\-run \\- run it\n.SH OPTIONS\n.TP\n'
        "\\fB\\-n\\fR, \\fB\\-\\-ranks\\fR \\fIN\\fR\nHow many, as in \\(ti/a_b.\n.SH EXAMPLES\n"
        "\\fBplait run \\-\\- a\\fR\n.br\nquick\n.PP\n\\fBplait run \\-\\- b\\fR\n"
        ".SH SEE ALSO\n\\fBplait\\-record\\fR(1)\n"
    )
    page = manuals.page(roff)
    assert page.startswith("# plait run\n\nRun it.\n")
    assert "`-n`, `--ranks` *N*\n:   How many, as in ~/a\\_b.\n" in page
    assert "```sh\nplait run -- a  # quick\nplait run -- b\n```" in page
    assert "[`plait-record`](plait-record.md)" in page


def test_examples() -> None:
    files = {
        "examples/01_hello.cpp": "// SPDX-License-Identifier: x\n// Greets: a_b.\n// ranks: 2\n\nint main() {}\n",
        "examples/01_hello.expected": "hello\n",
        "examples/c/hello.c": "/* ranks: 2 */\n/* expected: 01_hello.expected */\n/* In C. */\nint main(void) {}\n",
        "examples/steps/step_0_a.cpp": "// First.\n",
        "examples/steps/step_1_b.cpp": "// Second.\n",
        "examples/steps/steps.expected": "done\n",
    }
    files["examples/python/01_a.py"] = '# ranks: 2\n"""Heat: on\na ring.\n\nMore."""\n'
    hello, steps, python = example_pages.find(files, files.__getitem__)
    assert (python.name, python.language) == ("python/01_a", "Python")
    assert example_pages.brief_of(files["examples/python/01_a.py"]) == "Heat: on a ring."
    assert example_pages.brief_of(files["examples/c/hello.c"]) == "In C."
    page = example_pages.page(hello, files, files.__getitem__)
    assert page.startswith("# Hello\n") and "hello\n```" in page
    assert "tools/mpiexec 2 build/release/examples/example_01_hello" in page
    assert "tools/mpiexec 2 build/release/examples/example_c_hello" in page
    assert '=== "C++"' in page and '=== "C"' in page
    page = example_pages.page(steps, files, files.__getitem__)
    assert "## Step 0: a" in page and "## Step 1: b" in page and "done\n```" in page


def test_notebooks() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "text"]},
        {
            "cell_type": "code",
            "source": "1 + 1",
            "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": "2"}},
                {"output_type": "display_data", "data": {"image/png": "aGk="}},
            ],
        },
    ]
    kept: dict[str, bytes] = {}

    def store(name: str, data: bytes) -> str:
        kept[name] = data
        return f"site:{name}"

    page = notebooks.page(json.dumps({"cells": cells}), store)
    assert page == "# A\ntext\n\n```python\n1 + 1\n```\n\n\n```text\n2\n```\n\n\n![output](site:1-1.png)\n"
    assert kept == {"1-1.png": b"hi"}


def test_navigation_follows_the_index() -> None:
    index = "# D\n\n## How-to guides: reach one goal\n\n| run it | |\n|---|---|\n| [A](how-to/a.md) | x |\n"
    (section,) = navigation.sections_of(index)
    assert (section.title, section.aim, section.pages) == ("How-to guides", "reach one goal", [("A", "how-to/a.md")])
    assert navigation.entries(section, {"how-to/a.md": "how-to/a.md"}) == [{"Run it": [{"A": "how-to/a.md"}]}]


def declared(name: str, text: str = "", *members: declarations.Declaration) -> declarations.Declaration:
    kind = "class" if name[0].isupper() else "function"
    signature = f"class plait::comm::{name}" if kind == "class" else f"void {name}()"
    qualified = f"plait::comm::{name}"
    return declarations.Declaration(kind, name, qualified, "src/plait/comm/a.hpp", 1, signature, text, list(members))


def test_code_in_comments_leads_to_what_it_names() -> None:
    send = declared("send", "Sends. Throws: `Error` when `Box::send` fails.")
    send.qualified = "plait::comm::Box::send"
    box = declared("Box", "A box, see `Box::gone`.", send)
    names = cpp_pages.Names([box])
    page = cpp_pages.header_page("src/plait/comm/a.hpp", [box], names, {"plait::comm::Box"})
    assert "## `Box` { #Box }" in page and "### `send` { #Box-send }" in page
    assert "**Throws:** `Error` when [`Box::send`](#Box-send) fails." in page
    assert "*`plait::Box`, of namespace `plait::comm`*" in page
    (broken,) = cpp_pages.broken_references([box], names)
    assert broken.startswith("src/plait/comm/a.hpp:1: the comment names Box::gone")


def test_public_headers() -> None:
    assert cpp_pages.is_public("src/plait/comm/endpoint.hpp")
    for other in ("comm/detail/engine.hpp", "record/call.hpp", "data/collections/engine/mail.hpp", "plait.hpp"):
        assert not cpp_pages.is_public(f"src/plait/{other}")


def test_the_header_for_c() -> None:
    header = "/* SPDX-License-Identifier: x */\n/*\n * About.\n */\n\n/* ---- Sends ---- */\n\n/* Sends `a`. */\n"
    page = c_page.page("src/plait/plait.h", header + "int plait_send(int a,\n               int b);\n")
    assert "\nAbout.\n" in page and "\n## Sends\n" in page
    assert "### `plait_send` { #plait_send }\n\n```c\nint plait_send(int a,\n               int b);\n```\n" in page


def test_the_module_for_fortran() -> None:
    module = "!> About.\nmodule plait\n  private\n  public :: send, wait\ncontains\n"
    module += "  !> Sends.\n  subroutine send(a, &\n    b)\n"
    module += "  end subroutine\nend module\n"
    page = fortran_page.page("src/plait/fortran/plait.F90", module, {"wait": "reference/c.md"})
    assert "About." in page and "- [`wait`](site:reference/c.md#wait)" in page
    assert "## `send` { #send }\n\n```fortran\nsubroutine send(a, b)\n```\n\nSends.\n" in page


def test_links_of_built_pages(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="x">B</h1>', encoding="utf-8")
    (tmp_path / "index.html").write_text(
        '<a href="b.html#x">good</a><a href="b.html#y">no heading</a><a href="c.html">no page</a>'
        '<a href="https://example.org">listed</a><script src="https://example.org/a.js"></script>',
        encoding="utf-8",
    )
    found = check_links.read(tmp_path)
    assert list(check_links.broken(tmp_path, found)) == [
        "index.html: loads https://example.org/a.js: nothing may come from elsewhere",
        "index.html: the link b.html#y leads to no heading of b.html",
        "index.html: the link c.html leads nowhere",
    ]
    assert check_links.external(found) == ["https://example.org"]
