# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs, A and B: numbers side by side, those that changed most first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._units import format_bytes, format_time
from plait.measures.messages import in_flight
from plait.measures.wait_states import KIND_TEXTS
from plait.report.analysis import Analysis

#: What is closer than this is called the same: runs of one program differ so much by themselves.
SAME = 0.02
_REASONS_MAX = 3
_SITES_MAX = 15


class Better(Enum):
    LESS = "less"
    MORE = "more"
    NEITHER = "neither"


class Unit(Enum):
    TIME = "time"
    BYTES = "bytes"
    RATE = "rate"
    COUNT = "count"
    SHARE = "share"

    def format(self, value: float) -> str:
        if self is Unit.TIME:
            return format_time(value)
        if self is Unit.BYTES:
            return format_bytes(value)
        if self is Unit.RATE:
            return f"{format_bytes(value)}/s"
        if self is Unit.SHARE:
            return f"{100 * value:.1f} %"
        return f"{value:,.0f}"


@dataclass(frozen=True)
class Row:
    """One number of both runs; None where a run has no such thing."""

    name: str
    a: float | None
    b: float | None
    unit: Unit = Unit.TIME
    better: Better = Better.LESS
    #: How many calls or tasks it is of, in A and in B.
    counts: tuple[int, int] | None = None

    @property
    def difference(self) -> float:
        return (self.b or 0.0) - (self.a or 0.0)

    @property
    def change(self) -> float | None:
        """Relative to A; None where A has nothing to compare with."""
        return None if not self.a or self.b is None else self.b / self.a - 1.0

    @property
    def is_small(self) -> bool:
        """The difference is no more than two runs of one program have; of shares: than two points."""
        if self.unit is Unit.SHARE:
            return abs(self.difference) <= SAME
        return not self.difference or (self.change is not None and abs(self.change) <= SAME)

    @property
    def is_better(self) -> bool | None:
        """None: it is about the same, or neither."""
        if self.better is Better.NEITHER or self.is_small:
            return None
        return (self.difference < 0) == (self.better is Better.LESS)


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    text: str
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    a: Analysis
    b: Analysis
    sentence: str
    reasons: list[str]  # where most of the difference is, in sentences
    warnings: list[str]  # what makes the two hard to compare
    whole: Section
    sections: list[Section] = field(default_factory=list)


def compare(a: Analysis, b: Analysis) -> Comparison:
    """Times of threads are means over all threads, so that they add up to the time of the run."""
    parts = _by_change(_thread_times(a, b))
    sections = [
        Section(
            "parts",
            "Where the time of the mean thread went",
            "All rows together are the time of the run: of the tasks, or of computing and the calls of "
            "the communication library, the mean over all threads.",
            parts,
        ),
        Section(
            "waits",
            "Lost to ranks that came late",
            "Of the calls above: time in which a rank could not go on because of another one, the mean "
            "over all threads.",
            _by_change(_waits(a, b)),
        ),
        Section(
            "sites",
            "Calls by where the program makes them",
            f"The {_SITES_MAX} places that changed most, the mean over all threads.",
            _by_change(_sites(a, b))[:_SITES_MAX],
        ),
        Section(
            "tasks",
            "How long a task of each kind took",
            "The mean over all tasks of the kind; of sends and receives from posting to the end.",
            _by_change(_tasks(a, b)),
        ),
        Section("phases", "Phases", "The mean over all ranks.", _by_change(_phases(a, b))),
    ]
    return Comparison(
        a,
        b,
        _sentence(a, b),
        _reasons(parts, _length(a), _length(b)),
        _warnings(a, b),
        Section("whole", "The whole run", "", _whole(a, b)),
        [section for section in sections if section.rows],
    )


def _length(analysis: Analysis) -> int:
    """From the first task, or the end of MPI_Init, to the last, or the start of MPI_Finalize."""
    return analysis.working_ns[1] - analysis.working_ns[0]


def _threads(analysis: Analysis) -> int:
    if analysis.run.tasks.height:
        return max(1, analysis.lanes.height)
    return max(1, round(analysis.calls.whole_ns / max(1, _length(analysis))))


def _by_change(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-abs(row.difference), row.name))


def _both(
    a: dict[str, tuple[float, int]],
    b: dict[str, tuple[float, int]],
    better: Better = Better.LESS,
) -> list[Row]:
    """Of (time, count) by name."""
    rows = []
    for name in dict.fromkeys((*a, *b)):
        counts = (a.get(name, (0, 0))[1], b.get(name, (0, 0))[1])
        one, two = a.get(name), b.get(name)
        rows.append(
            Row(
                name,
                None if one is None else one[0],
                None if two is None else two[0],
                better=better,
                counts=counts if any(counts) else None,
            )
        )
    return rows


