# SPDX-License-Identifier: Apache-2.0
"""The one list of environment variables.

Help, manual pages and docs/reference/environment.md are made from it; tests/tidy fails for a variable
that a source reads and this list lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Readers(StrEnum):
    """Which programs read a variable."""

    programs = "programs that use plait"
    command = "the plait command"
    preloaded = "programs under plait record, plait accelerate or plait simulate"
    lab = "programs in a lab"
    development = "tests and tools of plait"


@dataclass(frozen=True)
class Variable:
    name: str
    readers: Readers
    #: What it sets; a phrase that continues with values and default.
    meaning: str
    values: str
    #: What applies when it is not set.
    default: str
    example: str
    #: The option or command that sets it; empty: only the user does.
    set_by: str = ""


VARIABLES = (
    Variable(
        "PLAIT_WORKERS",
        Readers.programs,
        "computing threads of each rank",
        "1 to 1024",
        "1",
        "4",
        "plait run --workers",
    ),
    Variable(
        "PLAIT_TRACE",
        Readers.programs,
        "folder to write the trace to",
        "a folder; empty: no trace",
        "no trace",
        "runs/first",
        "plait run",
    ),
    Variable(
        "PLAIT_NETWORK",
        Readers.programs,
        "what moves messages between ranks",
        "automatic (shared memory within hosts, MPI between them), mpi, shm, ofi (libfabric)",
        "automatic",
        "ofi",
    ),
    Variable(
        "PLAIT_OFI_ADDRESS",
        Readers.programs,
        "address or interface at which other hosts reach this rank through libfabric",
        "one, or several separated by commas, which share large messages",
        "chosen by libfabric",
        "eth0,eth1",
        "plait lab",
    ),
    Variable(
        "PLAIT_HOST",
        Readers.programs,
        "name of this host: ranks with different names do not share memory",
        "any text",
        "ranks that share memory are on one host",
        "node1",
        "plait lab",
    ),
    Variable(
        "PLAIT_SINGLE_COPY",
        Readers.programs,
        "whether large messages within a host are copied once, from the memory of the other process",
        "automatic, never",
        "automatic",
        "never",
    ),
    Variable(
        "PLAIT_PACKET_BYTES",
        Readers.programs,
        "size of the largest packets; equal on all ranks",
        "1024 to 1048576 bytes",
        "what plait doctor --measure found, else 8192",
        "16384",
    ),
    Variable(
        "PLAIT_EAGER_BYTES",
        Readers.programs,
        "size up to which messages are sent without a request to the receiver",
        "0 to 1073741824 bytes",
        "what fits a packet",
        "4096",
    ),
    Variable(
        "PLAIT_PACKING",
        Readers.programs,
        "how eager messages share packets",
        "automatic, immediate, aggregate, priority",
        "what plait doctor --measure found, else aggregate",
        "priority",
    ),
    Variable(
        "PLAIT_PROGRESS",
        Readers.programs,
        "which threads move messages while the program computes",
        "automatic, none, timer, idle, dedicated",
        "what plait doctor --measure found, else timer",
        "dedicated",
        "plait accelerate --progress",
    ),
    Variable(
        "PLAIT_PROGRESS_MICROSECONDS",
        Readers.programs,
        "shortest pause of the timer that moves messages; it selects timer unless PLAIT_PROGRESS is set",
        "10 to 1000000",
        "100",
        "50",
    ),
    Variable(
        "PLAIT_COPIERS",
        Readers.programs,
        "threads that copy one non-contiguous message at once; plait bench membw measures how many pay",
        "1 to 1024",
        "2, or what was measured, or 1 when threads outnumber the cores",
        "4",
    ),
    Variable(
        "PLAIT_SPIN_MICROSECONDS",
        Readers.programs,
        "time for which a waiting thread spins before it sleeps",
        "0 to 1000000",
        "10",
        "0",
    ),
    Variable(
        "PLAIT_STALL_SECONDS",
        Readers.programs,
        "time without progress after which a run ends with an error that names what waits",
        "0 (never) to 1000000000",
        "300",
        "60",
    ),
    Variable(
        "PLAIT_STRATEGY",
        Readers.programs,
        "what replaces options that neither the program nor a variable sets",
        "measured (by plait doctor --measure), default, or a file",
        "measured; default in benchmarks and tests",
        "default",
    ),
    Variable(
        "PLAIT_VERBOSE",
        Readers.programs,
        "whether rank 0 prints at the start what was chosen",
        "1; 0 or empty: no",
        "no",
        "1",
        "plait run --verbose",
    ),
    Variable(
        "PLAIT_PROGRESS_BAR",
        Readers.programs,
        "whether an application of plait draws its progress",
        "1; all else: no",
        "yes, on a terminal",
        "0",
        "plait run",
    ),
    Variable(
        "PLAIT_RECORD_FOLDER",
        Readers.preloaded,
        "folder to which the recorder writes",
        "a folder",
        "nothing is recorded",
        "runs/first",
        "plait record, plait accelerate --output",
    ),
    Variable(
        "PLAIT_RECORD_PROGRESS",
        Readers.preloaded,
        "whether a thread of the recorder makes progress while the program computes",
        "1; 0 or empty: no",
        "no",
        "1",
        "plait record --progress",
    ),
    Variable(
        "PLAIT_RECORD_PROFILE",
        Readers.programs,
        "whether calls, tasks and messages are counted in bounded memory, and not recorded",
        "1; 0 or empty: no",
        "no",
        "1",
        "plait record --profile, plait run --profile",
    ),
    Variable(
        "PLAIT_RECORD_WINDOW",
        Readers.programs,
        "of a profile: in which parts of the run each event is recorded, too",
        "LENGTH/PERIOD, region:NAME, region:FROM..TO",
        "none",
        "10s/1000s",
        "plait record --window, plait run --window",
    ),
    Variable(
        "PLAIT_RECORD_CALLS",
        Readers.preloaded,
        "whether MPI calls are recorded, beside what plait's runtime and the other options record",
        "0: no",
        "yes",
        "0",
        "plait run --sample or --counters, without --record-mpi",
    ),
    Variable(
        "PLAIT_RECORD_CALL_PATH",
        Readers.preloaded,
        "functions that led to each call, which are recorded, the innermost first",
        "1 to 32",
        "1",
        "4",
        "plait record --call-path, plait run --call-path",
    ),
    Variable(
        "PLAIT_RECORD_COUNTERS",
        Readers.preloaded,
        "what is counted in the regions of the program, and in tasks of plait",
        "names that plait record --help lists, separated by commas",
        "nothing",
        "instructions,cycles",
        "plait record --counters, plait run --counters",
    ),
    Variable(
        "PLAIT_RECORD_SAMPLE",
        Readers.preloaded,
        "samples of what each thread computes, in a second of its processor time",
        "1 to 10000; 0 or empty: none",
        "none",
        "100",
        "plait record --sample, plait run --sample",
    ),
    Variable(
        "PLAIT_ACCELERATE",
        Readers.preloaded,
        "whether a preloaded engine takes the program's messages",
        "off; all else: yes",
        "yes",
        "off",
    ),
    Variable(
        "PLAIT_ACCELERATE_QUIET",
        Readers.preloaded,
        "whether the engine omits its line at the end",
        "any text: yes; empty: no",
        "no",
        "1",
        "plait accelerate --quiet",
    ),
    Variable(
        "PLAIT_SIMULATION",
        Readers.preloaded,
        "settings of a simulation, whose ranks are fibers of one process",
        "a file that plait simulate writes",
        "the program runs as it is",
        "/tmp/settings.json",
        "plait simulate",
    ),
    Variable(
        "PLAIT_HEADERS",
        Readers.development,
        "folder with the headers that make wheel takes along: fmt, nlohmann-json, Boost, cereal, CLI11",
        "a folder",
        "/usr/include",
        "/opt/headers/include",
    ),
    Variable(
        "PLAIT_LAB_BITS_PER_S",
        Readers.lab,
        "the rate of a link of the lab; benchmarks choose the figures that they are to reach by it",
        "a number",
        "there is no lab",
        "1000000000",
        "plait lab",
    ),
    Variable(
        "PLAIT_LAB",
        Readers.lab,
        "what the lab is, in words; benchmarks record it",
        "any text",
        "there is no lab",
        "2 hosts, 1 Gbit/s",
        "plait lab",
    ),
    Variable(
        "PLAIT_MPIEXEC",
        Readers.command,
        "launcher to use without --launcher",
        "a program",
        "mpiexec on the path",
        "/opt/mpich/bin/mpiexec",
    ),
    Variable(
        "PLAIT_BUILD",
        Readers.command,
        "build folder in which commands find plait's programs and benchmarks",
        "a folder",
        "build/release of the checkout, then the path",
        "build/dev",
    ),
    Variable(
        "XDG_CACHE_HOME",
        Readers.command,
        "cache folder: its plait/ has what commands build and what plait doctor --measure found",
        "an absolute folder",
        "~/.cache",
        "/scratch/me/cache",
    ),
    Variable(
        "CXX",
        Readers.command,
        "C++ compiler of what commands build: GCC 12 or newer, Clang 16 or newer",
        "a program",
        "c++, g++ or clang++, the first on the path",
        "g++-13",
    ),
    Variable(
        "NO_COLOR",
        Readers.command,
        "whether output has no colours; it never has where it is not a terminal",
        "any text: none; empty: some",
        "colours on a terminal",
        "1",
    ),
    Variable(
        "PLAIT_TEST_SEEDS",
        Readers.development,
        "number of seeds that tests of collections try",
        "a number",
        "24",
        "1000",
    ),
    Variable(
        "PLAIT_DEMO_STEPS",
        Readers.development,
        "number of steps of tools/demo",
        "a number",
        "200",
        "1000",
    ),
)


def help_of(readers: Readers) -> str:
    """Paragraphs for the end of a command's help."""
    return "\n\n".join(
        f"{one.name}   {one.meaning}: {one.values} (default: {one.default}"
        + (f"; set by {one.set_by})" if one.set_by else ")")
        for one in VARIABLES
        if one.readers is readers
    )


