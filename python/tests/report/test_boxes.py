# SPDX-License-Identifier: Apache-2.0
"""No text of the page leaves its box, and nothing makes the page wider than the window."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
import trace_writer as w
from chromium import open_page
from synthetic_mpi import HaloProgram

from plait import read_run, write_report
from plait.report.analysis import analyse

LONG = "a_kind_of_task_with_a_name_that_no_legend_has_room_for_as_it_has_eighty_letters"
#: Lists texts that leave the box that they are in, once the page is ready. What can be scrolled may be
#: wider than its box.
_MEASURE = """
<script>
const measure = () => {
  if (!document.documentElement.dataset.ready) return setTimeout(measure, 50);
  const found = [], slack = 1.5;
  const pageWidth = document.documentElement.scrollWidth;
  if (pageWidth > window.innerWidth) found.push("page: " + pageWidth);
  const isBox = "figure, section, .tile, .notice, .findings, li, td, th, button, main";
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (!text.textContent.trim() || !text.parentElement.checkVisibility()) continue;
    const range = document.createRange(); range.selectNodeContents(text);
    const boxes = [...range.getClientRects()];
    for (let box = text.parentElement; box && box.tagName !== "BODY"; box = box.parentElement) {
      const overflow = getComputedStyle(box).overflowX;
      if (overflow === "auto" || overflow === "scroll") break;
      if (overflow !== "hidden" && !box.matches(isBox)) continue;
      const outer = box.getBoundingClientRect();
      if (boxes.some((one) => one.left < outer.left - slack || one.right > outer.right + slack)) {
        found.push(box.tagName + "." + box.className + ": " + text.textContent.trim().slice(0, 60));
        break;
      }
    }
  }
  for (const canvas of document.querySelectorAll("canvas")) {
    const outer = canvas.closest("figure").getBoundingClientRect(), own = canvas.getBoundingClientRect();
    if (own.right > outer.right + slack) found.push("canvas of " + canvas.closest("figure").id);
  }
  document.documentElement.dataset.outside = JSON.stringify(found);
};
measure();
</script></body>"""


def write_many_kinds(folder: Path) -> Path:
    """40 kinds of task with long names, 20 counters with long names, of 6 ranks."""
    for rank in range(6):
        records = b"".join(w.name(0, kind, f"{kind:02}{LONG}"[:80]) for kind in range(1, 41))
        records += b"".join(w.name(2, one, f"{one:02}{LONG.replace('_', ' ')}") for one in range(1, 21))
        records += w.name(1, 1, LONG)
        for place in range(200):
            start = 1000 + place * 50_000
            records += w.task(1 + place % 40, start, start + 40_000 + 100 * (place % 40), id_=place + 1)
            records += w.counter(1 + place % 20, start, float(rank * place))
        records += w.span(1, 1000, 9_000_000)
        w.write_rank(folder, rank, 6, {0: records})
    w.write_meta(folder, 6, program=LONG, command=[LONG, "--of", LONG.replace("_", "/")])
    return folder


def outside(page: Path, width: int) -> list[str]:
    text = page.read_text().replace("</body>", _MEASURE)
    copy = page.with_name(f"measured-{width}.html")
    copy.write_text(text)
    opened = open_page(copy, width=width)
    assert opened.console == []
    found = re.search(r'data-outside="([^"]*)"', opened.html)
    assert found is not None, "the page was not measured"
    return [str(one) for one in json.loads(unescape(found.group(1)))]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("boxes")
    runs = {
        "kinds": write_many_kinds(folder / "kinds"),
        "calls": HaloProgram(ranks=6, steps=30).write(folder / "calls", program=LONG),
    }
    return {
        name: write_report(analyse(read_run(run), run, None), folder / f"{name}-report").page
        for name, run in runs.items()
    }


@pytest.mark.parametrize("width", [1400, 1000, 700])
@pytest.mark.parametrize("run", ["kinds", "calls"])
def test_no_text_leaves_its_box(pages: dict[str, Path], run: str, width: int) -> None:
    assert outside(pages[run], width) == []


def test_text_that_leaves_its_box_is_found(pages: dict[str, Path]) -> None:
    page = pages["calls"].with_name("broken.html")
    wide = '<section style="width:200px;white-space:nowrap">' + "wide " * 40 + "</section></main>"
    page.write_text(pages["calls"].read_text().replace("</main>", wide, 1))
    assert any(one.startswith("SECTION") for one in outside(page, 1000))


def test_each_canvas_and_picture_is_described_and_reached_by_the_keyboard(
    pages: dict[str, Path],
) -> None:
    for page in pages.values():
        html = open_page(page).html
        canvases = re.findall(r"<canvas[^>]*>", html)
        assert canvases
        for canvas in canvases:
            assert re.search(r'aria-label="[^"]{10,}"', canvas), canvas
            assert 'tabindex="0"' in canvas
        assert all(re.search(r'alt="[^"]+"', image) for image in re.findall(r"<img[^>]*>", html))
