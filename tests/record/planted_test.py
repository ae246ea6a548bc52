# SPDX-License-Identifier: Apache-2.0
"""Defects planted into a real program (examples/planted) are named in its report, with their costs.

Called with the BUILD folder. The machine may be busy: costs are never below what was planted.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import polars as pl
from plait.measures.collective_findings import late_groups, slow_groups
from plait.readers.plait import read_run
from plait.report.analysis import Analysis, analyse
from plait.report.summary import find_all_losses, length_ns

BUILD = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANTED = ROOT / "examples/planted"
STEPS = 40
SECONDS_MAX = 120
SLOW_MS, LATE_MS = 40.0, 80.0


@unittest.skipIf(shutil.which("mpicc") is None, "mpicc is not here")
class Planted(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        for name, options in (("slow_collective", []), ("late_rank", ["-O2"])):
            library = cls.folder / f"{name}.so"
            source = PLANTED / f"{name}.c"
            subprocess.run(["mpicc", "-shared", "-fPIC", *options, "-o", library, source, "-ldl"], check=True)
        for name in ("heat", "structs", "overlap"):
            source = PLANTED / f"{name}.c"
            subprocess.run(["mpicc", "-O2", "-g", "-o", cls.folder / name, source, "-lm"], check=True)

    def record(self, name: str, program: str = f"heat {STEPS}", **variables: str) -> Analysis:
        preloads = 'LD_PRELOAD="$PWD/late_rank.so:$LD_PRELOAD:$PWD/slow_collective.so"'
        start = ["sh", "-c", f"{preloads} exec ./{program}"]
        environment = {
            **os.environ,
            **variables,
            "PYTHONPATH": str(ROOT / "python/src"),
            "PLAIT_BUILD": str(BUILD),
            # For machines with one core, and for containers, whose user is root.
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "XDG_CACHE_HOME": str(self.folder / "cache"),  # no network that was measured here
        }
        command = [sys.executable, "-m", "plait", "record"]
        done = subprocess.run(
            [*command, "--output", name, "--", "mpiexec", "-n", "2", *start],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return analyse(read_run(self.folder / name), self.folder / name, None)

    def test_a_slow_broadcast_and_a_late_rank_are_named_with_their_costs(self) -> None:
        found = self.record(
            "planted",
            PLANTED_SLOW=f"MPI_Bcast 65536 {int(1000 * SLOW_MS)}",
            PLANTED_LATE=f"MPI_Allreduce 8 {int(1000 * LATE_MS)}",
        )
        run, groups, length = found.run, found.collective_groups, length_ns(found)
        slow = slow_groups(run, groups, length)
        self.assertEqual([run.functions[name] for name in slow["function"]], ["MPI_Bcast"])
        self.assertGreaterEqual(slow["slow_ns"].item(), SLOW_MS * 1e6 * STEPS)
        self.assertIn("heat.c", str(run.sites[slow["site"].item()]))
        late = late_groups(run, groups, length).row(0, named=True)
        self.assertEqual((run.functions[late["function"]], late["late_rank"]), ("MPI_Allreduce", 1))
        self.assertGreater(late["cost_ns"], 0.5 * LATE_MS * 1e6 * STEPS)
        sentences = "\n".join(find_all_losses(found))
        self.assertRegex(sentences, r"MPI_Bcast at distribute_heating \(heat\.c:\d+\) of 64 KiB on 2 ranks is slow")
        self.assertRegex(sentences, r"Rank 1 arrives .* late in MPI_Allreduce at largest_change \(heat\.c:\d+\)")

    def test_no_collective_of_the_program_as_it_is_counts_as_slow(self) -> None:
        found = self.record("clean")
        slow = slow_groups(found.run, found.collective_groups, length_ns(found))
        self.assertEqual(slow.height, 0, slow)

    def test_messages_of_structs_are_recorded_apart_from_those_of_doubles(self) -> None:
        found = self.record("mixed", "structs 300")
        sent = found.matched.group_by("non_contiguous").agg(pl.col("size_bytes").sum(), pl.len())
        self.assertEqual(sorted(sent.rows()), [(False, 300 << 16, 300), (True, 300 << 16, 300)])
        scattered = found.scattered_messages.row(0, named=True)
        self.assertEqual((scattered["size_bytes"], scattered["measured"]), (1 << 16, True))
        self.assertIn("structs.c", str(found.run.sites[scattered["site"]]))
        self.assertGreater(scattered["took_ns"], scattered["contiguous_ns"])

    def test_collectives_of_structs_are_compared_with_those_of_doubles(self) -> None:
        found = self.record("mixed-collectives", "structs 300")
        groups = found.collective_groups.filter(pl.col("block_bytes") == 1 << 16)
        names = [found.run.functions[name] for name in groups["function"]]
        self.assertEqual((names, sorted(groups["scattered"])), (["MPI_Bcast"] * 2, [False, True]))
        takes = dict(groups.select("scattered", "after_low_ns").rows())
        self.assertGreater(takes[True], takes[False])

    def test_a_non_blocking_sum_without_progress_is_named(self) -> None:
        steps, computes_ms = 30, 20.0
        found = self.record("begun", f"overlap {steps} {computes_ms}")
        functions = {name: found.run.functions.index(name) for name in ("MPI_Iallreduce", "MPI_Neighbor_alltoall")}
        groups = {row["function"]: row for row in found.collective_groups.to_dicts()}
        self.assertEqual(set(groups), set(functions.values()))
        sums = groups[functions["MPI_Iallreduce"]]
        self.assertEqual((sums["operations"], sums["members"], sums["block_bytes"]), (steps, 2, 1 << 20))
        # Of 22 ms of computing on two ranks, at least half was beside the sum.
        self.assertGreater(sums["hidden_ns"], 0.25 * steps * computes_ms * 1e6)
        self.assertGreater(sums["stalled_median_ns"], 0.5 * 0.9 * computes_ms * 1e6)
        self.assertEqual(groups[functions["MPI_Neighbor_alltoall"]]["block_bytes"], 2 * 4096)
        sentences = "\n".join(find_all_losses(found))
        named = r"MPI_Iallreduce at sum_beside_computing \(overlap\.c:\d+\) of 1 MiB on 2 ranks makes no progress"
        self.assertRegex(sentences, named)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
