# SPDX-License-Identifier: Apache-2.0
"""`plait accelerate`: starts a command with the engine before MPI."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plait import _build
from plait import _launcher as launcher
from plait._errors import PlaitError, Status
from plait._preload import Target, preloading
from plait.commands import record
from plait.commands.run import Ending, say, supervise

#: Runs of each kind that --compare makes when no number is given.
COMPARED_RUNS = 5


@dataclass(frozen=True)
class Wishes:
    mpi: str | None
    progress: str | None
    quiet: bool
    compare: int | None
    trace: Path | None = None
    launcher: str | None = None


def accelerate(command: Sequence[str], wishes: Wishes) -> int:
    """Returns the command's exit status."""
    if wishes.trace is not None and wishes.compare is not None:
        raise PlaitError(
            "--compare measures, and --output costs time; give one of them", status=Status.usage
        )
    target = Target.of(command, wishes.mpi, wishes.launcher)
    library = _build.library_for(_build.ACCELERATOR, target.wanted())
    environment = {}
    if wishes.progress is not None:
        environment["PLAIT_PROGRESS"] = wishes.progress
    if wishes.quiet or wishes.compare is not None:
        environment["PLAIT_ACCELERATE_QUIET"] = "1"
    if wishes.trace is not None:
        recording = record.Wishes(
            None,
            wishes.trace,
            force=False,
            mpi=wishes.mpi,
            progress=False,
            quiet=wishes.quiet,
            launcher=wishes.launcher,
        )
        return record.record(command, recording, [library], environment)
    environment |= preloading(library)
    if not wishes.quiet and target.notice():
        say(target.notice())
    if wishes.compare is not None:
        return _compare(target, environment, wishes.compare)
    ending = _run(target, environment)
    if not ending.is_good:
        say(f"{Path(command[0]).name} {ending.in_words()} after {ending.took_s:.3g} s")
    return ending.exit_status


def _run(target: Target, environment: dict[str, str]) -> Ending:
    launched = target.with_exports(environment)
    return supervise(launched, {**os.environ, **launcher.root_environment(), **environment})


def _compare(target: Target, environment: dict[str, str], rounds: int) -> int:
    """Runs the command without and with the engine in turn, and reports the ratio."""
    plain_s: list[float] = []
    helped_s: list[float] = []
    for round_ in range(1, rounds + 1):
        for took_s, what in ((plain_s, {}), (helped_s, environment)):
            ending = _run(target, what)
            if not ending.is_good:
                which = "with" if what else "without"
                say(f"the command {ending.in_words()} {which} the engine: nothing to compare")
                return ending.exit_status
            took_s.append(ending.took_s)
        say(f"round {round_} of {rounds}: without {plain_s[-1]:.3g} s, with {helped_s[-1]:.3g} s")
    say(comparison(plain_s, helped_s))
    return 0


def comparison(plain_s: list[float], helped_s: list[float]) -> str:
    """One sentence on runs without and with the engine."""
    ratios = sorted(helped / plain for plain, helped in zip(plain_s, helped_s, strict=True))
    ratio = statistics.median(ratios)
    verdict = (
        "no difference that exceeds the spread"
        if ratios[0] <= 1 <= ratios[-1]
        else "faster with the engine"
        if ratio < 1
        else "slower with the engine"
    )
    return (
        f"{verdict}: {ratio:.3f} times the time without it "
        f"(rounds: {ratios[0]:.3f} to {ratios[-1]:.3f}); "
        f"without {_spread(plain_s)}, with {_spread(helped_s)}"
    )


def _spread(took_s: list[float]) -> str:
    return f"{statistics.median(took_s):.3g} s ({min(took_s):.3g} to {max(took_s):.3g})"
