# SPDX-License-Identifier: Apache-2.0
"""`plait record`: starts a command with the recorder before MPI, and reports what was recorded."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from plait import _build, _mpi
from plait import _launcher as launcher
from plait._errors import PlaitError
from plait._files import write_text
from plait._preload import Target, preloading, program_in
from plait._sites import resolve_sites
from plait.commands._window import profile_variables
from plait.commands.run import Ending, Place, make_run_folder, say, shown, supervise, write_facts

#: Those of src/plait/record/counters.cpp.
COUNTERS = (
    *("instructions", "cycles", "cache-references", "cache-misses", "branches", "branch-misses"),
    *("task-clock", "page-faults", "context-switches"),
)


@dataclass(frozen=True)
class Details:
    """What the recorder records beside calls, and of each call."""

    call_path: int = 1
    counters: str | None = None
    sample: int | None = None  # a second of each thread's processor time

    def __post_init__(self) -> None:
        for name in (self.counters or "").split(",") if self.counters else ():
            if name not in COUNTERS:
                raise PlaitError(
                    f"there is no counter {name!r}; give some of {', '.join(COUNTERS)}, separated by "
                    "commas"
                )

    def variables(self) -> dict[str, str]:
        return {
            **({"PLAIT_RECORD_CALL_PATH": str(self.call_path)} if self.call_path > 1 else {}),
            **({"PLAIT_RECORD_COUNTERS": self.counters} if self.counters else {}),
            **({"PLAIT_RECORD_SAMPLE": str(self.sample)} if self.sample else {}),
        }


@dataclass(frozen=True)
class Wishes:
    name: str | None
    output: Path | None
    force: bool
    mpi: str | None
    progress: bool
    profile: bool = False
    window: str | None = None
    quiet: bool = False
    launcher: str | None = None
    details: Details = Details()


def record(
    command: Sequence[str],
    wishes: Wishes,
    behind: Sequence[Path] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Returns the command's exit status. `behind`: libraries to preload between the recorder and MPI."""
    counted = profile_variables(profile=wishes.profile, window=wishes.window)
    target = Target.of(command, wishes.mpi, wishes.launcher)
    recorder = _build.library_for(_build.RECORDER, target.wanted())
    program = Path(program_in(command) or command[0]).name
    folder = make_run_folder(Place(wishes.output, wishes.name, program, wishes.force))
    earlier = set(_folders(folder))
    environment = {
        **preloading(recorder, *behind),
        "PLAIT_RECORD_FOLDER": str(folder),
        **({"PLAIT_RECORD_PROGRESS": "1"} if wishes.progress else {}),
        **counted,
        **wishes.details.variables(),
        **variables,
    }
    launched = target.with_exports(environment)
    if not wishes.quiet and target.notice():
        say(target.notice())
    whole = {**os.environ, **launcher.root_environment(), **environment}
    ending = supervise(launched, whole)
    made = [run for run in _folders(folder) if run == folder or run not in earlier]
    for run in made:
        write_facts(run, list(command), launched, ending)
        write_sites(run)
    if not (wishes.quiet and ending.is_good and made):
        _tell(Path(command[0]).name, folder, made, ending)
    return ending.exit_status


def recording_variables(
    program: str, starter: launcher.Launcher, folder: Path, details: Details, with_calls: bool
) -> dict[str, str]:
    """What has a program that `starter` starts recorded into a folder."""
    library = _mpi.library_of(program)
    mpi = library.interface if library else _build.default_mpi()
    recorder = _build.library_for(_build.RECORDER, _build.WantedMpi(mpi, library, starter))
    return {
        **preloading(recorder),
        "PLAIT_RECORD_FOLDER": str(folder),
        **({} if with_calls else {"PLAIT_RECORD_CALLS": "0"}),
        **details.variables(),
    }


def write_sites(run: Path) -> None:
    write_text(run / "sites.json", json.dumps(resolve_sites(run), indent=1) + "\n")


def _folders(folder: Path) -> list[Path]:
    """Those of the programs that the command has started, RUN, RUN-2, ..., if they hold a trace."""
    numbered = [
        other
        for other in folder.parent.glob(f"{folder.name}-*")
        if re.fullmatch(re.escape(folder.name) + r"-\d+", other.name)
    ]
    return [run for run in (folder, *sorted(numbered)) if any(run.glob("rank-*.plt"))]


# --- the report ----------------------------------------------------------------------------------


def _missing_ranks(folder: Path) -> str:
    """A sentence on ranks without a file; "" when all are there."""
    try:
        ranks = int(json.loads((folder / "meta.json").read_text())["ranks"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"{shown(folder)}/meta.json is missing: rank 0 ended before it could write it"
    missing = [rank for rank in range(ranks) if not (folder / f"rank-{rank:04}.plt").is_file()]
    if not missing:
        return ""
    listed = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
    return (
        f"of {ranks} ranks {len(missing)} have no file in {shown(folder)} (rank {listed}): is the "
        "folder on a disk that all hosts share?"
    )


def _tell(program: str, folder: Path, made: list[Path], ending: Ending) -> None:
    if not ending.is_good:
        say(f"{program} {ending.in_words()} after {ending.took_s:.3g} s")
    if not made:
        say(
            f"nothing was recorded in {shown(folder)}: no program that the command started has "
            "initialised MPI, or it uses another MPI (see --mpi)"
        )
        return
    for run in made:
        trouble = _missing_ranks(run)
        if trouble:
            say(trouble)
    if len(made) > 1:
        say(
            f"the command ran {len(made)} MPI programs; each has a folder: {', '.join(map(shown, made))}"
        )
    say(
        f"recorded in {ending.took_s:.3g} s; see where the time went with: plait report {shown(made[0])}"
    )
