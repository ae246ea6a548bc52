# SPDX-License-Identifier: Apache-2.0
"""`plait bench export`: how fast a long run becomes an OTF2 archive or a Perfetto trace, and in how much
memory.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from plait._build import find_program
from plait.benches.made_up import write_halo_run
from plait.benches.report import Report, Row, Wanted
from plait.export._program import PROGRAM, otf2_library

CLAIM = "plait-export writes 5 million events a second and more; its memory is that of two ranks"
_EVENTS_PER_S_MIN = 5e6
#: Of each rank; runs grow by ranks.
_RECORDS = 125_000
_RANKS, _RANKS_FULL = (8, 32), (8, 32, 160)
_MIB_MAX = 128.0
#: Records of the whole run that is also written in Python, which takes 10 us an event.
_PYTHON_RECORDS = 20_000
_PYTHON = """
import sys, time
from pathlib import Path
from plait import match_messages, read_run, write_perfetto
begin, counts = time.perf_counter(), []
run = read_run(Path(sys.argv[1]))
if sys.argv[2] == "perfetto":
    write_perfetto(run, match_messages(run.messages), Path(sys.argv[3]), counts.append)
else:
    from plait.export.otf2 import write_otf2
    write_otf2(run, Path(sys.argv[3]), counts.append)
print(f"events: {sum(counts) / (time.perf_counter() - begin)}")
"""


@dataclass(frozen=True)
class Export:
    events: int
    seconds: float
    mib: float  # the most memory at once

    @property
    def rate(self) -> float:
        return self.events / self.seconds


def main(arguments: list[str]) -> None:
    report = Report("export", CLAIM, arguments)
    program = find_program(PROGRAM)
    formats = {"perfetto": ["--perfetto"]}
    library = otf2_library()
    if library is not None:
        formats["otf2"] = ["--otf2-library", library, "--otf2"]
    else:
        report.note("OTF2 was not measured: pip install otf2")
    with tempfile.TemporaryDirectory(prefix="plait-bench-export-") as scratch:
        place = Path(scratch)
        write_halo_run(place / "short", 2, _PYTHON_RECORDS)
        python = {to: _in_python(place / "short", to, place) for to in formats}
        for ranks in _RANKS_FULL if report.is_full else _RANKS:
            written = write_halo_run(place / "run", ranks, ranks * _RECORDS)
            params = {"records": str(written), "ranks": str(ranks)}
            for to, options in formats.items():
                command = [str(program), str(place / "run"), *options]
                runs = [_once(command, place / f"{to}-{n}") for n in range(5 if report.is_full else 3)]
                _report(report, to, params, runs, python[to])
            shutil.rmtree(place / "run")
    report.finish()


def _report(report: Report, to: str, params: dict[str, str], runs: list[Export], python: float) -> None:
    found = {**params, "events": str(runs[0].events)}
    report.add(
        Row(
            f"{to}_rate",
            [run.rate for run in runs],
            "events/s",
            found,
            peer="in Python",
            peer_value=python,
            wanted=Wanted("at least", _EVENTS_PER_S_MIN),
        )
    )
    wanted = Wanted("at most", _MIB_MAX, "does not grow with ranks")
    report.add(Row(f"{to}_memory", [run.mib for run in runs], "MiB", params, wanted=wanted))


def _once(command: list[str], output: Path) -> Export:
    """From the start of the process to its end. The output is removed."""
    begin = time.perf_counter()
    process = subprocess.Popen([*command, str(output)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last, mib = "", 0.0
    for line in process.stdout:  # one for each rank
        last, mib = line, max(mib, _peak_mib(process.pid))
    status = process.wait()
    seconds = time.perf_counter() - begin
    process.stdout.close()
    if status != 0 or not last:
        raise SystemExit(f"{command[0]} ended with status {status}")
    if output.is_dir():
        shutil.rmtree(output)
    else:
        output.unlink()
    return Export(int(last.rpartition(": ")[2]), seconds, mib)


def _peak_mib(process: int) -> float:
    """0 once it has ended. What `wait4` has includes the Python process from which it was forked."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found.group(1)) / 1024 if found else 0.0


def _in_python(folder: Path, to: str, place: Path) -> float:
    """Events a second, with reading, without the start of Python."""
    command = [sys.executable, "-c", _PYTHON, str(folder), to, str(place / f"python-{to}")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.rpartition(": ")[2])


if __name__ == "__main__":
    main(sys.argv[1:])
