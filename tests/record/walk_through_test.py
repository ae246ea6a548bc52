# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorials/why-is-my-mpi-code-slow.md, run as they are there. Called with the BUILD folder."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from plait.readers.plait import read_run

BUILD = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/tutorials/why-is-my-mpi-code-slow.md"
SECONDS_MAX = 280


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@unittest.skipIf(shutil.which("lmp") is None, "LAMMPS is not here: apt-get install lammps")
class WalkThrough(unittest.TestCase):
    folder: pathlib.Path
    output: str

    @classmethod
    def setUpClass(cls) -> None:
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        command = cls.folder / "bin/plait"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m plait "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "python/src"),
            "PLAIT_BUILD": str(BUILD),
            "CHECKOUT": str(ROOT),
            # For machines with one core, and for containers, whose user is root.
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        done = subprocess.run(
            ["bash", "-eu", "-c", "\n".join(blocks())],
            cwd=cls.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        cls.output = done.stdout
        if done.returncode != 0:
            raise AssertionError(f"a command of {DOCUMENT.name} failed:\n{done.stdout}")

    def test_there_are_commands(self) -> None:
        self.assertGreaterEqual(len(blocks()), 5)

    def test_the_recordings_are_whole(self) -> None:
        for name in ("uneven", "helped", "even", "planted", "heat-planted"):
            run = read_run(self.folder / name)
            self.assertEqual((run.ranks, run.notices), (2, ()), name)

    def test_the_sentences_name_the_cause(self) -> None:
        self.assertRegex(self.output, r"Rank 0 computed [\d.]+ times the mean")

    def test_the_planted_defects_are_named(self) -> None:
        places = (
            (r"virial_compute \(.*\) of 24 B", r"Thermo::lost_check \(.*\)"),
            (r"distribute_heating \(heat\.c:\d+\) of 64 KiB", r"largest_change \(heat\.c:\d+\)"),
        )
        for slow, late in places:
            self.assertRegex(self.output, rf"{slow} on 2 ranks is slow: [\d.]+ ms each")
            self.assertRegex(self.output, rf"Rank 1 arrives [\d.]+ ms late in MPI_Allreduce at .*{late}")
        self.assertRegex(self.output, r"of what could overlap with computing did")

    def test_the_page_is_there(self) -> None:
        page = (self.folder / "uneven/report/report.html").read_text(encoding="utf-8")
        self.assertIn("MPI_Wait", page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
