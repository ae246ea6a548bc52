# SPDX-License-Identifier: Apache-2.0
"""symbols_test.py SYMBOLS LIBRARY HEADER: LIBRARY has exactly the functions that SYMBOLS lists and HEADER declares.

What has been released must stay: a program that was linked with an older version finds them.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import unittest

SYMBOLS, LIBRARY, HEADER = (pathlib.Path(argument) for argument in sys.argv[1:4])


class Symbols(unittest.TestCase):
    def setUp(self) -> None:
        self.listed = SYMBOLS.read_text().splitlines()

    def test_the_library_exports_what_is_listed(self) -> None:
        is_shared = LIBRARY.suffix != ".a"
        command = ["nm", "-D" if is_shared else "-g", "--defined-only", str(LIBRARY)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        names = {fields[2] for fields in map(str.split, lines) if len(fields) == 3 and fields[1] in "TW"}
        functions = sorted(name for name in names if is_shared or name.startswith("plait_"))
        self.assertEqual(functions, self.listed)

    def test_the_header_declares_what_is_listed(self) -> None:
        code = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
        declared = sorted(set(re.findall(r"\b(plait_\w+)\(", code)))
        self.assertEqual(declared, self.listed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
