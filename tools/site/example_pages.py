# SPDX-License-Identifier: Apache-2.0
"""Pages of the examples: each program with the output that the tests compare it with."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import markup

#: Name and highlighting of each kind of source.
LANGUAGES = {
    ".cpp": ("C++", "cpp"),
    ".c": ("C", "c"),
    ".f90": ("Fortran", "fortran"),
    ".F90": ("Fortran", "fortran"),
    ".py": ("Python", "python"),
}
#: Signs of a comment at the start of a line, and at its end.
_SIGNS = re.compile(r"^(?://+|/\*+|\*+(?!/)|\s\*(?!/)|![!>]?|#(?!include)) ?|\s*\*/$")
#: Lines for the tests.
_SETTINGS = re.compile(r"SPDX-|(?:ranks|expected|needs): |!/|/usr/bin")


@dataclass
class Example:
    """One program, in one language or several."""

    name: str
    sources: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        words = re.sub(r"^\d+_", "", self.name.rpartition("/")[2]).replace("_", " ")
        return words[0].upper() + words[1:]

    @property
    def language(self) -> str:
        """Of an example that C++ does not have; else empty."""
        return LANGUAGES[PurePosixPath(self.sources[0]).suffix][0] if "/" in self.name else ""


def find(files: Collection[str], read: Callable[[str], str]) -> list[Example]:
    """Examples in the order of their numbers. Those that must have the same output are one; what is in
    another language only has its page in a folder of the language."""
    found: dict[str, Example] = {}
    for path in sorted(files, key=lambda p: (p.count("/"), not p.endswith(".c"), p)):
        pure = PurePosixPath(path)
        if not path.startswith("examples/") or pure.suffix not in LANGUAGES:
            continue
        folder = "/".join(pure.parts[1:-1])
        expected = re.search(r"\bexpected: (\w+)\.expected", read(path)[:600])
        if expected:
            name = expected.group(1)
        elif folder in ("", "c", "fortran", "python"):
            name = f"{folder}/{pure.stem}".lstrip("/")
        else:
            name = folder  # one example, of several steps
        found.setdefault(name, Example(name)).sources.append(path)
    return sorted(found.values(), key=lambda one: ("/" in one.name, not one.name[0].isdigit(), one.name))


def page(example: Example, files: Collection[str], read: Callable[[str], str]) -> str:
    texts = {path: read(path) for path in example.sources}
    parts = [f"# {example.title}\n", brief_of(next(iter(texts.values()))) + "\n"]
    languages = [PurePosixPath(path).suffix for path in texts]
    are_steps = len(languages) > len(set(languages))
    if len(texts) == 1 or are_steps:
        for path, text in texts.items():
            if are_steps:
                parts.append(f"## {_step(path)}\n\n{brief_of(text)}\n")
            parts.append(_program(path, text))
    else:
        for path, text in texts.items():
            language = LANGUAGES[PurePosixPath(path).suffix][0]
            parts.append(f'=== "{language}"\n\n{markup.indented(_program(path, text))}')
    for path in dict.fromkeys(_expected(path, files) for path in texts):
        if path:
            parts.append(f"## Output\n\nThe tests compare the output with this.\n\n{markup.fenced(read(path), 'text')}")
            break
    return "\n".join(parts)


def index(examples: Collection[Example], read: Callable[[str], str]) -> str:
    parts = [
        "# Examples\n",
        "The smallest programs, in an order to learn from. Each page has the source and what it prints; the tests",
        "run them and compare. `make build` builds them all.\n",
    ]
    for language in dict.fromkeys(one.language for one in examples):
        rows = [
            f"| [{one.title}]({one.name}.md) | {brief_of(read(one.sources[0]))} |"
            for one in examples
            if one.language == language
        ]
        parts += [*([f"## {language}\n"] if language else []), "| | |\n|---|---|", *rows, ""]
    return "\n".join(parts)


def brief_of(source: str) -> str:
    """The comment or docstring at the head of a program, as one paragraph."""
    docstring = re.match(r'(?:#.*\n|\s)*"""(.*?)(?:\n\s*\n|""")', source, re.DOTALL)
    if docstring:
        return _paragraph(docstring.group(1))
    words: list[str] = []
    for line in source.split("\n"):
        if not _SIGNS.match(line):
            if words or line.strip():
                break
            continue
        text = re.sub(_SIGNS, "", re.sub(_SIGNS, "", line, count=1)).strip()
        if not text and words:
            break
        if not _SETTINGS.match(text):
            words.append(text)
    return _paragraph(" ".join(words))


def _paragraph(text: str) -> str:
    return markup.escaped_but_code(" ".join(text.split()))


def _program(path: str, text: str) -> str:
    pure = PurePosixPath(path)
    shown = re.sub(r"^(?://|!|#|/\*) (?:SPDX-|expected: ).*\n", "", text, flags=re.MULTILINE)
    ranks = re.search(r"^(?://|!|#|/\*) ranks: (\d+)", text, re.MULTILINE)
    built = {2: "", 3: f"{pure.parts[1]}_"}.get(len(pure.parts))
    is_known = built is not None and (len(pure.parts) == 2 or pure.parts[1] in ("c", "fortran", "python"))
    program = f"python3 {path}" if pure.suffix == ".py" else f"build/release/examples/example_{built}{pure.stem}"
    start = markup.fenced(f"tools/mpiexec {ranks.group(1)} {program}" if ranks else program, "sh") if is_known else ""
    return f"{start}\n{markup.fenced(shown, LANGUAGES[pure.suffix][1], path)}"


def _step(path: str) -> str:
    words = PurePosixPath(path).stem.replace("_", " ")
    return re.sub(r"^step (\d+) ", r"Step \1: ", words)


def _expected(path: str, files: Collection[str]) -> str:
    pure = PurePosixPath(path)
    beside = [pure.with_suffix(".expected"), pure.parent / f"{pure.parent.name}.expected"]
    beside.append(PurePosixPath("examples") / f"{pure.stem}.expected")
    return next((str(one) for one in beside if str(one) in files), "")
