# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs, A and B: numbers side by side, those that changed most first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._units import format_time
from plait.measures.wait_states import KIND_TEXTS
from plait.report.analysis import Analysis
from plait.report.summary import Better, Unit, length_ns, summarise, thread_count

#: What is closer than this is called the same: runs of one program differ so much by themselves.
SAME = 0.02
_REASONS_MAX = 3
_SITES_MAX = 15


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
        _reasons(parts, length_ns(a), length_ns(b)),
        _warnings(a, b),
        Section("whole", "The whole run", "", _whole(a, b)),
        [section for section in sections if section.rows],
    )


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
    threads, run = thread_count(analysis), analysis.run
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
    found[rest] = (max(0.0, length_ns(analysis) - inside), 0)
    return found


def _waits(a: Analysis, b: Analysis) -> list[Row]:
    def of(analysis: Analysis) -> dict[str, tuple[float, int]]:
        rows = analysis.calls.waits_by_kind.select("kind", "lost_ns", "calls").iter_rows()
        threads = thread_count(analysis)
        return {KIND_TEXTS[kind]: (lost / threads, count) for kind, lost, count in rows}

    return _both(of(a), of(b))


def _sites(a: Analysis, b: Analysis) -> list[Row]:
    def of(analysis: Analysis) -> dict[str, tuple[float, int]]:
        found: dict[str, tuple[float, int]] = {}
        run, threads = analysis.run, thread_count(analysis)
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
    rows = []
    for one, two in zip(summarise(a), summarise(b), strict=True):
        if one.value is not None or two.value is not None:
            # What only one of them reports is no better there.
            both = one.value is not None and two.value is not None
            better = one.better if both else Better.NEITHER
            rows.append(Row(one.text, one.value, two.value, one.unit, better))
    return rows


def _sentence(a: Analysis, b: Analysis) -> str:
    one, two = length_ns(a), length_ns(b)
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
        ("The numbers of threads", thread_count(a), thread_count(b)),
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
