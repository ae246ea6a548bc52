# SPDX-License-Identifier: Apache-2.0
"""Runs of plait-pic that go on from a checkpoint end as the unbroken one. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest
import zlib

import h5py
import numpy as np
from program_case import MPIEXEC, PROGRAM, SECONDS_MAX, ProgramCase, run

Options = tuple[object, ...]

PLATE: Options = ("--problem", "plate", "--cells", 24, 20, "--steps", 12, "--particles-per-cell", 6)
UNIFORM: Options = ("--problem", "uniform", "--cells", 20, 14, "--particles-per-cell", 4)
COLLECTION: Options = ("--way", "collection", "--patches", 4)
BALANCED: Options = (*COLLECTION, "--balancer", "greedy", "--balance-every", 3)


def ranks_of(launcher: int) -> list[int]:
    """The processes of the program that a launcher has started, in order of their ids."""
    found = []
    for child in pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/exe").resolve() == pathlib.Path(PROGRAM).resolve():
            found.append(int(child))
        found += ranks_of(int(child))
    return found


class Restart(ProgramCase):
    def checksum(self, text: str) -> str:
        found = re.search(r"^checksum ([0-9a-f]{16})$", text, re.MULTILINE)
        self.assertIsNotNone(found, text)
        return found.group(1)

    def goes_on(self, left: pathlib.Path, step: int, ranks: int, *options: object) -> str:
        """The checksum of a run that goes on from a copy of the folder of another."""
        folder = self.folder / "copy"
        shutil.copytree(left, folder)
        text = self.good(*options, "--restart", "--checkpoint-folder", folder, ranks=ranks)
        shutil.rmtree(folder)
        self.assertIn(f"restarted from step {step} of ", text)
        return self.checksum(text)

    def test_any_way_and_ranks_go_on_from_what_another_left(self) -> None:
        unbroken = self.checksum(self.good(*PLATE, ranks=1))
        synchronous = ("--way", "synchronous", "--patches", 2, "--balance-every", 3)
        for number, (way, others) in enumerate(
            (
                (BALANCED, ((1, COLLECTION), (2, ("--way", "static")), (3, BALANCED), (7, synchronous))),
                (synchronous, ((4, BALANCED),)),
            )
        ):
            left = self.folder / f"left-{number}"
            text = self.good(*PLATE, *way, "--checkpoint-every", 4, "--checkpoint-folder", left, ranks=3)
            self.assertEqual(self.checksum(text), unbroken)
            (left / "checkpoint-0000000012.h5").unlink()  # of the end
            for ranks, other in others:
                with self.subTest(way=way, ranks=ranks, other=other):
                    self.assertEqual(self.goes_on(left, 8, ranks, *PLATE, *other), unbroken)

    def test_every_kind_of_solver_goes_on(self) -> None:
        for problem in (
            ("--problem", "plate", "--cells", 10, 8, 8, "--order", 2, "--steps", 7),
            ("--problem", "plate", "--cells", 16, 12, "--solver", "electrostatic", "--steps", 7),
            (*UNIFORM, "--solver", "electrostatic", "--order", 2, "--poisson", "cg", "--steps", 7),
            ("--problem", "kernel", "--cells", 20, 20, "--particles", 400, "--kernel-k", 1, "--steps", 7),
        ):
            with self.subTest(problem=problem):
                left = self.folder / "left"
                more = ("--checkpoint-every", 5, "--checkpoint-folder", left)
                unbroken = self.checksum(self.good(*problem, *COLLECTION, *more, ranks=2))
                self.assertEqual(self.goes_on(left, 5, 3, *problem, *BALANCED), unbroken)
                shutil.rmtree(left)

    def test_a_rank_killed_between_checkpoints(self) -> None:
        left = self.folder / "left"
        # It would run for hours; how far it comes before the signal does not matter.
        endless = ("--steps", 10**9, "--diagnose-every", 5, "--checkpoint-every", 5, "--checkpoint-folder", left)
        command = [MPIEXEC, "3", PROGRAM, *map(str, (*UNIFORM, *BALANCED, *endless))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
            try:
                for line in started.stdout:
                    if re.match(r"\s*20 ", line):
                        os.kill(ranks_of(started.pid)[1], signal.SIGKILL)
                        break
                rest, _ = started.communicate(timeout=SECONDS_MAX)
            finally:
                started.kill()
        self.assertNotEqual(started.returncode, 0)
        self.assertNotIn("checksum", rest)
        step = max(int(file.stem.rpartition("-")[2]) for file in left.glob("checkpoint-*.h5"))
        self.assertGreaterEqual(step, 15)
        problem = (*UNIFORM, "--steps", step + 7)
        unbroken = self.checksum(self.good(*problem, ranks=1))
        for ranks, way in ((1, COLLECTION), (3, BALANCED), (4, BALANCED)):
            self.assertEqual(self.goes_on(left, step, ranks, *problem, *way), unbroken, f"on {ranks} ranks")

    def test_a_damaged_checkpoint_is_refused_and_the_older_one_used(self) -> None:
        left = self.folder / "left"
        problem = (*UNIFORM, "--steps", 7)
        more = ("--checkpoint-every", 3, "--checkpoint-folder", left)
        unbroken = self.checksum(self.good(*problem, *COLLECTION, *more))
        newest = left / "checkpoint-0000000006.h5"
        newest.write_bytes(newest.read_bytes()[:-500])
        done = run(*problem, *COLLECTION, *more, "--restart", ranks=2)
        self.assertIn("cut short", done.stderr)
        self.assertIn("restarted from step 3 of ", done.stdout)
        self.assertEqual(self.checksum(done.stdout), unbroken)

    def test_a_full_disk_costs_checkpoints_and_nothing_else(self) -> None:
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "plait-test", disk], capture_output=True, check=False
        )
        if mounted.returncode != 0:
            self.skipTest("a small disk needs the right to mount one")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        problem = ("--problem", "plate", "--cells", 24, 24, "--steps", 120)
        unbroken = self.checksum(self.good(*problem, ranks=1))
        keep = ("--checkpoint-every", 10, "--checkpoint-folder", disk / "left")
        done = run(*problem, *COLLECTION, *keep, ranks=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.checksum(done.stdout), unbroken)
        own = [line for line in done.stderr.splitlines() if line.startswith("plait-pic: ")]
        self.assertEqual(len(own), 2, done.stderr)
        self.assertRegex(own[0], r"step \d+ was not written: .*No space left.*the run continues")
        self.assertRegex(own[1], r"\d+ of 12 checkpoints were not written")
        steps = [int(file.stem.rpartition("-")[2]) for file in (disk / "left").glob("checkpoint-*.h5")]
        refused = int(re.search(r"step (\d+)", own[0]).group(1))
        self.assertEqual(max(steps), refused - 10, "what was written before stays")
        self.assertFalse(list((disk / "left").glob("*.partial")))
        text = self.good(*problem, "--restart", "--checkpoint-folder", disk / "left", ranks=2)
        self.assertIn(f"restarted from step {max(steps)} of ", text)
        self.assertEqual(self.checksum(text), unbroken)
        # An output file ends the run, in one sentence.
        done = run(*problem, "--output", disk / "fields", "--output-every", 10, ranks=3)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sum(line.startswith("plait-pic: ") for line in done.stderr.splitlines()), 1, done.stderr)

    def test_what_is_of_another_run_is_refused(self) -> None:
        left = self.folder / "left"
        keep = ("--checkpoint-every", 3, "--checkpoint-folder", left)
        self.assertIn("no checkpoint in ", self.good(*PLATE, *keep, "--restart"))
        self.refused("files of another run", *PLATE, *keep)
        self.refused("--force excludes --restart", *PLATE, *keep, "--restart", "--force")
        for sentence, options in (
            ("its cells is '24 20', not '20 14'", (*UNIFORM, "--steps", 12)),
            ("its seed is '1', not '2'", (*PLATE, "--seed", 2)),
        ):
            self.refused(sentence, *options, *keep, "--restart")
        self.good(*UNIFORM, "--steps", 9, *keep, "--overwrite")
        self.refused("give more steps", *UNIFORM, "--steps", 7, *keep, "--restart", ranks=2)
        self.assertEqual(len(list(left.glob("checkpoint-*.h5"))), 2)

    def test_a_field_that_is_not_a_number_stops_all_ranks(self) -> None:
        left = self.folder / "left"
        problem = (*UNIFORM, "--steps", 6, "--checkpoint-every", 4, "--checkpoint-folder", left)
        self.good(*problem, ranks=3)
        with h5py.File(left / "checkpoint-0000000004.h5", "r+") as file:
            fields = file["collections/fields"]
            begin, end = fields["offset"][1:3]
            # The second block's electric field: its box as four numbers, how many values follow, values on nodes.
            block = bytearray(fields["bytes"][begin:end].tobytes())
            low_x, low_y, high_x, _, count = struct.unpack_from("<4iQ", block)
            node = 30
            struct.pack_into("<d", block, 24 + 24 * node + 8, float("nan"))
            self.assertGreater(count, node)
            fields["bytes"][begin:end] = np.frombuffer(block, np.uint8)
            element = int(fields["id"][1]).to_bytes(8, "little")
            fields["checksum"][1] = zlib.crc32(element + block)
        cell = (low_x + node % (high_x - low_x), low_y + node // (high_x - low_x))
        for way in (("--way", "static"), BALANCED):
            done = run(*problem, *way, "--restart", ranks=3)
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("checksum", done.stdout)
            # The value is also half of its neighbour's below.
            self.assertRegex(done.stderr, r"electric field along y is nan at step 4 in cell \(\d+, \d+\), on rank \d")
            cells = [tuple(map(int, found)) for found in re.findall(r"cell \((\d+), (\d+)\)", done.stderr)]
            self.assertTrue(set(cells) & {cell, (cell[0], cell[1] + 1)}, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