def page() -> str:
    """docs/reference/environment.md."""
    parts = [_HEAD]
    for readers in Readers:
        parts.append(f"\n## Read by {readers.value}\n")
        for one in VARIABLES:
            if one.readers is readers:
                set_by = f"\n- set by: {_code(one.set_by)}" if one.set_by else ""
                parts.append(
                    f"\n### `{one.name}`\n{_sentence(one.meaning)}\n"
                    f"- values: {one.values}\n- default: {one.default}{set_by}\n"
                    f"- example: `{one.name}={_quoted(one.example)}`\n"
                )
    return "".join(parts)


_HEAD = """# Environment variables

Made from `python/src/plait/_environment.py` by `tools/make_pages.py`: edit that.

A variable replaces a default. What a program sets in `Options` after `Options::from_environment()`, and
options of commands, replace the variable. Empty variables count as not set. A value that is not allowed
ends the program with an error that names the variable.

All ranks need the same values, except of `PLAIT_HOST` and `PLAIT_OFI_ADDRESS`. MPI launchers pass
variables on within a host; across hosts they may need an option for it (Open MPI: `-x NAME`; MPICH:
`-genvlist NAME`).

Not listed: variables of others. Those that launchers set for ranks, such as `PMIX_RANK`, show which rank
a process is. `plait record` and `plait accelerate` extend `LD_PRELOAD` and `SLURM_EXPORT_ENV`.
`plait-cholesky` sets `OPENBLAS_CORETYPE` where OpenBLAS does not know the processor, unless it is set.
"""


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _code(commands: str) -> str:
    return ", ".join(f"`{one}`" for one in commands.split(", "))


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text
