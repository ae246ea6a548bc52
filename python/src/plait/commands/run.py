# SPDX-License-Identifier: Apache-2.0
"""`plait run`: starts a program under MPI, with a trace, and reports clearly how it ended."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import FrameType

from plait import _launcher as launcher
from plait import _launchers
from plait._build import built_application
from plait._errors import PlaitError, Status
from plait._files import write_text
from plait.commands._restarts import Restarts, keep_attempt, remove_attempts
from plait.commands._window import profile_variables

#: How long a job may go on after a rank of it has died.
GRACE_S = 10.0
_POLL_S = 0.2
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Files of a trace: what --force may remove, and nothing else.
_OWN_FILES = (
    "meta.json",
    "rank-*.plt",
    "engine/rank-*.plt",
    "run.json",
    "sites-*.tsv",
    "modules-*.tsv",
    "sites.json",
)


@dataclass(frozen=True)
class Job:
    program: str
    arguments: tuple[str, ...]
    ranks: int
    workers: int | None
    name: str | None
    output: Path | None
    trace: bool
    force: bool
    mpiexec: str | None
    bind: str
    verbose: bool = False
    quiet: bool = False
    record_mpi: bool = False
    call_path: int = 1
    counters: str | None = None
    sample: int | None = None
    profile: bool = False
    window: str | None = None
    restarts: Restarts = field(default_factory=Restarts)

    @property
    def is_preloaded(self) -> bool:
        """Whether the recorder of MPI programs records this one, and plait's runtime joins it."""
        return self.record_mpi or self.counters is not None or self.sample is not None


@dataclass(frozen=True)
class Place:
    """Where a trace is to go: a folder, or a name below runs/, by default made of the program's."""

    output: Path | None
    name: str | None
    program: str
    force: bool


@dataclass(frozen=True)
class Ending:
    """How a job ended: its launcher's status, and the signal that was passed on to it."""

    begun: str
    status: int
    stopped_by: signal.Signals | None
    took_s: float

    @property
    def is_good(self) -> bool:
        return self.status == 0 and self.stopped_by is None

    @property
    def exit_status(self) -> int:
        """For the shell: 0 only when all went well."""
        if self.stopped_by is not None:
            return 128 + int(self.stopped_by)
        number = launcher.name_signals(self.status)
        status = 128 + number if number is not None else self.status
        return status if 0 <= status < 256 else 1

    def in_words(self) -> str:
        if self.stopped_by is not None:
            return f"was stopped by {self.stopped_by.name}"
        number = launcher.name_signals(self.status)
        if number is not None:
            return f"failed: a rank was killed by {_signal_name(number)} (exit status {128 + number})"
        return f"failed with exit status {self.status}"


def run_program(job: Job) -> int:
    """Returns the exit status for the shell: 0 only when every rank ended well."""
    if job.bind not in launcher.BINDINGS:
        raise PlaitError(
            f"--bind {job.bind} is unknown; use {', '.join(launcher.BINDINGS)}", status=Status.usage
        )
    _require_consistent(job)
    counted = profile_variables(profile=job.profile, window=job.window)
    job.restarts.require_consistent()
    program = find_program(job.program)
    found = launcher.find_launcher(job.mpiexec)
    if job.restarts.most > 0:
        found = found.ending_together()
    place_of_run = Place(job.output, job.name, Path(job.program).name, job.force)
    folder = make_run_folder(place_of_run) if job.trace else None
    restarts = 0
    while True:
        ending = _run_once(job, program, found, folder, counted)
        if ending.is_good or not job.restarts.follow(
            restarts, ending.exit_status, ending.stopped_by is not None
        ):
            return _tell(job, folder, ending, restarts)
        restarts += 1
        job = replace(job, ranks=job.restarts.ranks(job.ranks))
        if folder is not None:
            keep_attempt(folder, restarts, _OWN_FILES)
        say(
            f"{Path(program).name} {ending.in_words()} after {ending.took_s:.3g} s; restart {restarts} "
            f"of {job.restarts.most}, on {job.ranks} rank{'s' if job.ranks > 1 else ''}"
        )


