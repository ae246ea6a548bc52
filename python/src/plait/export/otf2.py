# SPDX-License-Identifier: Apache-2.0
"""Writes a run as an OTF2 archive, for Vampir, ViTE, Scalasca and the like.

A location group for each rank, a location for each of its threads, besides locations for what lies across
threads (phases, begun collectives). Messages and collectives are MPI events of the thread that made them,
or of the rank's first thread where that is not known. Needs the package `otf2`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import otf2
import polars as pl
from otf2.enums import (
    CollectiveOp,
    CommFlag,
    GroupType,
    LocationGroupType,
    LocationType,
    MetricMode,
    Paradigm,
    RegionRole,
    Type,
    Undefined,
)

from plait import _events as events
from plait._events import Run
from plait._files import make_folder
from plait.export._tracks import Track, edges, make_tracks

ARCHIVE = "traces"
#: Of events at one time: what ends messages comes before the edges of bars, what begins them after.
_ENDS, _EDGE, _BEGINS = 0, 1, 2
_TOLD_EVERY = 5000

#: What to do at a time: (time, order, write), where write is called with the location's writer.
Event = tuple[int, int, Callable[[Any], None]]


@dataclass
class _Archive:
    run: Run
    writer: Any
    low_ns: int
    locations: dict[tuple[int, str, int], Any] = field(default_factory=dict)  # by rank, what, number
    groups: dict[int, Any] = field(default_factory=dict)
    regions: list[Any] = field(default_factory=list)  # of names_of
    comms: dict[int, Any] = field(default_factory=dict)
    members: dict[int, dict[int, int]] = field(default_factory=dict)  # communicator -> rank -> its index

    def comm(self, number: int) -> Any:
        return self.comms.get(number, self.comms[0])

    def index(self, communicator: int, rank: int) -> int:
        """Of a rank of the run, in the communicator."""
        return self.members.get(communicator, {}).get(rank, rank)


def write_otf2(run: Run, folder: Path, progress: Callable[[int], None] = lambda count: None) -> None:
    """Writes `folder`/traces.otf2 and what belongs to it; the folder must not hold an archive yet.

    `progress` is called with the number of events written now and then. Cost: about 10 µs an event.
    """
    make_folder(folder)
    started = _started_ns(run)
    with otf2.writer.open(str(folder), archive_name=ARCHIVE, timer_resolution=10**9) as writer:
        archive = _Archive(run, writer, run.window_ns()[0])
        tracks = [track for track in make_tracks(run) if track.what not in ("messages", "gaps")]
        _define(archive, tracks)
        _write_events(archive, tracks, progress)
