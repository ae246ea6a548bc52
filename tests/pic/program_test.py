# SPDX-License-Identifier: Apache-2.0
"""plait-pic as its users run it: every way at several numbers of ranks, bad input. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import re
import sys
import unittest

from program_case import ProgramCase, run

PLATE = ("--problem", "plate", "--cells", 24, 20, "--steps", 12, "--particles-per-cell", 6)


def ways() -> list[str]:
    """What --help lists."""
    text = run("--help", ranks=0).stdout
    return re.findall(r"^\s+([\w+-]+): ", text[text.index("--way") :], re.MULTILINE)


class Program(ProgramCase):
    def value(self, name: str, text: str) -> str:
        found = re.search(rf"^{name} (\S+)", text, re.MULTILINE)
        self.assertIsNotNone(found, text)
        return found.group(1)

    def test_every_way_gives_the_same_answer_at_any_number_of_ranks(self) -> None:
        expected = self.value("checksum", self.good(*PLATE, ranks=1))
        self.assertIn("static", ways())
        for way in ways():
            for ranks in (1, 2, 3, 4, 7):
                with self.subTest(way=way, ranks=ranks):
                    text = self.good(*PLATE, "--way", way, "--patches", 1 + ranks % 3, ranks=ranks)
                    self.assertEqual(self.value("checksum", text), expected)

    def test_another_seed_gives_another_answer(self) -> None:
        one, other = (self.value("checksum", self.good(*PLATE, "--seed", seed, ranks=1)) for seed in (1, 2))
        self.assertNotEqual(one, other)

    def test_the_kernel_problem_is_checked(self) -> None:
        kernel = ("--problem", "kernel", "--cells", 20, 20, "--particles", 500, "--kernel-k", 1, "--steps", 10)
        for more in (
            ("--distribution", "geometric", "--rho", 0.9),
            ("--distribution", "sinusoidal"),
            ("--distribution", "linear", "--linear", 1, 3),
            ("--distribution", "patch", "--patch", 2, 9, 5, 12),
        ):
            with self.subTest(more=more):
                text = self.good(*kernel, *more)
                self.assertRegex(text, r"not where they belong 0 of [45]\d\d\b")

    def test_what_cannot_be_is_refused_by_name(self) -> None:
        for sentence, command in (
            ("choose one of uniform", ("--problem", "nowhere")),
            ("--way", ("--way", "nowhere")),
            ("--solver", ("--solver", "nowhere")),
            ("--distribution", ("--distribution", "nowhere")),
            ("at least one cell", ("--cells", 1, 1)),
            ("at least one cell", ("--cells", 4, 4, "--patches", 9)),
            ("Courant", ("--time-step", 2)),
            ("order 3", ("--order", 3)),
            ("--particles-per-cell", ("--problem", "two-stream", "--particles-per-cell", 3)),
            ("--particles", ("--problem", "kernel")),
            ("even number of cells", ("--problem", "kernel", "--particles", 9, "--cells", 5, 4)),
            ("--tolerance", ("--tolerance", 0)),
            ("--frobnicate", ("--frobnicate",)),
        ):
            with self.subTest(command=command):
                self.refused(sentence, *command)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
