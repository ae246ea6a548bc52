# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of a run as Parquet files, one a table, for pandas, polars, DuckDB, R."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._files import make_folder, write_file
from plait.measures.messages import match_messages
from plait.measures.steps import steps_of_run

#: What the columns mean whose names do not show it; goes into each file beside the run's meta.json.
COLUMNS = {
    "_ns": "nanoseconds on rank 0's clock, from its time 0",
    "worker": "index of the thread on its rank; 65535: a thread that is no worker",
    "kind": "name of the task's, span's or counter's kind",
    "role": "what a task is: task, send or receive",
    "object": "what the task worked on; of send and receive tasks peer << 32 | sequence",
    "released_by": "id of the task whose end made this one ready; 0: the start of the run",
    "place": "of the task in its graph, from 1; 0: of none, or not known",
    "sequence": "equal on both sides of a message, within source, destination and communicator",
    "protocol": "how a message was sent",
    "posted_ns": "the program posted the message",
    "handed_ns": "send: handed to the network; receive: matched",
    "arrived_ns": "send: left, the buffer is free; receive: all bytes are here",
    "completed_ns": "the program was notified of the end",
    "unfinished": "had not completed when the record ended",
    "send_worker": "thread of the sender that was notified of the end",
    "receive_worker": "thread of the receiver that was notified of the end",
    "send_site": "where the send was posted",
    "receive_site": "where the receive was posted",
    "send_unfinished": "the send had not completed when the record ended",
    "class": "what a call does",
    "function": "name of the function called",
    "site": "where in the program it was called",
    "number": "of the call, in the order of posting on the rank; 0: not known",
    "count": "collectives: how many before on the communicator; waits: how many operations completed",
    "repeats": "tests and probes that found nothing: how many more like it followed, in the same row",
    "peer": "rank of the run; -1: none, several, or any",
}


def write_parquet(run: Run, folder: Path) -> list[Path]:
    """Writes the tables that hold anything, and returns their paths.

    Names are in the tables instead of numbers. The metadata of each file has `plait.run` (meta.json),
    `plait.columns` (`COLUMNS`) and `plait.notices`, as JSON.
    """
    make_folder(folder)
    metadata = {
        "plait.run": json.dumps(run.meta),
        "plait.columns": json.dumps(COLUMNS),
        "plait.notices": json.dumps(run.notices),
    }
    written = []
    for name, table in _tables(run).items():
        if table.height:
            path = folder / f"{name}.parquet"
            write_file(path, lambda file, table=table: table.write_parquet(file, metadata=metadata))  # type: ignore[misc]
            written.append(path)
    return written


def _tables(run: Run) -> dict[str, pl.DataFrame]:
    protocols = _named("protocol", events.PROTOCOLS)
    places = [str(site) for site in run.sites]
    posting = (_named("function", run.functions), _named("site", places))
    roles = _named("role", ("task", "send", "receive", "join"))
    kinds = _named("kind", run.kinds)
    return {
        "steps": steps_of_run(run),
        "tasks": run.tasks.with_columns(kinds, roles),
        "messages": match_messages(run.messages).with_columns(
            protocols, *(_named(f"{side}_site", places) for side in ("send", "receive"))
        ),
        "message_sides": run.messages.with_columns(protocols, *posting),
        "calls": run.calls.with_columns(*posting, _named("class", events.CALL_CLASSES)),
        "communicators": run.communicators,
        "shares": run.shares,
        "spans": run.spans.with_columns(_named("kind", run.span_kinds)),
        "poll_gaps": run.gaps,
        "counters": run.counters.with_columns(_named("kind", run.counter_kinds)),
        "graph_tasks": run.graph_tasks.with_columns(kinds, roles),
        "graph_dependencies": run.dependencies,
        "graph_runs": run.graph_runs,
    }


def _named(column: str, names: tuple[str, ...] | list[str]) -> pl.Expr:
    """The column's numbers as names, which repeat and so take little room; null where there is none."""
    known = dict(enumerate(names))
    return (
        pl.col(column).replace_strict(known, default=None, return_dtype=pl.String).cast(pl.Categorical)
    )
