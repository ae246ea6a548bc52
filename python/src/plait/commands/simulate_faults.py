# SPDX-License-Identifier: Apache-2.0
"""`plait simulate --faults`: runs with faults that are drawn from seeds, beside one without faults."""

from __future__ import annotations

import json
import math
import re
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from plait._errors import PlaitError, Status
from plait._files import write_text
from plait.commands.run import Ending, say
from plait.commands.simulate import Start, Wishes, prepare, read_report, settings

#: As in src/plait/simulate/faults.hpp.
FAULTS = (
    "delays",
    "reorder",
    "full-queues",
    "slow-rank",
    "half-link",
    "dead-rank",
    "full-disk",
)
#: A program cannot go on after these: it may end with a sentence.
_ENDING = frozenset({"dead-rank", "full-disk"})
#: What tasks without a cost take, so that a seed is repeated exactly.
OTHER_KINDS_US = 100.0
#: In a program's arguments, a folder that each run has for itself.
RUN_FOLDER = "{run}"
_DRAWN = re.compile(r"^plait simulate: seed \d+, ([a-z-]+): (.*)$")
_REASON_MAX = 300
#: A run that waits may take so many limits of processor time: the machine may be busy.
_ELAPSED = 10


@dataclass(frozen=True)
class FaultWishes:
    kinds: tuple[str, ...]
    seeds: range
    #: What it matches in the output must be as in the run without faults; empty: only statuses count.
    same: str = ""
    #: Words that let the program go on after a fault has ended it; empty: it is not started again.
    restart_with: str = ""
    #: Of processor time.
    time_limit_s: float = 60.0
    jobs: int = 1


class Verdict(StrEnum):
    right = "right"
    ended = "ended"  # by its fault, with a sentence
    failed = "failed"


@dataclass(frozen=True)
class Outcome:
    """A run of the program that has ended, or was killed."""

    status: int | None  # None: killed after the limit of time
    output: str
    errors: str
    took_s: float
    report: dict[str, Any] = field(default_factory=dict)

    def results(self, pattern: str) -> list[str]:
        """What the pattern matches, one for each line that has a match."""
        matches = (re.search(pattern, line) for line in self.output.splitlines() if pattern)
        return [match[0].strip() for match in matches if match]

    @property
    def faults(self) -> list[str]:
        """The sentences of the faults that were drawn."""
        return [line for line in self.errors.splitlines() if _DRAWN.match(line)]

    @property
    def sentences(self) -> list[str]:
        """What the program and the simulation wrote about the end."""
        return [
            line
            for line in self.errors.splitlines()
            if line.strip() and not _DRAWN.match(line) and "called MPI_Abort" not in line
        ]

    @property
    def may_end(self) -> bool:
        names = (match[1] for line in self.faults if (match := _DRAWN.match(line)))
        return not _ENDING.isdisjoint(names)


@dataclass(frozen=True)
class Judged:
    seed: int
    verdict: Verdict
    reason: str
    outcome: Outcome
    took_s: float


def kinds_of(text: str, command: list[str]) -> tuple[str, ...]:
    """The faults of "delays,dead-rank" or "all". Raises PlaitError for others."""
    has_folder = any(RUN_FOLDER in word for word in command)
    if text == "all":
        return tuple(name for name in FAULTS if has_folder or name != "full-disk")
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in FAULTS:
            raise PlaitError(
                f"--faults {text}: {name or 'nothing'} is no fault; they are {', '.join(FAULTS)}, "
                "and all",
                status=Status.usage,
            )
    if "full-disk" in names and not has_folder:
        raise PlaitError(
            f"--faults full-disk fills the disk of {RUN_FOLDER}, a folder of each run: let the program "
            f"write there, as in --output {RUN_FOLDER}/output",
            status=Status.usage,
        )
    return names


def seeds_of(text: str) -> range:
    """The seeds of "1:1000". Raises PlaitError for another form."""
    first, colon, last = text.partition(":")
    if not (first.isdecimal() and colon and last.isdecimal() and int(first) <= int(last)):
        raise PlaitError(
            f"--seeds {text}: give the first and the last one, as in --seeds 1:1000", status=Status.usage
        )
    return range(int(first), int(last) + 1)


def simulate_with_faults(command: list[str], wishes: Wishes, faults: FaultWishes) -> int:
    """Runs the program without faults, and then once for each seed; 0 if no seed failed."""
    _require_possible(wishes, faults)
    if wishes.other_kinds_us is None:
        wishes = replace(wishes, other_kinds_us=OTHER_KINDS_US)
    campaign = _Campaign(command, wishes, faults)
    is_single = len(faults.seeds) == 1
    found: list[Judged] = []
    for judged in campaign.run():
        found.append(judged)
        if is_single:
            sys.stdout.write(judged.outcome.output)
            sys.stderr.write(judged.outcome.errors)
        if judged.verdict is Verdict.failed:
            say(campaign.description(judged))
    if wishes.results is not None:
        write_text(wishes.results, json.dumps(_results(campaign, found), indent=2) + "\n")
    if not wishes.quiet:
        say(summary(Path(command[0]).name, wishes.ranks, found))
    return int(any(judged.verdict is Verdict.failed for judged in found))


