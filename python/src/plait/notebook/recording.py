# SPDX-License-Identifier: Apache-2.0
"""`plait.read`: a run for notebooks, with its tables, measures and figures."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from plait._events import Run
from plait.measures.event_tables import EVENT_TABLES
from plait.measures.steps import only_step
from plait.notebook.html import Sentences, describe
from plait.notebook.measures import Measures
from plait.notebook.plots import Plots
from plait.readers.plait import read_run, require_run
from plait.report.analysis import Analysis, analyse
from plait.report.summary import find_all_losses, summarise


def read(folder: str | os.PathLike[str]) -> Recording:
    """A run, as `plait report` takes it: of `plait run`, `record`, `accelerate`, `replay`, `import`.

    Files are read when something of them is first used. Raises PlaitError when `folder` is no run.
    """
    path = Path(folder)
    require_run(path)
    return Recording(path)


class Recording:
    """A run as polars frames, measures and figures; docs/reference/tables.md has all columns.

    What is read or computed is kept: a second use costs nothing, and a run that still goes on must be
    read again. Frames that a run has nothing for are empty. For one thread at a time.
    """

    def __init__(self, folder: Path, run: Run | None = None, step: int | None = None) -> None:
        """Use `read`. `run`: what is in the folder, if that is known; `step`: the only one to show."""
        self.folder = folder
        self._given = run
        self._step = step
        self._tables: dict[str, pl.DataFrame] = {}

    @cached_property
    def raw(self) -> Run:
        """What measures take (`plait.match_messages` and its like): numbers in the place of names."""
        whole = read_run(self.folder) if self._given is None else self._given
        return whole if self._step is None else only_step(whole, self._step)

    @property
    def meta(self) -> dict[str, Any]:
        """The program, its command, hosts, options, when it started and ended: meta.json."""
        return self.raw.meta

    @property
    def notices(self) -> tuple[str, ...]:
        """What the reader of a run must know first: missing files, a killed run, lonely messages."""
        return self.analysis.run.notices if self.raw.event_count else self.raw.notices

    def only_step(self, step: int) -> Recording:
        """The part that belongs to one step. Raises PlaitError when there is no such step."""
        only_step(self.raw, step)
        return Recording(self.folder, self.raw, step)

    # --- tables: a row for each event -------------------------------------------------------------

    @property
    def steps(self) -> pl.DataFrame:
        """A row for each step."""
        return self._table("steps")

    @property
    def tasks(self) -> pl.DataFrame:
        """A row for each task; sends and receives of graphs are tasks, too."""
        return self._table("tasks")

    @property
    def messages(self) -> pl.DataFrame:
        """A row for each message of which both sides are known."""
        return self._table("messages")

    @property
    def message_sides(self) -> pl.DataFrame:
        """A row for each side of a message."""
        return self._table("message_sides")

    @property
    def engine_messages(self) -> pl.DataFrame:
        """A row for each side of a message that plait's engine moved for `plait accelerate`."""
        return self._table("engine_messages")

    @property
    def calls(self) -> pl.DataFrame:
        """A row for each call of MPI, of a program that was recorded from outside."""
        return self._table("calls")

    @property
    def communicators(self) -> pl.DataFrame:
        """A row for each member of a communicator; that of all ranks is not listed."""
        return self._table("communicators")

    @property
    def shares(self) -> pl.DataFrame:
        """A row for what a vector collective gives to one member."""
        return self._table("shares")

    @property
    def collective_layouts(self) -> pl.DataFrame:
        """A row for each collective whose data has gaps in the memory of a rank."""
        return self._table("collective_layouts")

    @property
    def recorder_costs(self) -> pl.DataFrame:
        """A row for each rank: what recording takes of its processor, by call and message."""
        return self._table("recorder_costs")

    @property
    def background_times(self) -> pl.DataFrame:
        """A row for each time in which a thread in the background polled."""
        return self._table("background_times")

    @property
    def spans(self) -> pl.DataFrame:
        """A row for each time in a region (`trace::Region`) or step that the program named."""
        return self._table("spans")

    @property
    def poll_gaps(self) -> pl.DataFrame:
        """A row for each time without a poll of the network while something was in flight."""
        return self._table("poll_gaps")

    @property
    def counters(self) -> pl.DataFrame:
        """A row for each value that the program recorded."""
        return self._table("counters")

    @property
    def samples(self) -> pl.DataFrame:
        """A row for each sample of a thread (`plait record --sample`)."""
        return self._table("samples")

    @property
    def counts(self) -> pl.DataFrame:
        """A row for what one counter counted in a region or task (`plait record --counters`)."""
        return self._table("counts")

    @property
    def graph_tasks(self) -> pl.DataFrame:
        """A row for each task of a graph, each graph once."""
        return self._table("graph_tasks")

    @property
    def graph_dependencies(self) -> pl.DataFrame:
        """A row for each pair of tasks of a graph of which one must end first."""
        return self._table("graph_dependencies")

    @property
    def graph_runs(self) -> pl.DataFrame:
        """A row for each run of a graph on a rank."""
        return self._table("graph_runs")

    def _table(self, name: str) -> pl.DataFrame:
        if name not in self._tables:
            self._tables[name] = EVENT_TABLES[name](self.raw)
        return self._tables[name]

    # --- what follows from them -------------------------------------------------------------------

    @cached_property
    def analysis(self) -> Analysis:
        """What the report is made from. Raises PlaitError when nothing was recorded."""
        return replace(analyse(self.raw, self.folder, None), only_step=self._step)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The run in a few numbers: name, value, unit; text and shown are for people."""
        found = [q for q in summarise(self.analysis) if q.value is not None]
        rows = [(q.name, q.text, str(q), float(q.value or 0), q.unit.value) for q in found]
        texts = dict.fromkeys(("name", "text", "shown"), pl.String)
        schema = {**texts, "value": pl.Float64, "unit": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @cached_property
    def losses(self) -> pl.DataFrame:
        """What most time is lost to, the largest first; no moment of a thread is in two rows."""
        return self.measures.losses

    @cached_property
    def findings(self) -> Sentences:
        """What cost most time, the most important first."""
        return Sentences(find_all_losses(self.analysis))

    @cached_property
    def measures(self) -> Measures:
        """The numbers of the report, as frames."""
        return Measures(self.analysis)

    @cached_property
    def plots(self) -> Plots:
        """The figures of the report, as figures of matplotlib."""
        return Plots(self.analysis)

    def __repr__(self) -> str:
        return f"plait.read({str(self.folder)!r})" + (
            "" if self._step is None else f".only_step({self._step})"
        )

    def _repr_html_(self) -> str:
        return describe(
            self.folder, self.raw, self._step, self.analysis if self.raw.event_count else None
        )