def _run_once(
    job: Job,
    program: str,
    found: launcher.Launcher,
    folder: Path | None,
    counted: dict[str, str],
) -> Ending:
    place = launcher.Placement(
        job.ranks, job.workers or _workers_of_shell(), launcher.available_cores(), job.bind
    )
    command, environment = launcher.launch_command(found, place, [program, *job.arguments])
    environment |= _plait_environment(job, folder) | counted
    if job.is_preloaded:
        # Imported here, as that module imports this one.
        recording = import_module("plait.commands.record")
        details = recording.Details(job.call_path, job.counters, job.sample)
        variables = recording.recording_variables(program, found, folder, details, job.record_mpi)
        variables |= counted
        command = _launchers.exporting(found.kind, command, variables)
        environment = environment | variables | {"PLAIT_TRACE": ""}
    whole = {**os.environ, **environment}
    if not job.trace:
        whole.pop("PLAIT_TRACE", None)
    ending = supervise(command, whole)
    if folder is not None and any(folder.glob("rank-*.plt")):
        write_facts(folder, [job.program, *job.arguments], command, ending)
        if job.is_preloaded:
            recording.write_sites(folder)
    return ending


def _require_consistent(job: Job) -> None:
    wanted = {
        "--record-mpi": job.record_mpi,
        "--sample": job.sample is not None,
        "--counters": job.counters is not None,
        "--profile": job.profile,
    }
    recording = next((option for option, is_given in wanted.items() if is_given), None)
    if recording is not None and not job.trace:
        raise PlaitError(f"{recording} records, and --no-trace does not; give one", status=Status.usage)
    if job.call_path > 1 and not job.record_mpi:
        raise PlaitError("--call-path is of MPI calls; give --record-mpi, too", status=Status.usage)


def write_facts(folder: Path, command: list[str], launched: list[str], ending: Ending) -> None:
    """RUN/run.json: what the shell sees of a run."""
    facts = {
        "command": command,
        "launched": launched,
        "started": ending.begun,
        "seconds": round(ending.took_s, 3),
        "status": -ending.stopped_by if ending.stopped_by else ending.status,
    }
    write_text(folder / "run.json", json.dumps(facts, indent=2) + "\n")


def _workers_of_shell() -> int:
    text = os.environ.get("PLAIT_WORKERS", "")
    return int(text) if text.isdigit() and 0 < int(text) <= 1024 else 1


def find_program(program: str) -> str:
    path = shutil.which(program)
    if path is not None:
        return str(Path(path).resolve()) if os.sep in program else path
    here = Path(program)
    if here.is_dir():
        raise PlaitError(f"{program} is a folder; give the program in it", status=Status.not_executable)
    if here.is_file() and os.access(here, os.X_OK):
        return str(here.resolve())
    if here.is_file():
        raise PlaitError(
            f"{program} is not executable; chmod +x {program}", status=Status.not_executable
        )
    if os.sep not in program and (built := built_application(program)) is not None:
        return str(built)
    raise PlaitError(
        f"there is no program {program}; build it first (make build puts programs into "
        "build/release), or give its path",
        status=Status.not_found,
    )


def make_run_folder(place: Place) -> Path:
    """The folder, made, with nothing of an earlier run in it."""
    if place.name is not None and place.output is not None:
        raise PlaitError(
            "--name and --output both set where the trace goes; give one", status=Status.usage
        )
    if place.output is not None:
        folder = place.output
    else:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        name = place.name if place.name is not None else f"{place.program}-{stamp}"
        if not re.fullmatch(r"[\w.+=,@-][\w.+=,@ -]*", name) or name in (".", ".."):
            raise PlaitError(
                f"{name!r} is no name for a run; use letters, digits, - and _, or give a folder with "
                "--output",
                status=Status.usage,
            )
        folder = Path("runs") / name
    folder = folder.absolute()
    try:
        if folder.exists() and not folder.is_dir():
            raise PlaitError(f"{folder} is a file; choose another --output")
        if folder.is_dir() and any(folder.iterdir()):
            if not place.force:
                raise PlaitError(
                    f"{folder} already holds a run; choose another --name, or replace it with --force"
                )
            for pattern in _OWN_FILES:
                for old in folder.glob(pattern):
                    old.unlink()
            remove_attempts(folder, _OWN_FILES)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlaitError(
            f"{folder} cannot be made ({error.strerror}); choose another with --output"
        ) from error
    return folder