def summary(program: str, ranks: int, found: list[Judged]) -> str:
    """One sentence on all seeds."""
    count = {verdict: sum(judged.verdict is verdict for judged in found) for verdict in Verdict}
    noun = "seed" if len(found) == 1 else "seeds"
    text = (
        f"{program}, {ranks} ranks, {len(found)} {noun}: {count[Verdict.right]} right, "
        f"{count[Verdict.ended]} ended by their faults with a sentence, {count[Verdict.failed]} failed; "
        f"{statistics.median(judged.took_s for judged in found):.2g} s a seed"
    )
    failed = [judged.seed for judged in found if judged.verdict is Verdict.failed]
    return text + (f"\nfailed: {', '.join(map(str, failed))}" if failed else "")


def repeat_line(command: list[str], wishes: Wishes, faults: FaultWishes, seed: int) -> str:
    """The command that repeats one seed."""
    words: list[str] = ["plait", "simulate", "-n", str(wishes.ranks)]
    defaults = Wishes(ranks=wishes.ranks)
    for name, option in (
        ("platform", "--platform"),
        ("costs", "--costs"),
        ("scale", "--scale"),
        ("overhead_us", "--overhead"),
        ("workers", "--workers"),
        ("stack_kib", "--stack"),
    ):
        if (value := getattr(wishes, name)) != getattr(defaults, name):
            words += [option, str(value)]
    if wishes.skip_bodies:
        words.append("--skip-bodies")
    if wishes.other_kinds_us not in (None, OTHER_KINDS_US):
        words += ["--other-kinds", f"{wishes.other_kinds_us:g}"]
    words += ["--faults", ",".join(faults.kinds), "--seed", str(seed)]
    if faults.same:
        words += ["--same", faults.same]
    if faults.restart_with:
        words.append(f"--restart-with={faults.restart_with}")
    return shlex.join([*words, *command])


def judge(reference: Outcome, outcome: Outcome, faults: FaultWishes) -> tuple[Verdict, str]:
    """Compares a run with faults with the one without."""
    if outcome.status is None:
        return Verdict.failed, f"it took more than {faults.time_limit_s:g} s, and was killed"
    if outcome.status == 0:
        difference = _difference(reference.results(faults.same), outcome.results(faults.same))
        return (Verdict.failed, difference) if difference else (Verdict.right, "")
    last = outcome.sentences[-1][:_REASON_MAX] if outcome.sentences else ""
    ending = Ending("", outcome.status, None, outcome.took_s)
    if outcome.status < 0:
        return Verdict.failed, f"it {ending.in_words()}: {last}"
    if not outcome.may_end:
        return Verdict.failed, f"it {ending.in_words()}, and none of its faults ends a run: {last}"
    if not last:
        return Verdict.failed, f"it {ending.in_words()}, without a sentence"
    return Verdict.ended, last


def _difference(expected: list[str], found: list[str]) -> str:
    if expected == found:
        return ""
    for one, other in zip(expected, found, strict=False):
        if one != other:
            return f"it printed {other!r} in the place of {one!r}"
    return f"it printed {len(found)} lines of results in the place of {len(expected)}"


def _require_possible(wishes: Wishes, faults: FaultWishes) -> None:
    if wishes.outside != "none":
        raise PlaitError(
            "--faults compares runs that are repeated exactly, and measured times differ: use "
            "--outside none",
            status=Status.usage,
        )
    if wishes.output is not None:
        raise PlaitError("--output records one run, and --faults makes several", status=Status.usage)
    try:
        re.compile(faults.same)
    except re.error as error:
        raise PlaitError(f"--same {faults.same}: {error}", status=Status.usage) from error


