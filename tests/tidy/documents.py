# SPDX-License-Identifier: Apache-2.0
"""Rules about documents: what they name exists, lines fit, decisions are complete, every page is in the index."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import rules

LINE_MAX = 120
TABLE_ROW_MAX = 220
KINDS = ("tutorials", "how-to", "reference", "explanation", "decisions")


def lines_fit(path: str, markdown: str) -> list[str]:
    """Programs and their output keep their lines; a table's row cannot be broken, and may be longer."""
    found = []
    for number, line in enumerate(rules.strip_fences(markdown).split("\n"), start=1):
        limit = TABLE_ROW_MAX if line.lstrip().startswith("|") else LINE_MAX
        # A link cannot be broken either.
        shown = re.sub(r"\]\([^)\s]*\)", "]", line.rstrip())
        if len(shown) > limit:
            found.append(f"{path}:{number}: {len(shown)} characters, limit {limit}: break the line")
    return found


def map_names_exist(architecture: str, exists: Callable[[str], bool]) -> list[str]:
    """Each file or folder that ARCHITECTURE.md names in backquotes exists: below the project, src/plait/, or the
    folder of its heading or list item."""
    found, folders, item = [], [""], ""
    for number, line in enumerate(rules.strip_fences(architecture).split("\n"), start=1):
        if line.startswith("#"):
            folders, item = re.findall(r"`([\w/]+/)`", line) or [""], ""
        elif match := re.match(r"(?:- |\| *)`([\w/]+/)`", line):
            item = match.group(1)
        elif not line.strip():
            item = ""
        for name in re.findall(r"`([\w./-]+(?:\.(?:hpp|cpp|py|toml|md|txt)|/))`", line):
            below = ["", "src/plait/", "tests/", "python/src/plait/"]
            below += [f"{root}{folder}" for root in ("", "src/plait/") for folder in [*folders, item] if folder]
            below += [f"{root}{folder}{item}" for root in ("", "src/plait/") for folder in folders if folder and item]
            if not any(exists(f"{place}{name}".rstrip("/")) for place in below):
                found.append(f"ARCHITECTURE.md:{number}: there is no {name}: name the file that is there now")
    return found


def layers_agree(architecture: str, layers: Sequence[str], beside: Mapping[str, Sequence[str]]) -> list[str]:
    """The list of layers in ARCHITECTURE.md, top to bottom, is that of the rules."""
    block = re.search(r"^## The layers\n.*?^```text\n(.*?)^```", architecture, re.MULTILINE | re.DOTALL)
    if block is None:
        return ["ARCHITECTURE.md:1: there is no section 'The layers' with a list of folders"]
    rows = [re.findall(r"\b([a-z_]+)/", line.partition("  ")[0]) for line in block.group(1).split("\n") if line.strip()]
    stack = [row[0] for row in rows if row and row[0] in layers]
    named = {name for row in rows for name in row}
    found = []
    if stack != list(reversed(layers)):
        found.append(f"ARCHITECTURE.md:1: layers are {', '.join(reversed(layers))}, not {', '.join(stack)}")
    found += [f"ARCHITECTURE.md:1: the list of layers lacks {name}/" for name in beside if name not in named]
    return found


def unknown_commands(path: str, markdown: str, commands: Mapping[str, Collection[str]]) -> list[str]:
    """`commands` maps `plait`, `make`, `plait bench` and `tools/` to what follows them."""
    found = []
    for start, code in code_in(markdown):
        for prefix, known in commands.items():
            separator = "" if prefix.endswith("/") else r"[ ]+"
            for match in re.finditer(rf"(?<![\w/.-]){prefix}{separator}([a-z][\w-]*)(?![\w.:/(]|-\w)", code):
                if match.group(1) not in known:
                    line = rules.line_of(markdown, start + match.start())
                    found.append(f"{path}:{line}: there is no `{match.group().strip()}`: name one that exists")
    return found


def code_in(markdown: str) -> list[tuple[int, str]]:
    """Where each shell block and each piece of inline code begins, and its text."""
    blocks = [
        (m.start(2), m.group(2))
        for m in re.finditer(r"^```(sh|bash|console)\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)
    ]
    prose = rules.strip_fences(markdown)
    return blocks + [(m.start(1), m.group(1)) for m in re.finditer(r"`([^`\n]+)`", prose)]


def unknown_options(path: str, markdown: str, code: str) -> list[str]:
    """Options of the build and of the environment: PLAIT_SOMETHING."""
    known = set(re.findall(r"\bPLAIT_[A-Z0-9_]+\b", code))
    return [
        f"{path}:{rules.line_of(markdown, m.start())}: nothing reads {m.group()}: name an option that exists"
        for m in re.finditer(r"\bPLAIT_[A-Z0-9_]+\b(?!\*|_)", markdown)
        if m.group() not in known
    ]


def decisions_are_complete(path: str, markdown: str) -> list[str]:
    if not re.fullmatch(r"docs/decisions/\d{4}-[\w-]+\.md", path):
        return []
    number = path.split("/")[2][:4]
    found = []
    if not re.match(rf"# {number}: \S", markdown):
        found.append(f"{path}:1: begin with '# {number}: what was decided'")
    status = r"(?:proposed|accepted|replaced by \[\d{4}\]\(.+?\))"
    if not re.search(rf"^Date: \d{{4}}-\d\d-\d\d\. Status: {status}\.", markdown, re.MULTILINE):
        found.append(f"{path}:3: no date and status: write 'Date: YYYY-MM-DD. Status: accepted.' below the title")
    if not re.search(r"^## Alternatives$", markdown, re.MULTILINE):
        found.append(f"{path}:1: no section 'Alternatives': list what else was considered, and why it was not chosen")
    return found


def documents_are_in_the_index(paths: Collection[str], read: Callable[[str], str]) -> list[str]:
    """Each page of docs/ is in a folder of a known kind, and linked from docs/README.md or decisions/README.md."""
    found = []
    for path in sorted(p for p in paths if re.match(r"docs/.*\.md$", p) and not p.endswith("README.md")):
        kind = path.split("/")[1]
        index = "docs/decisions/README.md" if kind == "decisions" else "docs/README.md"
        if kind not in KINDS:
            found.append(f"{path}:1: not in a folder of docs/: {', '.join(KINDS)}")
        elif f"({path.removeprefix(index.removesuffix('README.md'))})" not in read(index):
            found.append(f"{path}:1: {index} has no link to it: add one")
    numbers = [m.group(1) for p in sorted(paths) if (m := re.match(r"docs/decisions/(\d{4})-", p))]
    found += [
        f"docs/decisions/README.md:1: several decisions have the number {number}: renumber all but the first"
        for number in sorted({n for n in numbers if numbers.count(n) > 1})
    ]
    return found
