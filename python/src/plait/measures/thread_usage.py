# SPDX-License-Identifier: Apache-2.0
"""How the kernel let threads run: processor time, waiting for a core, involuntary switches."""

from __future__ import annotations

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._units import format_count, format_share, format_time

_COUNTERS = {
    "processor time": "running_ns",
    "waiting for a core": "waiting_ns",
    "involuntary switches": "switches",
    "cores allowed": "cores",
}
#: Shares of the time above which the cores are named first.
_WAITING_WORTH = 0.02
_ASLEEP_WORTH = 0.05


def thread_usage(run: Run) -> pl.DataFrame:
    """A row for each thread that called: rank, worker, start_ns, length_ns, running_ns,
    waiting_ns (ready to run, while others had the cores), switches (involuntary), cores (on which
    it may run).
    Recordings before 0.2.0 have none."""
    names = dict(enumerate(run.counter_kinds))
    counter = pl.col("counter").cast(pl.Int64).replace_strict(names, default="", return_dtype=pl.String)
    found = run.counts.filter((pl.col("region") < 0) & (pl.col("task") < 0)).with_columns(counter)
    return (
        found.group_by("rank", "worker", "start_ns")
        .agg(
            (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("length_ns"),
            *(
                pl.col("value").filter(pl.col("counter") == name).sum().cast(pl.Int64).alias(column)
                for name, column in _COUNTERS.items()
            ),
        )
        .sort("rank", "worker", "start_ns")
    )


def asleep_outside(run: Run) -> pl.DataFrame:
    """rank, asleep_ns: for how long its threads at least slept outside of calls, waiting for other
    threads or for files. Sleep in calls is not known: as far as threads slept, they did so in calls
    first."""
    usage = thread_usage(run).with_columns(
        (pl.col("length_ns") - pl.col("running_ns") - pl.col("waiting_ns")).clip(0).alias("asleep_ns")
    )
    calls = run.calls.filter(pl.col("class") != events.CALL_BEGUN_COLLECTIVE)
    inside = calls.group_by("rank", "worker").agg(
        (pl.col("end_ns") - pl.col("start_ns")).sum().alias("in_calls_ns")
    )
    known = (
        usage.filter(pl.col("running_ns") > 0).group_by("rank", "worker").agg(pl.col("asleep_ns").sum())
    )
    return (
        known.join(inside, on=["rank", "worker"], how="left")
        .with_columns((pl.col("asleep_ns") - pl.col("in_calls_ns").fill_null(0)).clip(0))
        .group_by("rank")
        .agg(pl.col("asleep_ns").sum())
        .sort("rank")
    )


def find_core_trouble(run: Run) -> list[str]:
    """Sentences on more threads than cores, and on sleep that the calls do not show. The first
    of these comes before all else: times of threads that have no core are not those of the program."""
    usage = thread_usage(run)
    whole = int(usage["length_ns"].sum())
    if not whole:
        return []
    return [*_waiting(run, usage, whole), *_asleep(run, whole)]


def _waiting(run: Run, usage: pl.DataFrame, whole: int) -> list[str]:
    waiting = int(usage["waiting_ns"].sum())
    if waiting < _WAITING_WORTH * whole:
        return []
    worst = usage.sort("waiting_ns", descending=True).row(0, named=True)
    cores = int(usage["cores"].to_numpy().max())
    text = (
        f"More threads than cores: threads were ready to run but had no core for "
        f"{format_share(waiting, whole)} of the time (rank {worst['rank']} most, "
        f"{format_time(worst['waiting_ns'])}), and were interrupted for others "
        f"{format_count(int(usage['switches'].sum()), 'time')}"
    )
    most = _most_ranks_of_a_host(run)
    if cores and most > 1:
        text += f". {most} ranks share a host, and each may run on {format_count(cores, 'core')} of it"
    return [
        f"{text}. All times below contain that; give each thread a core of its own first, with fewer "
        "ranks or threads, or other binding options of the launcher"
    ]


def _most_ranks_of_a_host(run: Run) -> int:
    hosts = run.meta.get("hosts")
    names = [str(host) for host in hosts] if isinstance(hosts, list) else []
    return max((names.count(name) for name in set(names)), default=0)


def _asleep(run: Run, whole: int) -> list[str]:
    asleep = asleep_outside(run)
    total = int(asleep["asleep_ns"].sum())
    if total < _ASLEEP_WORTH * whole:
        return []
    rank, most = asleep.sort("asleep_ns", descending=True).row(0)
    return [
        f"Threads slept outside of calls for at least {format_share(total, whole)} of the time "
        f"(rank {rank} most, {format_time(most)}): they waited for other threads of their rank, or for "
        "files. That is no computing of theirs"
    ]
