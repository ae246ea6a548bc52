# SPDX-License-Identifier: Apache-2.0
"""Sections of a recorded MPI program that its main function separates by barriers.

A section is known by the numbers of its two barriers among all barriers of rank 0. So it is found again
in a replay, in a prediction, and in times that were noted without recording. The numbers count from the
last barrier: what precedes a section may have another number of barriers in another run. Replays and
predictions play the splitting of a communicator as a barrier, so it counts as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from plait._errors import PlaitError
from plait._events import Run

_BARRIER = "MPI_Barrier"
#: In recordings and replays, and in predictions.
BARRIERS = (_BARRIER, "MPI_Comm_split", "barrier")


@dataclass(frozen=True)
class Section:
    """`begin` and `end`: barriers of rank 0, counted from its last one, which is 1."""

    begin: int
    end: int

    def of(self, barriers: Sequence[float]) -> float:
        """Seconds of this section in a run of which these are the ends of all barriers, in order."""
        if self.begin > len(barriers):
            raise PlaitError(
                f"a section begins {self.begin} barriers before the end, and the run has only "
                f"{len(barriers)}; were both of the same program and input?"
            )
        return barriers[-self.end] - barriers[-self.begin]


def ends_of(run: Run, names: Sequence[str]) -> list[float]:
    """Seconds at which rank 0's calls of these functions ended, in order."""
    return [end / 1e9 for end in _calls_of(run, names)["end_ns"]]


def end_of_exchange(run: Run, without: Sequence[str]) -> float:
    """Seconds at which rank 0's last call of other functions ended. Raises PlaitError if none did."""
    left_out = _numbers_of(run, without)
    calls = run.calls.filter((pl.col("rank") == 0) & ~pl.col("function").is_in(left_out))
    last = calls["end_ns"].max()
    if not isinstance(last, int):
        raise PlaitError("rank 0 has no calls; give the run of an MPI program")
    return last / 1e9


def sections_of(
    run: Run, names: Sequence[str], sites: Mapping[str, Mapping[str, object]]
) -> dict[str, Section]:
    """The sections that begin with a barrier in the function that calls MPI_Finalize.

    `names`: of all sections, in order; a last one that no barrier ends is left out. `sites`: of
    `resolve_sites`. Raises PlaitError if there are more such barriers than names.
    """
    main = {_function_of(run, site, sites) for site in _calls_of(run, ("MPI_Finalize",))["site"]}
    barriers = _calls_of(run, BARRIERS)
    numbers = [
        barriers.height - index
        for index, (function, site) in enumerate(barriers.select("function", "site").iter_rows())
        if run.functions[function] == _BARRIER and _function_of(run, site, sites) in main
    ]
    if len(numbers) > len(names):
        raise PlaitError(
            f"the main function has {len(numbers)} barriers, and there are only {len(names)} sections"
        )
    return {
        name: Section(begin, end) for name, begin, end in zip(names, numbers, numbers[1:], strict=False)
    }


def _function_of(run: Run, site: int, sites: Mapping[str, Mapping[str, object]]) -> object:
    """Its name, or where it starts."""
    place = run.sites[site].place
    found = sites.get(place, {})
    return found.get("function") or found.get("start") or place


def _calls_of(run: Run, names: Sequence[str]) -> pl.DataFrame:
    wanted = _numbers_of(run, names)
    return run.calls.filter((pl.col("rank") == 0) & pl.col("function").is_in(wanted)).sort("end_ns")


def _numbers_of(run: Run, names: Sequence[str]) -> list[int]:
    return [number for number, name in enumerate(run.functions) if name in names]
