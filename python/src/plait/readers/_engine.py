# SPDX-License-Identifier: Apache-2.0
"""What plait's engine did with the messages of a program that was recorded while it was accelerated.

Its files are in the run's folder `engine` (docs/reference/trace-format.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._labels import Ints, label
from plait._schema import Schema
from plait.readers._rank_file import RankFile, UnusableFileError, read_rank_file

#: What determines that two records can be of one message: of its side, in the program and in the engine.
_SAME = ("received", "source", "destination", "tag", "size_bytes")

#: More is no difference of clocks, but another message.
_CLOCKS_DIFFER_MAX_NS = 1_000


def read_engine_file(
    folder: Path, file: RankFile, schema: Schema, notices: list[str]
) -> RankFile | None:
    """The engine's messages and poll gaps on the rank of `file`, with times as in `file`; None: none."""
    path = folder / "engine" / f"rank-{file.rank:04}.plt"
    if not path.is_file():
        return None
    try:
        engine = read_rank_file(path, schema)
    except UnusableFileError as error:
        notices.append(f"engine/{path.name} {error}; what the engine did on that rank is not shown")
        return None
    if engine.rank != file.rank:
        notices.append(f"engine/{path.name} claims to be rank {engine.rank}; it was left out")
        return None
    notices.extend(f"engine/{notice}" for notice in engine.notices)
    return engine


def join_engine(
    messages: pl.DataFrame, engine: pl.DataFrame, calls: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A rank's messages, with what only the engine knows of them; and those of the engine.

    The program's messages get the protocol and the times at which they were handed to the network (or
    matched) and arrived. The engine's get the `number`, `function` and `site` of the call that posted
    them; those that no call of the program posted, such as the blocks of collectives, have number 0.
    What was posted before MPI_Init or after the program's last call before MPI_Finalize is the
    recorder's, and left out.
    """
    engine = engine.filter(_while_recorded(calls))
    row = _posted_by(messages, engine)
    is_known = row >= 0
    row = row[is_known]

    def filled(table: pl.DataFrame, name: str, at: Ints, values: npt.NDArray[Any]) -> pl.Series:
        column = table[name].to_numpy().copy()
        column[at] = values
        return pl.Series(name, column)

    known = engine.filter(pl.Series(is_known))
    at = np.flatnonzero(is_known)
    engine = engine.with_columns(
        filled(engine, name, at, messages[name].to_numpy()[row])
        for name in ("number", "function", "site")
    )
    begin, end = (messages[name].to_numpy()[row] for name in ("posted_ns", "completed_ns"))
    handed = np.clip(known["handed_ns"].to_numpy(), begin, end)
    messages = messages.with_columns(
        filled(messages, "protocol", row, known["protocol"].to_numpy()),
        filled(messages, "handed_ns", row, handed),
        filled(messages, "arrived_ns", row, np.clip(known["arrived_ns"].to_numpy(), handed, end)),
    )
    return messages, engine


def _while_recorded(calls: pl.DataFrame) -> pl.Expr:
    """Whether something was posted while the program's own calls were recorded."""
    begin, end = 0, 0
    is_end = pl.col("class") == events.CALL_BEGINS_OR_ENDS
    if calls.height:
        begin = calls.filter(is_end).select(pl.col("end_ns").min().fill_null(0)).item()
        end = calls.filter(~is_end).select(pl.col("end_ns").max().fill_null(0)).item()
    return pl.col("posted_ns").is_between(begin, end)


def _posted_by(messages: pl.DataFrame, engine: pl.DataFrame) -> Ints:
    """Of each of the engine's messages: the row of the program's that it is; -1: none.

    A call posts a message to the engine before it returns. So of those of the program that could be
    this one, it is the last that was posted before it; of a call that posts several alike, each is one.
    """
    found = np.full(engine.height, -1, dtype=np.int64)
    if not messages.height or not engine.height:
        return found
    both = pl.concat(
        [part.select(pl.col(*_SAME).cast(pl.Int64), "posted_ns") for part in (messages, engine)]
    )
    kind = label(*(both[name].to_numpy() for name in _SAME))
    posted = both["posted_ns"].to_numpy().copy()
    posted[messages.height :] += _behind(kind, posted, messages.height)
    time = pl.Series(posted).rank("dense").to_numpy().astype(np.int64)
    key = kind << 32 | time
    own = np.lexsort((messages["number"].to_numpy(), key[: messages.height]))
    own_key = key[: messages.height][own]
    order = np.argsort(key[messages.height :], kind="stable")
    wanted = key[messages.height :][order]
    last = np.searchsorted(own_key, wanted, side="right") - 1
    # Several of the engine's that have the same last one: the k-th from the end is the k-th before it.
    group = np.r_[True, (np.diff(last) != 0) | (np.diff(wanted >> 32) != 0)]
    first_of_next = np.r_[np.flatnonzero(group)[1:], last.size]
    place = last - (first_of_next[np.cumsum(group) - 1] - 1 - np.arange(last.size))
    before = np.r_[-1, last[first_of_next[:-1] - 1]][np.cumsum(group) - 1]
    fits = (place >= 0) & (place > before)
    place = np.maximum(place, 0)
    fits &= own_key[place] >> 32 == wanted >> 32
    fits &= messages["completed_ns"].to_numpy()[own[place]] >= engine["posted_ns"].to_numpy()[order]
    found[order[fits]] = own[place[fits]]
    return found


def _behind(kind: Ints, posted: Ints, own: int) -> int:
    """How far the engine's clock is behind the recorder's: its messages are posted after those of the
    program. Each clock reads the system's once, which is right to some ten nanoseconds.

    Found where as many messages of a kind are in both; `own`: how many are the program's.
    """
    counts = [np.bincount(part, minlength=int(kind.max()) + 1) for part in (kind[:own], kind[own:])]
    is_equal = (counts[0] == counts[1])[kind]
    order = np.lexsort((posted, kind))
    theirs, engines = (order[is_equal[order] & part[order]] for part in _halves(kind.size, own))
    late = posted[engines] - posted[theirs]
    late = late[late > -_CLOCKS_DIFFER_MAX_NS]
    return max(0, -int(late.min())) if late.size else 0


def _halves(size: int, own: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    is_own = np.arange(size) < own
    return is_own, ~is_own
