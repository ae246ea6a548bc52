#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shown_diffs.py [--write] DOCUMENT: the differences that DOCUMENT shows must be those between the files.

Where the document has a line `<!-- diff BEFORE AFTER -->`, paths from the project's folder, the block that follows it
must be `diff -U1 BEFORE AFTER` without its heads. With --write, the block is written instead.
"""

import difflib
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
SHOWN = re.compile(
    r"(?P<head><!-- diff (?P<before>\S+) (?P<after>\S+) -->\n+```diff\n)(?P<lines>.*?)(?P<end>^```$)", re.M | re.S
)


def difference(before: str, after: str) -> str:
    texts = [(PROJECT / path).read_text().splitlines(keepends=True) for path in (before, after)]
    lines = list(difflib.unified_diff(*texts, n=1))[2:]
    return "".join("@@\n" if line.startswith("@@") else line for line in lines)


def main() -> int:
    *options, name = sys.argv[1:]
    document = pathlib.Path(name)
    text = document.read_text()
    if not SHOWN.search(text):
        print(f"{document} shows no difference: a line `<!-- diff BEFORE AFTER -->` precedes each")
        return 1
    right = SHOWN.sub(lambda shown: shown["head"] + difference(shown["before"], shown["after"]) + shown["end"], text)
    if "--write" in options:
        document.write_text(right)
    elif right != text:
        print("".join(difflib.unified_diff(text.splitlines(True), right.splitlines(True), name, "as the files are")))
        print(f"the files have changed since: run tools/shown_diffs.py --write {name}, and read the text around them")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