def _thread_times(a: Analysis, b: Analysis) -> list[Row]:
    return _both(_parts(a), _parts(b))


def _parts(analysis: Analysis) -> dict[str, tuple[float, int]]:
    """(time, count) of all that a mean thread did, by name."""
    threads, run = _threads(analysis), analysis.run
    found: dict[str, tuple[float, int]] = {}
    if run.tasks.height:
        own = analysis.kinds.filter(pl.col("role") == events.ROLE_TASK)
        for name, total, count in own.select("name", "sum_ns", "count").iter_rows():
            found[f"task {name}"] = (total / threads, count)
        rest = "outside tasks (idle, or polling the network)"
    elif analysis.calls.by_function.height:
        columns = ("function", "time_ns", "count")
        for function, total, count in analysis.calls.by_function.select(columns).iter_rows():
            found[run.functions[function]] = (total / threads, count)
        rest = "computing (outside calls)"
    else:
        return {}
    inside = sum(time for time, _ in found.values())
    found[rest] = (max(0.0, _length(analysis) - inside), 0)
    return found


def _waits(a: Analysis, b: Analysis) -> list[Row]:
    def of(analysis: Analysis) -> dict[str, tuple[float, int]]:
        rows = analysis.calls.waits_by_kind.select("kind", "lost_ns", "calls").iter_rows()
        threads = _threads(analysis)
        return {KIND_TEXTS[kind]: (lost / threads, count) for kind, lost, count in rows}

    return _both(of(a), of(b))


def _sites(a: Analysis, b: Analysis) -> list[Row]:
    def of(analysis: Analysis) -> dict[str, tuple[float, int]]:
        found: dict[str, tuple[float, int]] = {}
        run, threads = analysis.run, _threads(analysis)
        known = analysis.calls.by_site.filter(pl.col("site") >= 0)
        for function, site, total, count in known.select(
            "function", "site", "time_ns", "count"
        ).iter_rows():
            name = f"{run.functions[function]} in {run.sites[site]}"
            before = found.get(name, (0.0, 0))
            found[name] = (before[0] + total / threads, before[1] + count)
        return found

    return _both(of(a), of(b))


def _tasks(a: Analysis, b: Analysis) -> list[Row]:
    def of(analysis: Analysis) -> dict[str, tuple[float, int]]:
        rows = analysis.kinds.select("name", "mean_ns", "count").iter_rows()
        return {name: (mean, count) for name, mean, count in rows}

    return _both(of(a), of(b))


def _phases(a: Analysis, b: Analysis) -> list[Row]:
    def of(analysis: Analysis) -> dict[str, tuple[float, int]]:
        rows = analysis.span_phases.select("phase", "mean_ns", "count").iter_rows()
        return {name: (mean, count) for name, mean, count in rows}

    return _both(of(a), of(b))


def _whole(a: Analysis, b: Analysis) -> list[Row]:
    """In the order in which they are read; those that neither run has are left out."""
    first, second = _numbers(a), _numbers(b)
    rows = []
    for (name, unit, better), value in first.items():
        other = second[name, unit, better]
        if value is not None or other is not None:
            # What only one of them reports is no better there.
            both = value is not None and other is not None
            rows.append(Row(name, value, other, unit, better if both else Better.NEITHER))
    return rows


_Key = tuple[str, Unit, Better]


