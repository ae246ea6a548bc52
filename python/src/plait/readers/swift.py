# SPDX-License-Identifier: Apache-2.0
"""Reads the logs of SWIFT (docs/reference/formats.md): its reports of MPI requests, and its task dumps.

Times in them are ticks of each rank's own counter. They come out as nanoseconds on one time axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from plait._errors import PlaitError
from plait.readers._swift_clock import Clock
from plait.readers._swift_files import Names, Texts, read_texts
from plait.readers._swift_match import number_messages, pair_requests

#: One row for each request that a rank posted.
REQUESTS: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    "step": pl.Int64(),
    "received": pl.Boolean(),
    "peer": pl.Int64(),
    "subtype": pl.Int64(),
    "tag": pl.Int64(),
    "size_bytes": pl.Int64(),
    "sequence": pl.Int64(),  # equal on both sides of a message, within (source, destination, subtype)
    "posted_ns": pl.Int64(),
    "completed_ns": pl.Int64(),  # null: not known to have completed
    "thread": pl.Int64(),  # that was notified of the end; 0 where the report lacks it
}
TASKS: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    "step": pl.Int64(),
    "thread": pl.Int64(),
    "type": pl.Int64(),
    "subtype": pl.Int64(),
    "flags": pl.Int64(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
STEPS: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    "step": pl.Int64(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}


@dataclass(frozen=True)
class SwiftLog:
    ranks: int  # in the run; of some there may be no file
    ranks_present: tuple[int, ...]
    requests: pl.DataFrame
    tasks: pl.DataFrame
    steps: pl.DataFrame
    names: Names
    frequency_hz: float  # of the lowest rank
    notices: tuple[str, ...]


def read_swift(
    paths: Sequence[Path], *, frequency_hz: float | None = None, names: Names | None = None
) -> SwiftLog:
    """Reads reports and dumps, of any ranks and steps, in any order; folders are searched for them.

    The ticks a second are those that the dumps report for each rank; `frequency_hz` wins over them.
    `names` adds to the names in the reports. Raises PlaitError with file and line for what is
    none.
    """
    texts = read_texts(paths, names or Names())
    if not texts.rows.height and not texts.tasks.height:
        raise PlaitError("these files hold neither messages nor tasks: there is nothing to import")
    clock = Clock(texts, frequency_hz)
    requests = _requests(texts, clock)
    tasks = _tasks(texts, clock)
    present = tuple(clock.frequencies)
    highest = [table[name].max() for table, name in ((requests, "peer"), (requests, "rank"))]
    ranks = 1 + max(*present, *(int(str(rank)) for rank in highest if rank is not None))
    steps = _steps(requests, tasks, texts, clock)
    dumped, all_steps = texts.heads["step"].n_unique(), steps["step"].n_unique()
    if 0 < dumped < all_steps:
        texts.notices.append(
            f"the tasks of {dumped} of {all_steps} steps are known: report on one of them with --step, "
            "as the workers seem idle in the others"
        )
    return SwiftLog(
        ranks=ranks,
        ranks_present=present,
        requests=requests,
        tasks=tasks,
        steps=steps,
        names=texts.names,
        frequency_hz=clock.frequencies[present[0]],
        notices=tuple(texts.notices),
    )


def _requests(texts: Texts, clock: Clock) -> pl.DataFrame:
    found = number_messages(pair_requests(texts))
    ended = found.select("rank", pl.col("end_step").alias("step"), "end_stic")
    table = found.with_columns(
        clock.times(found, "stic").alias("posted_ns"),
        clock.times(ended, "end_stic").alias("completed_ns"),
        pl.col("otherrank").alias("peer"),
        pl.col("isubtype").alias("subtype"),
        pl.col("size").alias("size_bytes"),
        pl.col("thread").fill_null(0),
    )
    return table.select([pl.col(name).cast(kind) for name, kind in REQUESTS.items()])


def _tasks(texts: Texts, clock: Clock) -> pl.DataFrame:
    begin = texts.heads.select("rank", "step", pl.col("tic").alias("begin"))
    since = texts.tasks.join(begin, on=["rank", "step"], how="left", maintain_order="left").with_columns(
        (pl.col("tic") - pl.col("begin")).alias("tic"), (pl.col("toc") - pl.col("begin")).alias("toc")
    )
    table = since.with_columns(
        clock.times(since, "tic").alias("start_ns"),
        clock.times(since, "toc").alias("end_ns"),
        pl.col("rid").alias("thread"),
    )
    return table.select([pl.col(name).cast(kind) for name, kind in TASKS.items()])


def _steps(requests: pl.DataFrame, tasks: pl.DataFrame, texts: Texts, clock: Clock) -> pl.DataFrame:
    """A step ends as in the dump, else with the last that is known of it on the rank."""
    heads = texts.heads.with_columns((pl.col("toc") - pl.col("tic")).alias("length"))
    ends = [
        requests.select("rank", "step", pl.coalesce("completed_ns", "posted_ns").alias("end_ns")),
        tasks.select("rank", "step", "end_ns"),
        heads.select("rank", "step", clock.times(heads, "length").alias("end_ns")),
    ]
    table = pl.concat(ends).group_by("rank", "step").agg(pl.col("end_ns").max()).sort("rank", "step")
    table = table.join(clock.steps, on="step", how="left", maintain_order="left")
    table = table.with_columns(pl.col("step_ns").alias("start_ns"))
    return table.select([pl.col(name).cast(kind) for name, kind in STEPS.items()])
