# SPDX-License-Identifier: Apache-2.0
"""The messages of flows as tasks that send and receive, so that a path can go through them.

A flow records what it submits (`Run.flow_tasks`), and the network each message; no task record joins
the two. A message belongs to the record of its rank, communicator and tag that was submitted last before
the message was posted, as the value of a version may be sent again.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from plait import _events as events
from plait._events import Run

#: Names of the kinds of the rows added.
KINDS = ("send of a flow", "receive of a flow")


def with_flow_messages(run: Run, matched: pl.DataFrame) -> Run:
    """The run, with a task for each end of each message of its flows, of the kinds KINDS.

    A receive has the id that tasks have as `released_by`. What wrote its data released a send; the
    receive of its rank released one that forwards a message. A send ends when its message was through.
    No time is before the first task of its step is ready.

    `matched`: `match_messages`. A run without messages of flows is returned as it is.
    """
    flows = run.flow_tasks.filter(pl.col("role") != events.ROLE_TASK)
    if not flows.height or not matched.height or not run.tasks.height:
        return run
    if run.engines.height:
        matched = matched.filter(events.IS_OF_ENGINE)
    known = matched.with_columns(pl.col("communicator") % events.ENGINE_COMMUNICATORS)
    known = _with_record(known, flows, events.ROLE_RECEIVE, "destination", "expected_ns")
    known = known.filter(pl.col("record").is_not_null())
    known = known.unique(["destination", "record"], keep="first", maintain_order=True)
    send_kind, last_task = len(run.kinds), int(run.tasks["id"].to_numpy().max())
    added = pl.concat([_sends(known, flows, send_kind, last_task), _receives(known, send_kind + 1)])
    whole = pl.concat([run.tasks, _within_steps(added, run.tasks)])
    return replace(run, tasks=whole, kinds=(*run.kinds, *KINDS))


def with_causes(run: Run) -> Run:
    """Of `with_flow_messages`, for paths: what no known record released is released by the task of its
    rank that ended last before.

    Of messages and tasks of flows: they waited for memory, for room in the flow's window, or for the
    thread that submits.
    """
    if not run.flow_tasks.height:
        return run
    whole = run.tasks
    messages = [number for number, name in enumerate(run.kinds) if name in KINDS]
    known = whole.select("rank", "id").unique().with_columns(pl.lit(True).alias("is_known"))
    of_flow = run.flow_tasks.select("rank", "id").unique().with_columns(pl.lit(True).alias("is_of_flow"))
    ends = run.tasks.filter(pl.col("role") == events.ROLE_TASK).select(
        "rank", "end_ns", pl.col("id").alias("ended_last")
    )
    is_without = (
        pl.col("is_known").is_null()
        & (pl.col("is_of_flow").is_not_null() | pl.col("kind").is_in(messages))
        & pl.col("ended_last").is_not_null()
    )
    tasks = (
        whole.join(known, left_on=["rank", "released_by"], right_on=["rank", "id"], how="left")
        .join(of_flow, on=["rank", "id"], how="left")
        .sort("ready_ns", maintain_order=True)
        .join_asof(
            ends.sort("end_ns").rename({"end_ns": "before_ns"}),
            left_on="ready_ns",
            right_on="before_ns",
            by="rank",
            check_sortedness=False,
        )
        .with_columns(
            pl.when(is_without).then("ended_last").otherwise("released_by").alias("released_by")
        )
        .select(whole.columns)
    )
    return replace(run, tasks=tasks)


def _with_record(
    messages: pl.DataFrame, flows: pl.DataFrame, role: int, rank: str, posted: str
) -> pl.DataFrame:
    """Adds of the record that a message belongs to on one side: record (its id), step, written_by; null
    where there is none."""
    key = ["communicator", "tag"]
    records = flows.filter(pl.col("role") == role).select(
        pl.col("rank").alias(rank), *key, "submitted_ns", "step", "written_by", record="id"
    )
    return messages.sort(posted, maintain_order=True).join_asof(
        records.sort("submitted_ns"),
        left_on=posted,
        right_on="submitted_ns",
        by=[rank, *key],
        check_sortedness=False,
    )


def _sends(received: pl.DataFrame, flows: pl.DataFrame, kind: int, last_task: int) -> pl.DataFrame:
    """Of `received`, what its receive belongs to is replaced by what its send does."""
    messages = received.rename({"step": "receive_step"}).drop("record", "written_by", "submitted_ns")
    found = _with_record(messages, flows, events.ROLE_SEND, "source", "sent_ns").drop("submitted_ns")
    # Ranks that forward a message have submitted its receive only.
    own = found.rename({"step": "send_step", "record": "sent", "written_by": "writer"})
    found = _with_record(own, flows, events.ROLE_RECEIVE, "source", "sent_ns")
    last = max(int(flows["id"].to_numpy().max()), last_task)
    through = pl.max_horizontal("sent_ns", pl.min_horizontal("left_ns", "arrived_ns"))
    return _rows(
        found.with_row_index("number"),
        rank=pl.col("source"),
        worker=pl.col("send_worker"),
        kind=pl.lit(kind),
        role=pl.lit(events.ROLE_SEND),
        object=_message_object("destination"),
        start_ns=pl.col("sent_ns"),
        end_ns=through,
        # A record may be of messages to several ranks; no task is released by a send.
        id=pl.col("number").cast(pl.UInt64) + pl.lit(last, pl.UInt64) + 1,
        released_by=pl.when(pl.col("sent").is_not_null()).then("writer").otherwise("record"),
        step=pl.coalesce("send_step", "step", "receive_step"),
    )


def _receives(received: pl.DataFrame, kind: int) -> pl.DataFrame:
    return _rows(
        received,
        rank=pl.col("destination"),
        worker=pl.col("receive_worker"),
        kind=pl.lit(kind),
        role=pl.lit(events.ROLE_RECEIVE),
        object=_message_object("source"),
        start_ns=pl.col("expected_ns"),
        end_ns=pl.col("received_ns"),
        id=pl.col("record"),
        released_by=pl.lit(0),
        step=pl.col("step"),
    )


def _message_object(peer: str) -> pl.Expr:
    return pl.col(peer).cast(pl.UInt64) * (1 << 32) + pl.col("sequence").cast(pl.UInt64)


def _rows(messages: pl.DataFrame, **columns: pl.Expr) -> pl.DataFrame:
    """Rows as of `Run.tasks`."""
    whole = {"ready_ns": columns["start_ns"], "place": pl.lit(0), **columns}
    return messages.select(
        whole[name].fill_null(0).cast(kind).alias(name) for name, kind in events.TASKS.items()
    )


def _within_steps(added: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """With times from when the first task of their step was ready; without those of steps with none."""
    first = pl.max_horizontal("start_ns", "first_ns")
    return (
        added.join(tasks.group_by("step").agg(pl.col("ready_ns").min().alias("first_ns")), on="step")
        .with_columns(
            first.alias("ready_ns"), first.alias("start_ns"), pl.max_horizontal("end_ns", first)
        )
        .drop("first_ns")
        .select(added.columns)
    )
