#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""expect_output.py FILE COMMAND...: runs COMMAND; its standard output must be what FILE holds."""

import difflib
import pathlib
import subprocess
import sys


def main() -> int:
    expected_path, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, end="")
        print(f"{command[-1]} ended with status {done.returncode}")
        return 1
    expected = expected_path.read_text() if expected_path.exists() else ""
    if done.stdout == expected:
        return 0
    lines = difflib.unified_diff(
        expected.splitlines(), done.stdout.splitlines(), str(expected_path), "printed", lineterm=""
    )
    print("\n".join(lines))
    print(f"if the new output is right, write it to {expected_path}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
