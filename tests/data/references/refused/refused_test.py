# SPDX-License-Identifier: Apache-2.0
"""What must not compile does not, with the sentence that is meant for it; what is beside it does.

    python refused_test.py COMPILER INCLUDE_FOLDER...

Two runs of the compiler in all, however many cases: it goes on after errors.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).with_name("refused.cpp")
COMPILER, *INCLUDES = sys.argv[1:]


def compile_with(*flags: str) -> subprocess.CompletedProcess[str]:
    includes = [f"-I{folder}" for folder in INCLUDES]
    return subprocess.run(
        [COMPILER, "-std=c++20", "-fsyntax-only", "-fmax-errors=0", *includes, *flags, str(SOURCE)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )


def cases() -> dict[int, str]:
    """The sentence that is meant for each line."""
    found = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), start=2):  # the comment is above
        if match := re.match(r"\s*// refused: (.*)", line):
            found[number] = match[1]
    return found


def complaints(output: str) -> dict[int, str]:
    """What the compiler reports, by the line of the source: it names that before the error, or in it."""
    by_line: dict[int, str] = {}
    block: list[str] = []
    current = 0
    for line in output.splitlines():
        if re.match(r"(In file included|.*: In (member )?(function|instantiation|substitution|lambda))", line):
            current = 0
            block = []
        block.append(line)
        if match := re.match(rf".*{SOURCE.name}:(\d+):\d+:", line):
            current = int(match[1])
            by_line[current] = by_line.get(current, "") + "\n".join(block[:-1]) + "\n"
            block = [line]
        if current:
            by_line[current] += line + "\n"
    return by_line


class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.refused = compile_with("-DREFUSED")

    def test_what_is_right_compiles(self) -> None:
        result = compile_with("-Wall")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_each_mistake_is_refused_with_its_sentence(self) -> None:
        self.assertNotEqual(self.refused.returncode, 0)
        said = complaints(self.refused.stderr)
        self.assertGreater(len(cases()), 20)
        for line, sentence in cases().items():
            with self.subTest(line=line, sentence=sentence):
                self.assertIn(line, said, f"line {line} compiles")
                self.assertIn("error:", said[line])
                self.assertIn(sentence, said[line])
        unexpected = {line for line, text in said.items() if "error:" in text} - set(cases())
        self.assertEqual(unexpected, set(), "\n".join(said[line] for line in unexpected))

    def test_the_type_that_cannot_be_packed_is_named(self) -> None:
        said = complaints(self.refused.stderr)
        line = next(number for number, text in cases().items() if "cannot pack" in text)
        self.assertRegex(said[line], r"\[with T = .*Silent\]")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
