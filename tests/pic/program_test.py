# SPDX-License-Identifier: Apache-2.0
"""plait-pic as its users run it: every way at several numbers of ranks, bad input. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import re
import sys
import unittest

from program_case import ProgramCase, run

ZOLTAN = tuple(f"zoltan-{method}" for method in ("rcb", "hsfc", "graph"))
PLATE = ("--problem", "plate", "--cells", 24, 20, "--steps", 12, "--particles-per-cell", 6)


def ways() -> list[str]:
    """What --help lists."""
    text = run("--help", ranks=0).stdout
    way = text[text.index("--way TEXT") : text.index("--patches INT")]
    return re.findall(r"^\s+([\w+-]+): ", way, re.MULTILINE)


class Program(ProgramCase):
    def value(self, name: str, text: str) -> str:
        found = re.search(rf"^{name} (\S+)", text, re.MULTILINE)
        self.assertIsNotNone(found, text)
        return found.group(1)

    def test_every_way_gives_the_same_answer_at_any_number_of_ranks(self) -> None:
        expected = self.value("checksum", self.good(*PLATE, ranks=1))
        balanced = ("collection", "--balance-every", 3, "--balancer")
        runs = {
            1: (("collection",), ("synchronous",)),
            2: (("static",), (*balanced, "greedy"), ("collection", "--balancer", "refine", "--balance-every", "auto")),
            3: (("static",), ("synchronous", "--balance-every", 3), (*balanced, "bisection")),
            4: (("collection",), (*balanced, "two_level")),
            7: (("static",), ("synchronous", "--balance-every", 5), (*balanced, "hypercube")),
        }
        listed = set(ways())
        self.assertEqual({way for ways_there in runs.values() for way, *_ in ways_there}, listed)
        for ranks, ways_there in runs.items():
            for way in ways_there:
                with self.subTest(way=way, ranks=ranks):
                    text = self.good(*PLATE, "--way", *way, "--patches", 1 + ranks % 3, ranks=ranks)
                    self.assertEqual(self.value("checksum", text), expected)

    def test_zoltan_balances_where_it_is_built_in(self) -> None:
        expected = self.value("checksum", self.good(*PLATE, ranks=1))
        for way in ("synchronous", "collection"):
            for balancer in ZOLTAN:
                with self.subTest(way=way, balancer=balancer):
                    options = ("--way", way, "--patches", 8, "--balance-every", 4, "--balancer", balancer)
                    done = run(*PLATE, *options, ranks=3)
                    if "is not in this build" in done.stderr:
                        self.assertNotEqual(done.returncode, 0)
                        self.assertIn("install libtrilinos-zoltan-dev", done.stderr)
                        self.skipTest("Zoltan was not there when plait was built (libtrilinos-zoltan-dev)")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.value("checksum", done.stdout), expected)
                    balanced = re.findall(r"^ +(\d+) +([\d.]+)% +([\d.]+)% +(\d+) ", done.stdout, re.MULTILINE)
                    self.assertTrue(balanced, done.stdout)
                    _, before, predicted, moved = map(float, balanced[0])
                    self.assertLess(predicted, before / 2)
                    self.assertGreater(moved, 0)

    def test_particles_that_cross_many_patches_in_a_step_arrive(self) -> None:
        fast = ("--problem", "uniform", "--cells", 20, 16, "--particles-per-cell", 2, "--solver", "electrostatic")
        fast = (*fast, "--time-step", 1.9, "--thermal", 2, "--steps", 5)  # 18 cells a step
        expected = self.value("checksum", self.good(*fast, ranks=1))
        for ranks, way in ((3, ("static",)), (2, ("synchronous",)), (4, ("collection", "--balancer", "greedy"))):
            with self.subTest(way=way):
                text = self.good(*fast, "--way", *way, "--patches", 9, "--balance-every", 2, ranks=ranks)
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
        # What problems refuse is tested in plain_way_test.cpp.
        self.refused("at least one cell", "--cells", 2, 3, ranks=7)
        self.refused("at least one cell", "--cells", 4, 4, "--patches", 9, "--way", "collection", ranks=2)
        for sentence, command in (
            ("choose one of uniform", ("--problem", "nowhere")),
            ("--way", ("--way", "nowhere")),
            ("--solver", ("--solver", "nowhere")),
            ("--distribution", ("--distribution", "nowhere")),
            ("Courant", ("--time-step", 2)),
            ("--tolerance", ("--tolerance", "nan")),
            ("--thermal inf", ("--thermal", "inf")),
            ("--way static has no balancing", ("--balancer", "greedy")),
            ("there is no balancer nothing", ("--way", "collection", "--balancer", "nothing")),
            ("--balance-every 0", ("--way", "collection", "--balancer", "greedy", "--balance-every", 0)),
            ("--checkpoint-folder", ("--checkpoint-every", 1, "--checkpoint-folder", "/proc/nowhere")),
            ("--output", ("--output", "/proc/nowhere")),
            ("--frobnicate", ("--frobnicate",)),
        ):
            with self.subTest(command=command):
                self.refused(sentence, *command)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
