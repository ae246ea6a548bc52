# SPDX-License-Identifier: Apache-2.0
"""version_test.py VERSION PROGRAM...: each program prints the project's version, as the plait command does."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import unittest

VERSION, PROGRAMS = sys.argv[1], sys.argv[2:]


class Version(unittest.TestCase):
    def test_every_program_prints_it(self) -> None:
        for program in [*PROGRAMS, str(pathlib.Path(sys.executable).parent / "plait")]:
            with self.subTest(program):
                done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, rf"^{pathlib.Path(program).name} {VERSION}( \([0-9a-f]+(-dirty)?\))?\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
