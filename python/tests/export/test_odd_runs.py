# SPDX-License-Identifier: Apache-2.0
"""Runs that lack something, or have more than most: every format takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from halo_run import Halo

from plait import _events as events
from plait import match_messages, read_run, write_perfetto
from plait._events import Run
from plait.export.parquet import write_parquet
from plait.export.swift import write_swift
from plait.readers.swift import read_swift
from plait.writers.plait import write_run


def _only(run: Run, *ranks: int) -> Run:
    own = pl.col("rank").is_in(ranks)
    calls, messages = run.calls.filter(own), run.messages.filter(own)
    return replace(run, ranks_present=ranks, calls=calls, messages=messages)


def _in_communicator(run: Run, number: int, *members: int) -> Run:
    is_world = pl.col("communicator") == 0
    moved = pl.when(is_world).then(number).otherwise(pl.col("communicator")).cast(pl.Int64)
    rows = {"communicator": [number] * len(members), "index": range(len(members)), "rank": members}
    return replace(
        run,
        calls=run.calls.with_columns(moved.alias("communicator")),
        messages=run.messages.with_columns(moved.alias("communicator")),
        communicators=pl.DataFrame(rows, schema=dict(events.COMMUNICATORS)),
    )


def _messages(run: Run, *changes: pl.Expr) -> Run:
    return replace(run, messages=run.messages.with_columns(*changes))


ODD: dict[str, Callable[[Run], Run]] = {
    "files of two ranks are missing": lambda run: _only(run, 0, 2),
    "rank 0 is missing": lambda run: _only(run, 1, 2, 3),
    "messages never ended": lambda run: _messages(
        run, (pl.int_range(pl.len()) % 3 == 0).alias("unfinished")
    ),
    "no calls": lambda run: replace(run, calls=run.calls.clear()),
    "no messages": lambda run: replace(run, messages=run.messages.clear()),
    "sends only": lambda run: replace(run, messages=run.messages.filter(~pl.col("received"))),
    "a thread without number": lambda run: replace(
        run, calls=run.calls.with_columns(pl.lit(events.NO_WORKER, dtype=pl.Int32()).alias("worker"))
    ),
    "a communicator in another order": lambda run: _in_communicator(run, 7, 3, 2, 1, 0),
    "a communicator without a description": lambda run: _in_communicator(run, 7),
    "calls that overlap": lambda run: replace(
        run, calls=pl.concat([run.calls, run.calls.with_columns(pl.col("end_ns") + 1500)])
    ),
    "tags of 64 bits": lambda run: _messages(run, pl.lit(2**64 - 1, dtype=pl.UInt64()).alias("tag")),
    "one call": lambda run: replace(run, messages=run.messages.clear(), calls=run.calls.head(1)),
}


@pytest.mark.parametrize("odd", ODD)
def test_every_format_takes_it(odd: str, tmp_path: Path) -> None:
    write_run(ODD[odd](Halo(steps=2).run()), tmp_path / "run")
    run = read_run(tmp_path / "run")
    write_perfetto(run, match_messages(run.messages), tmp_path / "trace")
    assert (tmp_path / "trace").stat().st_size > 0
    assert write_parquet(run, tmp_path / "tables")
    write_swift(run, tmp_path / "logs")
    log = read_swift([tmp_path / "logs"])
    assert log.requests.height == run.messages.height
    assert log.notices == ()
    otf2 = pytest.importorskip("otf2", reason="no Python package otf2: pip install otf2")
    pytest.importorskip("plait.export.otf2").write_otf2(run, tmp_path / "otf2")
    depth: dict[str, int] = {}
    with otf2.reader.open(str(tmp_path / "otf2" / "traces.otf2")) as trace:
        for location, event in trace.events:
            step = {"Enter": 1, "Leave": -1}.get(type(event).__name__, 0)
            depth[location.name] = depth.get(location.name, 0) + step
            assert depth[location.name] >= 0
    assert set(depth.values()) <= {0}
