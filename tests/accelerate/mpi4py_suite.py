# SPDX-License-Identifier: Apache-2.0
"""The test suite of mpi4py without and with the engine before MPI: what passes without it passes with it.

Called with LIBRARY LAUNCHER COMPILER WORK [--ranks N...] [--files NAME...] [--mpi4py VERSION]; LAUNCHER is a command
that a number of ranks follows. All files run in one process, as MPI starts slowly; if one does not end, those after it
run in another.
Exit status: 1 if a test passes only without the engine, or if next to nothing ran; 77 if mpi4py cannot be fetched.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: MPI's standard ABI needs a later one.
USUAL_VERSION = "4.0.3"
#: Files that start processes, which hangs with Open MPI even without the engine; and one that computes for as long as
#: all others take, and sends nothing.
LEFT_OUT = {"test_spawn", "test_dynproc", "test_util_dtlib"}
#: Without output for so long, a run hangs.
SILENT_SECONDS_MAX = 90
#: Below it, of all files, next to nothing ran.
PASSED_MIN = 500
#: Has each rank write its own file, whose name is its process id.
RANK_SHELL = 'exec "$@" >"$0/$$" 2>&1'
SKIPPED = 77

_TEST = re.compile(r"^(test\w*) \(([\w.]+)\)", re.MULTILINE)
_PASSED = re.compile(r"\bok$", re.MULTILINE)
_ENDED = re.compile(r"^Ran \d+ tests? in", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """mpi4py as built for one MPI."""

    python: Path
    tests: Path
    launcher: Sequence[str]

    def files(self) -> list[str]:
        return sorted({path.stem for path in self.tests.glob("test_*.py")} - LEFT_OUT)

    def passed(self, files: Sequence[str], ranks: int, preloaded: str) -> set[str]:
        """The tests that pass on all ranks, of files that come to their end."""
        passed: set[str] = set()
        while files:
            texts, has_ended = self._outputs(files, ranks, preloaded)
            good = set.intersection(*map(passed_in, texts))
            if has_ended and all(_ENDED.search(text) for text in texts):
                return passed | good
            last = min((file_of(test) for text in texts for test in tests_in(text)[-1:]), default=files[0])
            print(f"{ranks} ranks, {'accelerated' if preloaded else 'plain'}: {last} does not end", flush=True)
            passed |= {test for test in good if file_of(test) != last}
            files = [file for file in files if file > last]
        return passed

    def _outputs(self, files: Sequence[str], ranks: int, preloaded: str) -> tuple[list[str], bool]:
        """What each rank writes, and whether the run ends by itself."""
        chosen = "|".join(f"{file}[.]py" for file in files)
        program = [self.python, self.tests / "main.py", "-v", "-b", "--no-builddir", "-i", f"^({chosen})$"]
        with tempfile.TemporaryDirectory() as outputs:
            ready = ["env", f"LD_PRELOAD={preloaded}", "sh", "-c", RANK_SHELL, outputs]
            has_ended = _run_until_silent([*self.launcher, str(ranks), *ready, *map(str, program)], Path(outputs))
            texts = [path.read_text(errors="replace") for path in Path(outputs).iterdir()]
        return texts + [""] * (ranks - len(texts)), has_ended


def file_of(test: str) -> str:
    return test.partition(".")[0]


def tests_in(text: str) -> list[str]:
    """The tests in one rank's output, as file.Class.test."""
    return [head[2] for head in _TEST.finditer(text)]


def passed_in(text: str) -> set[str]:
    """Those that pass."""
    heads = list(_TEST.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[2] for head, end in zip(heads, ends, strict=True) if _PASSED.search(text, head.end(), end)}


def _run_until_silent(command: Sequence[str], outputs: Path) -> bool:
    """Ends the program when none of its outputs has grown for SILENT_SECONDS_MAX. Whether it ends by itself."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    written, grown = 0, time.monotonic()
    while time.monotonic() - grown < SILENT_SECONDS_MAX:
        if process.poll() is not None:
            return True
        time.sleep(0.2)
        if (size := sum(path.stat().st_size for path in outputs.iterdir())) > written:
            written, grown = size, time.monotonic()
    process.terminate()  # a launcher then ends its ranks
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for rank in outputs.iterdir():  # MPICH's launcher leaves those that wait for a lock
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(rank.name), signal.SIGKILL)
    return False


def suite_in(work: Path, compiler: str, launcher: Sequence[str], version: str) -> Suite:
    """Fetches mpi4py and builds it, if that was not done yet in this folder."""
    python, sources, built = work / "venv/bin/python", work / f"mpi4py-{version}", work / "built-with"
    suite = Suite(python, sources / "test", launcher)
    if built.is_file() and built.read_text() == compiler:
        return suite
    shutil.rmtree(work, ignore_errors=True)
    venv.create(work / "venv", with_pip=True)
    pip = [str(python), "-m", "pip", "--quiet"]
    wanted = f"mpi4py=={version}"
    fetched = [
        [*pip, "install", "cython", "setuptools", "wheel", "numpy"],
        [*pip, "download", "--no-deps", "--no-build-isolation", "--no-binary=:all:", f"--dest={work}", wanted],
    ]
    for command in fetched:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"mpi4py cannot be fetched:\n{done.stderr}")
            sys.exit(SKIPPED)
    shutil.unpack_archive(work / f"{sources.name}.tar.gz", work)
    # Optimisation takes gcc minutes and gigabytes; pip's cache does not distinguish MPIs.
    environment = os.environ | {"CFLAGS": "-O0 -g0", "MPICC": compiler}
    install = [*pip, "install", "--no-build-isolation", "--no-deps", "--no-cache-dir", str(sources)]
    subprocess.run(install, env=environment, check=True)
    built.write_text(compiler)
    return suite


def compare(suite: Suite, library: str, files: Sequence[str], ranks: int) -> bool:
    """Prints what passes. False if any test passes only without the engine, or if next to nothing ran."""
    plain = suite.passed(files, ranks, "")
    accelerated = suite.passed(files, ranks, library)
    print(f"{ranks} ranks: {len(plain)} tests passed plain, {len(accelerated)} accelerated", flush=True)
    lost = sorted(plain - accelerated)
    for name in lost:
        print(f"{ranks} ranks: passes plain and not accelerated: {name}", flush=True)
    return not lost and len(plain) >= (PASSED_MIN if files == suite.files() else 1)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("launcher", type=shlex.split)
    parser.add_argument("compiler")
    parser.add_argument("work", type=lambda text: Path(text).resolve())
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--files", nargs="+", metavar="NAME", help="test_comm, ...")
    parser.add_argument("--mpi4py", default=USUAL_VERSION, metavar="VERSION")
    options = parser.parse_args()
    suite = suite_in(options.work, options.compiler, options.launcher, options.mpi4py)
    files = sorted(options.files) if options.files else suite.files()
    are_fine = [compare(suite, options.library, files, ranks) for ranks in options.ranks]
    return 0 if all(are_fine) else 1


if __name__ == "__main__":
    sys.exit(main())
