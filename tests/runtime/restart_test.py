# SPDX-License-Identifier: Apache-2.0
"""Runs that lose a rank and go on from their checkpoint. Called with the program walkers and tools/mpiexec."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MPIEXEC = sys.argv[1:3] if len(sys.argv) > 2 else ("", "")
STEPS = 20
SECONDS_MAX = 100


def walk(ranks: int, folder: pathlib.Path, **options: object) -> subprocess.CompletedProcess[str]:
    settings = [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
    command = [MPIEXEC, str(ranks), PROGRAM, str(STEPS), str(folder), *settings]
    environment = {**os.environ, "PLAIT_WORKERS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, env=environment, check=False)


def state(done: subprocess.CompletedProcess[str]) -> str:
    found = re.search(r"^state ([0-9a-f]{16})$", done.stdout, re.MULTILINE)
    assert found and done.returncode == 0, done.stdout + done.stderr
    return found.group(1)


class Restart(unittest.TestCase):
    unbroken = ""

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cls.unbroken = state(walk(1, pathlib.Path(folder)))

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plait-restart-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def files(self, folder: pathlib.Path) -> list[str]:
        return sorted(file.name for file in folder.iterdir())

    def goes_on(self, left: pathlib.Path, ranks: int, step: int, way: str) -> str:
        """Continues from a copy of a run's files; returns the output."""
        folder = self.folder / f"on-{ranks}"
        shutil.copytree(left, folder)
        done = walk(ranks, folder, every=5, way=way)
        self.assertIn(f"restarted from step {step}\n", done.stdout)
        self.assertEqual(state(done), self.unbroken, f"on {ranks} ranks")
        self.assertFalse(list(folder.glob("*.partial")))
        return done.stdout

    def test_the_result_does_not_depend_on_ranks_and_checkpoints(self) -> None:
        self.assertEqual(state(walk(3, self.folder / "three", every=7)), self.unbroken)
        self.assertEqual(self.files(self.folder / "three"), ["checkpoint-0000000007.h5", "checkpoint-0000000014.h5"])

    def test_a_rank_killed_between_checkpoints(self) -> None:
        left = self.folder / "left"
        done = walk(3, left, every=5, way="mpi", kill=12, kill_rank=1)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("state", done.stdout)
        self.assertEqual(self.files(left), ["checkpoint-0000000005.h5", "checkpoint-0000000010.h5"])
        for ranks, way in ((1, "direct"), (2, "mpi"), (3, "direct")):
            self.goes_on(left, ranks, 10, way)

    def test_a_rank_killed_while_it_writes_a_checkpoint(self) -> None:
        for way in ("direct", "mpi"):
            left = self.folder / f"left-{way}"
            done = walk(2, left, every=5, way=way, kill_writing=10, kill_rank=1)
            self.assertNotEqual(done.returncode, 0)
            # What was begun has gone when rank 0 could still take it away.
            left_over = {"checkpoint-0000000010.h5.partial"}
            self.assertEqual(set(self.files(left)) - left_over, {"checkpoint-0000000005.h5"})
            self.goes_on(left, 3 if way == "direct" else 1, 5, way)

    def test_a_damaged_checkpoint_is_refused_and_the_older_one_used(self) -> None:
        left = self.folder / "left"
        self.assertNotEqual(walk(2, left, every=5, kill=17).returncode, 0)
        newest = left / "checkpoint-0000000015.h5"
        newest.write_bytes(newest.read_bytes()[:-1000])
        self.assertIn("cut short", self.goes_on(left, 2, 10, "direct"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
