# SPDX-License-Identifier: Apache-2.0
"""An application run as its users run it, for the tests of whole programs. They are called with PROGRAM MPIEXEC."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MPIEXEC = sys.argv[1:3]
SECONDS_MAX = 60

Done = subprocess.CompletedProcess[str]


def run(*command: object, ranks: int = 1, environment: dict[str, str] | None = None) -> Done:
    """Without the launcher when `ranks` is 0."""
    launcher = [MPIEXEC, str(ranks)] if ranks else []
    return subprocess.run(
        [*launcher, PROGRAM, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def own_messages(text: str) -> str:
    """Without the report of a launcher that fails at its own end: Open MPI 4.1's does so at times, after an abort."""
    begin = r"\S+ \*\*\* Process received signal \*\*\*"
    reports = rf"{begin}(?:(?!{begin}).)*?PMIx_server_finalize.*?\*\*\* End of error message \*\*\*"
    return re.sub(reports, "", text, flags=re.DOTALL)


class ProgramCase(unittest.TestCase):
    """Each test has a folder of its own."""

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def good(self, *command: object, ranks: int = 2) -> str:
        done = run(*command, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refused(self, sentence: str, *command: object, ranks: int = 0) -> None:
        """Without the launcher if that suffices: it takes 2 s to end after an error."""
        done = run(*command, ranks=ranks)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(sentence, done.stderr)
        self.assertNotIn("signal", own_messages(done.stderr))

    def test_wrong_options_have_the_status_of_wrong_usage(self) -> None:
        done = run("--no-such-option", ranks=0)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--help", done.stderr)
