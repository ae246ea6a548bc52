# SPDX-License-Identifier: Apache-2.0
"""The coarray variants of bench_alltoall, whose results it checks. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import json
import sys
import unittest

from program_case import ProgramCase, run

#: In one chunk, in several of 16 KiB, and with a last one that is smaller.
SIZES = (8, 32768, 40000)
VARIANTS = ("CoM-F", "CrB-F")


class Coarrays(ProgramCase):
    def rows(self, ranks: int, *options: object) -> set[tuple[str, str, str]]:
        """Variant, bytes and group of each time that was measured."""
        file = self.folder / "results.json"
        sizes = ",".join(map(str, SIZES))
        wanted = ("--variants", ",".join(VARIANTS), "--sizes", sizes, "--turns", 3, "--iters", 2)
        done = run(*wanted, *options, "--json", file, ranks=ranks)
        if "CoM-F is left out" in done.stdout:
            self.skipTest(f"coarrays cannot run with this MPI here: {done.stdout}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)  # a wrong result fails
        rows = [row["params"] for row in json.loads(file.read_text())["results"] if row["name"] == "total"]
        return {(row["alg"], row["bytes"], row["group"]) for row in rows if row["alg"] in VARIANTS}

    def expected(self, *groups: str) -> set[tuple[str, str, str]]:
        return {(name, str(size), group) for name in VARIANTS for size in SIZES for group in groups}

    def test_exchange_among_all_images(self) -> None:
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.rows(ranks), self.expected("row"))

    def test_exchange_in_rows_and_columns(self) -> None:
        self.assertEqual(self.rows(4, "--grid", "2x2"), self.expected("row", "column"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
