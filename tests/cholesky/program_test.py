# SPDX-License-Identifier: Apache-2.0
"""plait-cholesky as its users run it: matrices of all kinds, options, bad input. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import pathlib
import re
import sys
import unittest

import h5py
import numpy as np
from program_case import ProgramCase, run


class Program(ProgramCase):
    def written(self, name: str, text: str) -> pathlib.Path:
        file = self.folder / name
        file.write_text(text)
        return file

    def test_any_number_of_ranks_finds_the_same_factor(self) -> None:
        for kind, name in (((), "L"), (("--lu",), "LU")):
            factors = []
            for ranks in (1, 2, 4):
                file = self.folder / f"{name}-{ranks}.hdf5"
                text = self.good("--size", 300, "--tile", 32, "--output", file, *kind, ranks=ranks)
                self.assertRegex(text, r"residual +\S+ = .*: right")
                self.assertNotIn("\r", text)  # no progress bar without a terminal
                with h5py.File(file) as opened:
                    factors.append(opened[name][:])
            for other in factors[1:]:
                self.assertLess(np.abs(other - factors[0]).max(), 1e-10)

    def test_the_report_tells_time_speed_idleness_and_messages(self) -> None:
        text = self.good("--size", 512, "--tile", 64, ranks=2)
        for row in ("time", "GFlop/s", "workers idle", "sent"):
            self.assertIn(row, text)
        tiles = int(re.search(r"sent +(\d+) tiles", text)[1])
        self.assertGreater(tiles, 0)
        self.assertIn("sent          0 tiles", self.good("--size", 512, "--tile", 64, ranks=1))

    def test_every_way_of_sending_gives_right_factors(self) -> None:
        for way in (
            ("--driver", "mpi"),
            ("--driver", "shm"),
            ("--packing", "immediate"),
            ("--packing", "priority"),
            ("--no-multicast",),
            ("--workers", 2),
            ("--grid", "4x1"),
        ):
            self.assertIn("right", self.good("--size", 200, "--tile", 32, *way, ranks=4), way)

    def test_files_are_factored(self) -> None:
        n = 60
        random = np.random.default_rng(1).normal(size=(n, n))
        matrix = random @ random.T + n * np.eye(n)
        expected = np.linalg.cholesky(matrix)
        stored = self.folder / "matrix.hdf5"
        with h5py.File(stored, "w") as file:
            file["a"] = matrix
            file["b"] = matrix
        lines = [f"{i + 1} {j + 1} {matrix[i, j]!r}" for j in range(n) for i in range(j, n)]
        lines = [line.replace("np.float64(", "").replace(")", "") for line in lines]
        head = f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(lines)}\n"
        market = self.written("matrix.mtx", head + "\n".join(lines) + "\n")
        for source in (("--matrix", stored, "--dataset", "b"), ("--matrix", market)):
            out = self.folder / "factor.hdf5"
            self.good(*source, "--tile", 16, "--output", out, ranks=2)
            with h5py.File(out) as file:
                self.assertLess(np.abs(file["L"][:] - expected).max(), 1e-12)

    def test_a_matrix_that_is_not_positive_definite_is_named_by_its_minor(self) -> None:
        text = "%%MatrixMarket matrix coordinate real symmetric\n9 9 9\n"
        file = self.written("a.mtx", text + "".join(f"{i} {i} {-1 if i == 7 else 2}\n" for i in range(1, 10)))
        for ranks in (1, 2, 4):
            self.refused("leading minor of order 7 ", "--matrix", file, "--tile", 2, ranks=ranks)
        self.refused("not positive definite", "--size", 200, "--diagonal", 0, "--tile", 32, ranks=2)
        self.good("--matrix", file, "--lu")
        singular = self.written("s.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n")
        self.refused("pivot 1 ", "--matrix", singular, "--lu")

    def test_bad_files_are_refused_with_file_and_line(self) -> None:
        self.refused("nowhere.mtx", "--matrix", self.folder / "nowhere.mtx")
        self.refused("nowhere.hdf5", "--matrix", self.folder / "nowhere.hdf5", ranks=2)
        head = "%%MatrixMarket matrix coordinate real general\n"
        self.refused("bad.mtx: line 3: ", "--matrix", self.written("bad.mtx", head + "2 2 1\n3 1 1\n"))
        self.refused("2 rows and 3 columns", "--matrix", self.written("wide.mtx", head + "2 3 1\n1 1 1\n"))
        self.refused("not symmetric", "--matrix", self.written("g.mtx", head + "2 2 3\n1 1 1\n2 2 1\n2 1 5\n"))

    def test_bad_options_are_refused_by_name(self) -> None:
        self.refused("--frobnicate", "--frobnicate")
        self.refused("--size", "--size", 0)
        self.refused("--grid 3x1", "--grid", "3x1", ranks=2)
        self.refused("--driver", "--driver", "pigeon")
        self.refused("--packing", "--packing", "paper")
        self.refused("--tile", "--tile", -3)
        self.refused("--output", "--size", 64, "--output", self.folder / "nowhere" / "l.hdf5")
        self.refused("this machine has", "--size", 100_000_000, "--tile", 30_000)
        done = run("--size", 64, environment={"PLAIT_WORKERS": "none"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("PLAIT_WORKERS", done.stderr)

    def test_an_output_that_is_refused_leaves_what_was_there(self) -> None:
        out = self.folder / "l.hdf5"
        self.good("--size", 64, "--output", out)
        before = out.read_bytes()
        self.refused("not positive definite", "--size", 64, "--diagonal", 0, "--output", out, ranks=2)
        self.assertEqual(out.read_bytes(), before)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["l.hdf5"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