def _plait_environment(job: Job, folder: Path | None) -> dict[str, str]:
    # Launchers put a terminal of their own before each rank: only here it is known who reads.
    seen = sys.stdout is not None and sys.stdout.isatty() and not job.quiet
    environment = {
        "PLAIT_TRACE": str(folder) if folder is not None else "",
        "PLAIT_PROGRESS_BAR": "1" if seen else "0",
    }
    if job.workers is not None:
        environment["PLAIT_WORKERS"] = str(job.workers)
    if job.verbose:
        environment["PLAIT_VERBOSE"] = "1"
    return environment


def supervise(command: list[str], environment: dict[str, str]) -> Ending:
    """Runs the launcher in a process group of its own, until all of it has ended."""
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.monotonic()
    # In its own group the terminal's ctrl-C comes to us alone, and is passed on once. Output stays
    # on the terminal; the keyboard it cannot have, as only the foreground group may read it.
    stdin = subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None
    received: list[signal.Signals] = []
    groups: list[int] = []
    # From before the start on: a signal in between would end us and leave the job without anybody.
    with _signals_to(groups, received):
        try:
            process = subprocess.Popen(command, env=environment, process_group=0, stdin=stdin)
        except OSError as error:
            raise PlaitError(f"{command[0]} cannot be started ({error.strerror})") from error
        groups.append(process.pid)
        for number in received:
            _signal_group(process.pid, number)
        status = _wait(process, received)
    _signal_group(process.pid, signal.SIGKILL)
    return Ending(begun, status, received[0] if received else None, time.monotonic() - started)


@contextmanager
def _signals_to(groups: list[int], received: list[signal.Signals]) -> Iterator[None]:
    def pass_on(number: int, _: FrameType | None) -> None:
        received.append(signal.Signals(number))
        for group in groups:
            _signal_group(group, number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(process: subprocess.Popen[bytes], received: list[signal.Signals]) -> int:
    """Until the launcher ends; kills the group GRACE_S after a rank died or a signal was passed on."""
    deadline: float | None = None
    while True:
        try:
            return process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        below = _descendants(process.pid)
        dead = any(state in "ZX" for _, state in below)
        if deadline is None and (received or dead):
            deadline = now + GRACE_S
        elif deadline is not None and not (received or dead):
            deadline = None  # a rank that ended had just not been collected yet
        if deadline is not None and now > deadline:
            say(f"the job still ran {GRACE_S:.0f} s after it should have ended; killing it")
            # Launchers give ranks groups of their own: the launcher's is not enough.
            _signal_group(process.pid, signal.SIGKILL)
            for child, _ in below:
                _signal_process(child)
            return process.wait()


def _descendants(parent: int) -> list[tuple[int, str]]:
    """(process, state letter) of the three levels below a process, from /proc."""
    found: list[tuple[int, str]] = []
    level = [parent]
    for _ in range(3):
        below: list[int] = []
        for process in level:
            below += _children(process)
        for child in below:
            try:
                state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            found.append((child, state))
        level = below
    return found


def _children(process: int) -> list[int]:
    children: list[int] = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children += [int(child) for child in listed.read_text().split()]
    return children


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _signal_process(process: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)


def say(text: str) -> None:
    sys.stdout.flush()
    print(f"plait: {text}", file=sys.stderr, flush=True)


def _tell(job: Job, folder: Path | None, ending: Ending, restarts: int) -> int:
    traced = folder is not None and any(folder.glob("rank-*.plt"))
    where = shown(folder) if folder is not None else ""
    if ending.is_good:
        if folder is None or job.quiet:
            return 0
        took = f"{ending.took_s:.3g} s"
        if restarts:
            took += f" after {restarts} restart{'s' if restarts > 1 else ''}"
        if traced:
            say(f"done in {took}; see where the time went with: plait report {where}")
        else:
            say(
                f"done in {took}, but {where} holds no trace: the program does not use "
                "plait's runtime, or was built without tracing; plait record works with any MPI program"
            )
        return 0
    hint = ""
    if traced:
        hint = f"; the trace written until then can be reported with: plait report {where}"
    say(f"{Path(job.program).name} {ending.in_words()} after {ending.took_s:.3g} s{hint}")
    return ending.exit_status or 1


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def shown(folder: Path) -> str:
    try:
        text = str(folder.relative_to(Path.cwd()))
    except ValueError:
        text = str(folder)
    return f"'{text}'" if " " in text else text