class _Campaign:
    def __init__(self, command: list[str], wishes: Wishes, faults: FaultWishes) -> None:
        self._command = command
        self._wishes = wishes
        self._faults = faults
        self._reference = Outcome(None, "", "", 0)

    def run(self) -> Iterator[Judged]:
        """Judges the seeds in their order. A bar on standard error, where that is a terminal."""
        self._reference = self._without_faults()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        bar = Progress(
            *(*columns, TimeElapsedColumn()),
            console=Console(stderr=True),
            disable=self._wishes.quiet or not sys.stderr.isatty(),
            transient=True,
        )
        failed = 0
        with bar, ThreadPoolExecutor(self._faults.jobs) as pool:
            task = bar.add_task("seeds", total=len(self._faults.seeds))
            try:
                for judged in pool.map(self._judged, self._faults.seeds):
                    failed += judged.verdict is Verdict.failed
                    bar.update(task, advance=1, description=f"seeds, {failed} failed")
                    yield judged
            finally:
                pool.shutdown(cancel_futures=True)

    def description(self, judged: Judged) -> str:
        """Of a seed that failed: why, what its faults were, and how to repeat it."""
        faults = [match[0] for line in judged.outcome.faults if (match := _DRAWN.match(line))]
        repeat = repeat_line(self._command, self._wishes, self._faults, judged.seed)
        lines = [f"seed {judged.seed} failed: {judged.reason}", *faults, f"repeat it by: {repeat}"]
        return "\n  ".join(lines)

    def _without_faults(self) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="plait-simulate-") as folder:
            outcome = self._start(Path(folder), None, [])
        name = Path(self._command[0]).name
        if outcome.status != 0:
            sys.stderr.write(outcome.errors)
            raise PlaitError(f"{name} fails without faults: with faults there is nothing to compare")
        if not outcome.report:
            raise PlaitError(f"{name} ended without a simulation: is it a program of plait?")
        if self._faults.same and not outcome.results(self._faults.same):
            raise PlaitError(f"no line that {name} prints matches --same {self._faults.same}")
        return outcome

    def _judged(self, seed: int) -> Judged:
        with tempfile.TemporaryDirectory(prefix="plait-simulate-") as folder:
            outcome = self._start(Path(folder), seed, [])
            verdict, reason = judge(self._reference, outcome, self._faults)
            took_s = outcome.took_s
            if verdict is Verdict.ended and self._faults.restart_with:
                again = self._start(Path(folder), None, shlex.split(self._faults.restart_with))
                took_s += again.took_s
                if wrong := self._wrong_after_restart(again):
                    verdict, reason = Verdict.failed, f"{wrong} ({reason})"
        return Judged(seed, verdict, reason, outcome, took_s)

    def _wrong_after_restart(self, again: Outcome) -> str:
        """What is wrong with a run that went on after a fault: its last line of results counts."""
        if again.status != 0:
            last = again.sentences[-1][:_REASON_MAX] if again.sentences else "without a sentence"
            return f"started again, it failed with exit status {again.status}: {last}"
        pattern = self._faults.same
        wrong = _difference(self._reference.results(pattern)[-1:], again.results(pattern)[-1:])
        return f"started again, {wrong}" if wrong else ""

    def _start(self, folder: Path, seed: int | None, more: list[str]) -> Outcome:
        run = folder / "run"
        run.mkdir(exist_ok=True)
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        wanted = settings(replace(self._wishes, quiet=False), report)
        if seed is not None:
            length_ns = max(1, round(self._reference.report["simulated_s"] * 1e9))
            wanted["faults"] = {"seed": seed, "kinds": self._faults.kinds}
            wanted["faults"] |= {"run_length_ns": length_ns, "disk": str(run)}
        command = [word.replace(RUN_FOLDER, str(run)) for word in self._command]
        start = prepare([*command, *more], self._wishes, wanted, None)
        begun = time.monotonic()
        status, output, errors = _run(start, self._faults.time_limit_s)
        found = read_report(report, command[0]) if report.is_file() else {}
        took_s = time.monotonic() - begun
        return Outcome(status, output.replace(str(run), RUN_FOLDER), errors, took_s, found)


def _run(start: Start, time_limit_s: float) -> tuple[int | None, str, str]:
    """Returns the status, None when it was killed after a limit of time, the output and the errors."""
    try:
        process = subprocess.Popen(
            start.command,
            env=start.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise PlaitError(f"{start.command[0]} cannot be started ({error.strerror})") from error
    with process:
        limit = math.ceil(time_limit_s)
        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit + 1))
        try:
            output, errors = process.communicate(timeout=time_limit_s * _ELAPSED)
        except subprocess.TimeoutExpired:
            process.kill()
            return None, *process.communicate()
        except BaseException:
            process.kill()
            raise
    is_killed = -process.returncode in (signal.SIGXCPU, signal.SIGKILL)
    return None if is_killed else process.returncode, output, errors


def _results(campaign: _Campaign, found: list[Judged]) -> dict[str, Any]:
    return {
        "seeds": [
            {
                "seed": judged.seed,
                "verdict": str(judged.verdict),
                "reason": judged.reason,
                "faults": judged.outcome.faults,
                "seconds": judged.took_s,
            }
            for judged in found
        ]
    }
