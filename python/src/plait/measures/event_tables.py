# SPDX-License-Identifier: Apache-2.0
"""The event tables of a run as people read them: names in the place of numbers, messages joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.messages import match_messages
from plait.measures.steps import steps_of_run

#: What the columns mean whose names do not show it. docs/reference/tables.md has all of them.
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
    "non_contiguous": "the datatype of the send has gaps",
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


def _posting(run: Run) -> tuple[pl.Expr, pl.Expr]:
    return _named("function", run.functions), _named("site", _places(run))


def _kinds(run: Run) -> pl.Expr:
    return _named("kind", run.kinds)


def _places(run: Run) -> list[str]:
    return [str(site) for site in run.sites]


def _named(column: str, names: Sequence[str]) -> pl.Expr:
    """The column's numbers as names, which repeat and so take little room; null where there is none."""
    known = dict(enumerate(names))
    return (
        pl.col(column).replace_strict(known, default=None, return_dtype=pl.String).cast(pl.Categorical)
    )


_ROLES = _named("role", ("task", "send", "receive", "join"))
_PROTOCOLS = _named("protocol", events.PROTOCOLS)


def _tasks(run: Run) -> pl.DataFrame:
    return run.tasks.with_columns(_kinds(run), _ROLES)


def _messages(run: Run) -> pl.DataFrame:
    places = _places(run)
    return match_messages(run.messages).with_columns(
        _PROTOCOLS, *(_named(f"{side}_site", places) for side in ("send", "receive"))
    )


def _message_sides(run: Run) -> pl.DataFrame:
    return run.messages.with_columns(_PROTOCOLS, *_posting(run))


def _calls(run: Run) -> pl.DataFrame:
    return run.calls.with_columns(*_posting(run), _named("class", events.CALL_CLASSES))


def _samples(run: Run) -> pl.DataFrame:
    return run.samples.with_columns(_named("site", _places(run)))


def _counts(run: Run) -> pl.DataFrame:
    return run.counts.with_columns(
        _named("counter", run.counter_kinds), _named("region", run.span_kinds), _named("task", run.kinds)
    )


def _engine_messages(run: Run) -> pl.DataFrame:
    return run.engine_messages.with_columns(_PROTOCOLS, *_posting(run))


#: How to create each table; creating one costs a copy of it.
EVENT_TABLES: dict[str, Callable[[Run], pl.DataFrame]] = {
    "steps": steps_of_run,
    "tasks": _tasks,
    "messages": _messages,
    "message_sides": _message_sides,
    "engine_messages": _engine_messages,
    "calls": _calls,
    "communicators": lambda run: run.communicators,
    "shares": lambda run: run.shares,
    "collective_layouts": lambda run: run.collective_layouts,
    "recorder_costs": lambda run: run.recorder_costs,
    "background_times": lambda run: run.background_times,
    "spans": lambda run: run.spans.with_columns(_named("kind", run.span_kinds)),
    "poll_gaps": lambda run: run.gaps,
    "counters": lambda run: run.counters.with_columns(_named("kind", run.counter_kinds)),
    "samples": _samples,
    "counts": _counts,
    "graph_tasks": lambda run: run.graph_tasks.with_columns(_kinds(run), _ROLES),
    "graph_dependencies": lambda run: run.dependencies,
    "graph_runs": lambda run: run.graph_runs,
}
