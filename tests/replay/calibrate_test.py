# SPDX-License-Identifier: Apache-2.0
"""plait-calibrate on two and three ranks. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import json
import os
import unittest
import unittest.mock
from typing import Any

from program_case import ProgramCase

SIZES = "8,1024,16384,65536"


class Program(ProgramCase):
    def calibration(self, ranks: int) -> dict[str, Any]:
        file = self.folder / f"{ranks}.json"
        self.good("--sizes", SIZES, "--rounds", 2, "--share", 0.2, "-o", file, ranks=ranks)
        return json.loads(file.read_text())

    def test_every_series_has_all_sizes_and_rounds(self) -> None:
        for ranks in (2, 3):
            found = self.calibration(ranks)
            self.assertEqual((found["format"], found["version"]), ("plait-calibration", 1))
            self.assertEqual((found["ranks"], found["is_within_host"]), (ranks, True))
            self.assertGreater(found["slowdown_of_computing_at_once"], 0.5)
            sizes: dict[str, list[int]] = {}
            for one in found["series"]:
                sizes.setdefault(one["what"], []).append(one["bytes"])
                self.assertEqual(len(one["times_ns"]), 2)
                self.assertTrue(all(time >= 0 for time in one["times_ns"]), one)
            self.assertEqual(len(sizes), 13)
            self.assertEqual(set(map(tuple, sizes.values())), {tuple(map(int, SIZES.split(",")))})
            single = {one["bytes"]: min(one["times_ns"]) for one in found["series"] if one["what"] == "one way"}
            self.assertGreater(single[8], 0)

    def test_the_eager_limit_is_that_of_the_library(self) -> None:
        limit = {"OMPI_MCA_btl_vader_eager_limit": "20000"}
        with unittest.mock.patch.dict(os.environ, limit):
            found = self.calibration(2)
        if not found["mpi"].startswith("Open MPI v4"):
            self.skipTest(f"the limit of {found['mpi']} is not known here")
        self.assertTrue(19000 <= found["eager_bytes_max"] <= 20000, found["eager_bytes_max"])

    def test_what_cannot_be_measured_is_an_error(self) -> None:
        self.refused("two processes or more are needed", "--sizes", SIZES)
        self.refused("--rounds", "--rounds", 0)
        self.refused(
            "cannot be written",
            *("--sizes", 8, "--rounds", 1, "--share", 0.1, "-o", self.folder / "none" / "x.json"),
            ranks=2,
        )


if __name__ == "__main__":
    unittest.main(argv=["calibrate_test"])
