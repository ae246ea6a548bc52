# SPDX-License-Identifier: Apache-2.0
"""The flows of one rank: their tasks and messages in order of submission, and what wrote the data that a
message carries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._schema import SCHEMA
from plait.readers._clocks import ClockMap
from plait.readers._frames import list_entries
from plait.readers._rank_file import RankFile

#: How a place is accessed: the lowest two bits of an entry.
_READS, _WRITES, _ANY_ORDER = 0, 1, 2


def flow_tables(file: RankFile, clock: ClockMap, tasks: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Nothing where the rank has no flows. `tasks`: of the rank."""
    found = file["flow_task"]
    if not found.size:
        return {}
    ran = tasks.group_by("id").agg(pl.col("end_ns").max(), pl.col("step").first())
    names = ("id", "role", "communicator", "tag")
    # A task with many accesses has several records.
    table = (
        pl.DataFrame({name: found[name] for name in names})
        .with_columns(
            pl.lit(file.rank).alias("rank"), pl.Series("submitted_ns", clock.apply(found["submitted"]))
        )
        .unique("id", keep="first")
        .join(ran.select("id", "step"), on="id", how="left")
        .join(_writers(file, ran), on="id", how="left")
        .sort("id")
        .with_columns(
            pl.col("step").forward_fill().backward_fill().fill_null(0), pl.col("written_by").fill_null(0)
        )
    )
    return {"flow_tasks": table.select(pl.col(n).cast(t) for n, t in events.FLOW_TASKS.items())}


def _writers(file: RankFile, ran: pl.DataFrame) -> pl.DataFrame:
    """Of each message whose data a task or a message wrote: id, written_by.

    Of tasks that may write in any order, the one counts that ended last.
    """
    found = file["flow_task"]
    row, _, entries = list_entries(file, SCHEMA["flow_task"])
    how = (entries & 3).clip(max=_ANY_ORDER)
    columns = {"id": found["id"][row], "role": found["role"][row], "place": entries >> 2, "how": how}
    columns["flow"] = _flows(file)[row]
    place = ["flow", "place"]
    in_any_order = pl.col("how") == _ANY_ORDER
    continues = in_any_order & in_any_order.shift(1).over(place).fill_null(False)
    writes = pl.col("how") != _READS
    accesses = (
        pl.DataFrame(columns)
        .sort(*place, "id", maintain_order=True)
        .with_columns((writes & ~continues).cast(pl.Int64).cum_sum().over(place).alias("version"))
    )
    writers = (
        accesses.filter(writes)
        .join(ran, on="id", how="left")
        .sort("end_ns", nulls_last=False)
        .unique([*place, "version"], keep="last", maintain_order=True)
        .select(*place, "version", pl.col("id").alias("written_by"))
    )
    # What writes sees the version before its own.
    seen = (pl.col("version") - writes.cast(pl.Int64)).alias("version")
    return (
        accesses.filter(pl.col("role") != events.ROLE_TASK)
        .unique("id", keep="first")
        .select("id", *place, seen)
        .join(writers, on=[*place, "version"])
        .select("id", "written_by")
    )


def _flows(file: RankFile) -> npt.NDArray[np.uint32]:
    """The flow of each record, which the numbers of its places belong to.

    In runs before tasks of flows had a communicator all records are of one.
    """
    found = file["flow_task"]
    communicators = found["communicator"]
    is_named = bool(communicators[found["role"] == events.ROLE_TASK].any())
    return communicators if is_named else np.zeros_like(communicators)
