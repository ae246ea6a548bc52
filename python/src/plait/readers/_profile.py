# SPDX-License-Identifier: Apache-2.0
"""The sums of a profile, and the events of one of its windows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._errors import PlaitError
from plait._labels import label
from plait._schema import SCHEMA
from plait.measures.messages import unmatched_messages
from plait.readers._clocks import ClockMap
from plait.readers._frames import Renumber, event_columns, frame
from plait.readers._rank_file import RankFile

Mask = npt.NDArray[np.bool_]
_BINS_IN_RECORD = 12


def sum_table(file: RankFile, name: str, clock: ClockMap, renumber: Renumber) -> pl.DataFrame:
    """The sums of a rank with their durations, which are in the two records behind each. `name`: of the
    sums' record, "sum" or "engine_sum"."""
    found, times = file[name], file["sum_times"]
    bins = np.zeros((found.size, events.TIME_BINS), dtype=np.int64)
    for half in range(events.TIME_BINS // _BINS_IN_RECORD):
        at = np.searchsorted(times.where, found.where + 1 + half)
        at = np.minimum(at, max(0, times.size - 1))
        if times.size:
            known = times.where[at] == found.where + 1 + half
            rows = np.where(known[:, None], times["times"][at], 0)
            bins[:, half * _BINS_IN_RECORD : (half + 1) * _BINS_IN_RECORD] = rows
    columns = event_columns(file, SCHEMA[name], clock, renumber)
    columns |= {column: bins[:, index] for index, column in enumerate(events.BIN_COLUMNS)}
    return frame(columns, events.SUMS if name == "sum" else events.ENGINE_SUMS)


def choose_part(
    whole: dict[str, pl.DataFrame],
    by_order: Mask,
    window: int | None,
    error_ns: int,
    notices: list[str],
) -> Mask:
    """Leaves either the sums of a profile or the events of one window in the tables; other runs as they
    are. Returns what is left of `by_order`."""
    if not whole["sums"].height and not whole["engine_sums"].height:
        if window is not None:
            raise PlaitError(
                "this run is no profile and has no windows; leave out --window, or record with "
                "`plait record --profile --window LENGTH/PERIOD`, or `plait run` with the same"
            )
        return by_order
    whole["windows"] = _windows(whole)
    if window is None:
        return _only_sums(whole, by_order)
    by_order = _only_window(whole, by_order, window)
    return _trim(whole, by_order, error_ns, notices)


def name_folded(whole: dict[str, pl.DataFrame], functions: tuple[str, ...]) -> tuple[str, ...]:
    """Gives the sums that have lost their function a name; returns the functions with it."""
    lost = pl.col("function") < 0
    if not whole["sums"].filter(lost).height:
        return functions
    number = pl.when(lost).then(len(functions)).otherwise("function").cast(pl.Int32)
    whole["sums"] = whole["sums"].with_columns(number.alias("function"))
    return (*functions, "functions folded together")


def with_both_sides(messages: pl.DataFrame) -> pl.DataFrame:
    """Without those whose other side is before or after the window."""
    lonely = unmatched_messages(messages.with_row_index("row"))
    return messages if not lonely.height else messages[_others(messages.height, lonely["row"])]


def _others(count: int, rows: pl.Series) -> npt.NDArray[np.int64]:
    kept = np.ones(count, dtype=np.bool_)
    kept[rows.to_numpy()] = False
    return np.flatnonzero(kept)


def _windows(whole: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Each window of each rank once. Of those that were open when the rank ended, the end is that of its
    last event."""
    last = whole["profile_states"].group_by("rank").agg(pl.col("last_ns").max())
    known = pl.col("end_ns") > pl.col("start_ns")
    found = (
        whole["windows"]
        .group_by("rank", "number")
        .agg(pl.col("start_ns").min(), pl.col("end_ns").filter(known).max())
        .join(last, on="rank", how="left")
        .with_columns(pl.min_horizontal(pl.coalesce("end_ns", "last_ns"), "last_ns").alias("end_ns"))
        .filter(known)
    )
    return found.select(events.WINDOWS.keys()).cast(events.WINDOWS).sort("number", "rank")  # type: ignore[arg-type]


def _only_sums(whole: dict[str, pl.DataFrame], by_order: Mask) -> Mask:
    calls, messages = whole["calls"], whole["messages"]
    whole["calls"] = calls.filter(pl.col("class") == events.CALL_BEGINS_OR_ENDS)
    kept = (messages["unfinished"] & messages["received"]).to_numpy()
    whole["messages"] = messages.filter(kept)
    for name in ("shares", "collective_layouts", "spans", "tasks", "gaps", "counters", "graph_runs"):
        whole[name] = whole[name].clear()
    left: Mask = by_order[kept]
    return left


def _only_window(whole: dict[str, pl.DataFrame], by_order: Mask, window: int) -> Mask:
    windows = whole["windows"]
    bounds = windows.filter(pl.col("number") == window).select(
        "rank", pl.col("start_ns").alias("low"), pl.col("end_ns").alias("high")
    )
    if not bounds.height:
        raise PlaitError(_no_window(window, windows["number"].unique().sort().to_list()))

    def meanwhile(name: str, start: str, end: str) -> Mask:
        table = (
            whole[name]
            .select("rank", pl.col(start).alias("first_ns"), pl.col(end).alias("last_ns"))
            .join(bounds, on="rank", how="left", maintain_order="left")
        )
        inside = (pl.col("last_ns") > pl.col("low")) & (pl.col("first_ns") < pl.col("high"))
        found: Mask = table.select(inside.fill_null(value=False)).to_series().to_numpy()
        return found

    for name in ("calls", "spans", "tasks", "gaps"):
        inside = whole[name].filter(meanwhile(name, "start_ns", "end_ns"))
        whole[name] = _cut(inside, bounds, "start_ns", "end_ns")
    early = pl.min_horizontal("ready_ns", "start_ns")
    whole["tasks"] = whole["tasks"].with_columns(early.alias("ready_ns"))
    whole["counters"] = whole["counters"].filter(meanwhile("counters", "time_ns", "time_ns"))
    calls = whole["calls"]
    begun = (
        whole["messages"]
        .join(bounds, on="rank", how="left", maintain_order="left")
        .select(
            ((pl.col("posted_ns") >= pl.col("low")) & (pl.col("posted_ns") < pl.col("high"))).fill_null(
                value=False
            )
            & ~pl.col("unfinished")
        )
    )
    kept = begun.to_series().to_numpy()
    times = ("posted_ns", "handed_ns", "arrived_ns", "completed_ns")
    whole["messages"] = _cut(whole["messages"].filter(kept), bounds, *times)
    for name in ("shares", "collective_layouts"):
        whole[name] = whole[name].join(calls.select("rank", "number"), on=["rank", "number"], how="semi")
    for name in ("sums", "engine_sums", "profile_states"):
        whole[name] = whole[name].clear()
    left: Mask = by_order[kept]
    return left


def _cut(table: pl.DataFrame, bounds: pl.DataFrame, *times: str) -> pl.DataFrame:
    """Times outside of the rank's window are moved to its edge."""
    return (
        table.join(bounds, on="rank", how="left", maintain_order="left")
        .with_columns(pl.col(*times).clip(pl.col("low"), pl.col("high")))
        .drop("low", "high")
    )


def _no_window(window: int, numbers: list[int]) -> str:
    if not numbers:
        return (
            "this profile has no windows: it has sums only; record again with "
            "`plait record --profile --window LENGTH/PERIOD`"
        )
    if len(numbers) == 1:
        return f"there is no window {window} in this run; it has window {numbers[0]}"
    return f"there is no window {window} in this run; it has windows {numbers[0]} to {numbers[-1]}"


# --- messages at the edges of a window -----------------------------------------------------------------


def _trim(whole: dict[str, pl.DataFrame], by_order: Mask, error_ns: int, notices: list[str]) -> Mask:
    """Leaves out the first messages of a window whose other side is before it, so that the n-th sent is
    the n-th received.

    Of the messages of one source, destination, communicator and tag, both sides are a stretch of the
    same sequence, but not from the same message on. No message is received before it was sent: the
    receives are paired with the latest sends for which that holds.
    """
    messages = whole["messages"]
    late = np.zeros(messages.height, dtype=np.bool_)
    if by_order.any():  # those of plait's engine have numbers of their own
        late[by_order] = _first_without_other(messages.filter(by_order), error_ns)
    if late.any():
        whole["messages"] = messages.filter(~late)
        notices.append(
            f"{int(late.sum()):,} sides of messages belong to others before the window and are left "
            "out; which do is inferred from their times"
        )
    left: Mask = by_order[~late]
    return left


def _first_without_other(messages: pl.DataFrame, error_ns: int) -> Mask:
    kind = label(
        *(messages[name].to_numpy() for name in ("source", "destination", "communicator", "tag"))
    )
    table = messages.select("received", "number", "posted_ns", "completed_ns").with_columns(
        pl.Series("kind", kind), pl.int_range(pl.len()).alias("row")
    )
    ordered = table.sort("kind", "number").with_columns(
        pl.int_range(pl.len()).over("kind", "received").alias("place")
    )
    sends, receives = ordered.filter(~pl.col("received")), ordered.filter("received")
    counted = sends.group_by("kind").agg(pl.len().cast(pl.Int64).alias("sends"))
    # The number of sends that were posted before each receive was complete.
    by_time = (
        sends.select("kind", "posted_ns")
        .sort("kind", "posted_ns")
        .with_columns((pl.int_range(pl.len()).over("kind") + 1).alias("before"))
    )
    limit = pl.col("completed_ns") + error_ns
    met = (
        receives.with_columns(limit.alias("limit_ns"))
        .sort("limit_ns")
        .join_asof(
            by_time.sort("posted_ns"),
            left_on="limit_ns",
            right_on="posted_ns",
            by="kind",
            check_sortedness=False,
        )
    )
    met = met.with_columns(pl.col("before").fill_null(0)).join(counted, on="kind")
    shift = (
        met.filter(pl.col("before") < pl.col("sends"))
        .group_by("kind")
        .agg((pl.col("before") - pl.col("place") - 1).min().alias("shift"))
    )
    leading = ordered.join(shift, on="kind").filter(
        pl.when("received").then(-pl.col("shift")).otherwise("shift") > pl.col("place")
    )
    late = np.zeros(messages.height, dtype=np.bool_)
    late[leading["row"].to_numpy()] = True
    return late
