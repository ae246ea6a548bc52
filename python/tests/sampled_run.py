# SPDX-License-Identifier: Apache-2.0
"""A run of two ranks with samples of three threads, their call paths, and counts of counters."""

from __future__ import annotations

import polars as pl

from plait._events import CALLS, COUNTS, NO_WORKER, SAMPLES, SPANS, Run, Site

MAIN = Site("app+0x10", "main")
SOLVE = Site("app+0x20~01", "solve(int)", callers=(MAIN, Site("libc.so+0x1", "__libc_start_main")))
KERNEL = Site("app+0x30~02", None, start="app+0x30", callers=(SOLVE, *SOLVE.callers))
UNNAMED = Site("app+0x40~03")
MS = 1_000_000


def table(schema: dict[str, pl.DataType], **columns: list[int]) -> pl.DataFrame:
    count = len(next(iter(columns.values())))
    given = {name: columns.get(name, [0] * count) for name in schema}
    return pl.DataFrame(given).cast(dict(schema))  # type: ignore[arg-type]


def sampled_run(times: int = 40) -> Run:
    """`times`: samples of each thread, one a millisecond."""
    sites = [0, 1, 2, 3, -1]
    threads = [(0, 0, 0), (1, 0, 0), (1, NO_WORKER, 1)]
    rows = [
        (rank, worker, thread, MS * (number + 1) + 1000 * rank, sites[(number + rank) % 5])
        for rank, worker, thread in threads
        for number in range(times)
    ]
    rank, worker, thread, time, site = (list(column) for column in zip(*rows, strict=True))
    samples = table(
        SAMPLES,
        **{"rank": rank, "worker": worker, "thread": thread, "time_ns": time, "site": site},
        interval_ns=[MS] * len(rows),
    )
    calls = table(
        CALLS,
        rank=[0, 1] * times,
        start_ns=[MS * (number // 2 + 1) for number in range(2 * times)],
        end_ns=[MS * (number // 2 + 1) + MS // 4 for number in range(2 * times)],
        **{"class": [4] * (2 * times)},
    )
    spans = table(SPANS, rank=[0, 1], start_ns=[MS, MS], end_ns=[9 * MS, 8 * MS], kind=[0, 1])
    counts = table(
        COUNTS,
        rank=[0, 0, 1, 1],
        counter=[0, 1, 0, 0],
        region=[0, 0, 1, -1],
        task=[-1, -1, -1, -1],
        start_ns=[MS, MS, MS, MS // 2],
        end_ns=[9 * MS, 9 * MS, 8 * MS, 9 * MS],
        value=[12_000_000, 9_000_000, 7_000_000, 8_000_000],
    )
    return Run(
        meta={},
        ranks=2,
        ranks_present=(0, 1),
        samples=samples,
        calls=calls,
        spans=spans,
        counts=counts,
        functions=("MPI_Barrier",),
        span_kinds=("step", "inner"),
        counter_kinds=("cycles", "instructions"),
        sites=(MAIN, SOLVE, KERNEL, UNNAMED),
    )


#: What the samples of rank 0 lead to, from the outermost function.
PATHS = (
    ("main",),
    ("main", "solve"),
    ("main", "solve", "app+0x30"),
    ("app+0x40",),
    ("unknown code",),
)