def _numbers(analysis: Analysis) -> dict[_Key, float | None]:
    run, length = analysis.run, _length(analysis)
    ranks = max(1, len(run.ranks_present))
    has_calls, has_tasks = analysis.calls.by_function.height > 0, run.tasks.height > 0
    sent = run.messages.filter(~pl.col("received"))
    size = float(sent["size_bytes"].sum())
    curve = in_flight(analysis.matched.with_columns(pl.lit(0).alias("source"))).get(0)
    balance = analysis.traffic.balance
    computing = float(balance.computing_ns.sum()) / _threads(analysis)
    overlap = analysis.calls.overlap_by_rank
    possible, achieved = (float(overlap[name].sum()) for name in ("possible_ns", "achieved_ns"))
    lost = float(analysis.calls.waits["lost_ns"].sum()) / _threads(analysis)
    stalled = float(analysis.calls.stalled["stalled_ns"].sum()) / _threads(analysis)
    steps = analysis.steps["length_ns"]
    gaps = float((run.gaps["end_ns"] - run.gaps["start_ns"]).sum()) / ranks
    less, more, neither = Better.LESS, Better.MORE, Better.NEITHER
    return {
        ("time", Unit.TIME, less): float(length),
        ("ranks", Unit.COUNT, neither): float(run.ranks),
        ("steps", Unit.COUNT, neither): float(steps.len()) if steps.len() else None,
        ("a step, in the median", Unit.TIME, less): _float(steps.median()),
        ("computing, of the mean thread", Unit.TIME, less): computing if balance.ranks else None,
        ("in calls, of the mean thread", Unit.TIME, less): length - computing if has_calls else None,
        ("lost to late ranks, of the mean thread", Unit.TIME, less): lost if has_calls else None,
        ("waiting for data that was ready to move", Unit.TIME, less): stalled if has_calls else None,
        ("overlap achieved, of what was possible", Unit.SHARE, more): (
            achieved / possible if possible > 0 else None
        ),
        ("workers idle", Unit.SHARE, less): (
            _float(analysis.ranks["idle_share"].mean()) if has_tasks else None
        ),
        ("imbalance of computing", Unit.SHARE, less): balance.whole() if balance.ranks else None,
        ("no thread polled the network, a rank", Unit.TIME, less): gaps if run.gaps.height else None,
        ("messages", Unit.COUNT, neither): float(sent.height) if sent.height else None,
        ("bytes sent", Unit.BYTES, neither): size if sent.height else None,
        ("data rate, all ranks", Unit.RATE, more): (
            size / max(1e-9, length * 1e-9) if sent.height else None
        ),
        ("bytes in flight, at most", Unit.BYTES, neither): curve.peak() if curve else None,
        ("bytes in flight, mean over time", Unit.BYTES, neither): curve.mean() if curve else None,
        ("messages without a partner", Unit.COUNT, less): (
            float(analysis.unmatched.sends + analysis.unmatched.receives) if sent.height else None
        ),
    }


def _float(value: object) -> float | None:
    return None if value is None else float(str(value))


def _sentence(a: Analysis, b: Analysis) -> str:
    one, two = _length(a), _length(b)
    times = f"{format_time(two)} instead of {format_time(one)}"
    if max(one, two) <= (1 + SAME) * min(one, two):
        return f"A and B took the same time within {100 * SAME:.0f} %: {times}."
    if two < one:
        return f"B is {one / max(1, two):.3g} times faster than A: {times}."
    return f"B is {two / max(1, one):.3g} times slower than A: {times}."


def _reasons(parts: list[Row], one: int, two: int) -> list[str]:
    """The largest differences, while they are more than a twentieth of the whole one and not small."""
    if not any(row.a is not None and row.b is not None for row in parts):
        return []  # one is of tasks, the other of calls
    difference = two - one
    least = max(0.05 * abs(difference), SAME * min(one, two))
    found = []
    for row in parts[:_REASONS_MAX]:
        if not difference or abs(row.difference) < least:
            break
        more = "more" if row.difference > 0 else "less"
        share = 100 * row.difference / difference
        what = f"{share:.0f} % of the difference" if share > 0 else "against the difference"
        relative = "" if row.change is None else f", {100 * row.change:+.0f} %".replace("-", "−")
        found.append(
            f"{row.name}: {format_time(abs(row.difference))} {more} in the mean thread "
            f"({what}{relative})."
        )
    return found


def _warnings(a: Analysis, b: Analysis) -> list[str]:
    one, two = a.run, b.run
    found = []
    for what, first, second in (
        ("The programs", one.meta.get("program"), two.meta.get("program")),
        ("The numbers of ranks", one.ranks, two.ranks),
        ("The numbers of threads", _threads(a), _threads(b)),
        ("The records", _recorder(one), _recorder(two)),
        ("The commands", _command(one), _command(two)),
        ("The numbers of steps", a.steps.height, b.steps.height),
    ):
        if first != second:
            found.append(f"{what} differ: A {first or 'none'}, B {second or 'none'}")
    for name, analysis in (("A", a), ("B", b)):
        found.extend(f"{name}: {notice}" for notice in analysis.run.notices)
    return found


def _recorder(run: Run) -> str:
    told = {"mpi": "calls of MPI", "swift": "logs of SWIFT", "replay": "a replay"}
    recorder = str(run.meta.get("recorder") or "plait")
    return {**told, "prediction": "a prediction", "plait": "tasks and messages"}.get(recorder, recorder)


def _command(run: Run) -> str:
    command = run.meta.get("command")
    return " ".join(str(word) for word in command) if isinstance(command, list) else ""
