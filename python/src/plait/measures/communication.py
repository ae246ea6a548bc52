# SPDX-License-Identifier: Apache-2.0
"""All measures of the calls of a program that was recorded from outside, and of who gave how much to
whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from plait import _events as events
from plait._allocator import return_memory
from plait._events import Run
from plait.measures import profile
from plait.measures.balance import Balance, balance_over_time
from plait.measures.calls import call_times, calls_within, lane_time
from plait.measures.collective_times import collective_operations
from plait.measures.message_sides import message_sides
from plait.measures.overlap import (
    Link,
    fit_link,
    message_overlap,
    overlap_times,
    soonest_ns,
    stalled_calls,
)
from plait.measures.run_path import call_causes
from plait.measures.savings import Savings, savings
from plait.measures.traffic import collective_matrix, message_matrix, size_histogram
from plait.measures.wait_states import begun_collectives, meetings, wait_states, wait_times

#: Bins of the balance over time.
BINS = 120


@dataclass(frozen=True)
class CallMeasures:
    """Empty tables where a run has no calls. Names of functions and sites: `Run.functions`,
    `Run.sites`."""

    window_ns: tuple[int, int]  # parallel_window
    whole_ns: int  # lane_time: what shares are of
    by_function: pl.DataFrame  # call_times, each
    by_site: pl.DataFrame  # by function and site
    by_class: pl.DataFrame
    by_rank: pl.DataFrame
    by_rank_and_class: pl.DataFrame
    waits: pl.DataFrame  # wait_states: one row for each call that lost time
    waits_by_kind: pl.DataFrame  # wait_times, each
    waits_by_rank: pl.DataFrame  # by rank and kind
    waits_by_site: pl.DataFrame  # by function, site and kind
    waits_by_peer: pl.DataFrame  # by the rank that came late
    stalled: pl.DataFrame  # stalled_calls: one row for each call that waited for data ready earlier
    stalled_by_function: pl.DataFrame  # function, stalled_ns
    stalled_by_site: pl.DataFrame  # function, site, stalled_ns
    overlap_by_rank: pl.DataFrame  # overlap_times
    link: Link | None
    savings: Savings
    collectives: pl.DataFrame  # collective_operations
    #: message_sides, which take much memory: only where some messages have non-contiguous data.
    sides: pl.DataFrame
    causes: pl.DataFrame  # call_causes
    is_of_sums: bool = False  # of a profile: of what waits for whom nothing is known


@dataclass(frozen=True)
class TrafficMeasures:
    """Of any run."""

    matrix: pl.DataFrame  # message_matrix
    collectives: pl.DataFrame  # collective_matrix
    sizes: pl.DataFrame  # size_histogram
    balance: Balance  # balance_over_time


def measure_calls(run: Run, matched: pl.DataFrame, window_ns: tuple[int, int]) -> CallMeasures:
    """`matched`: `match_messages`; `window_ns`: `parallel_window`."""
    if run.engines.height:
        of_calls = ~events.IS_OF_ENGINE
        run = replace(run, messages=run.messages.filter(of_calls))
        matched = matched.filter(of_calls)
    calls = calls_within(run, window_ns)
    whole_ns = lane_time(profile.lanes(run) if run.is_profile else calls, window_ns)
    times = (
        profile.profile_call_times(run, calls, whole_ns)
        if run.is_profile
        else partial(call_times, calls, whole_ns)
    )
    sides = message_sides(calls, matched, run.clock_error_ns)
    return_memory()
    met = meetings(run, calls)
    begun = begun_collectives(met, calls)
    waits = wait_states(run, calls, sides, met, begun)
    return_memory()
    link = fit_link(sides, matched.height)
    soonest = soonest_ns(matched, link)
    stalled = stalled_calls(calls, sides, begun, soonest, link)
    overlap_by_rank = overlap_times(message_overlap(sides, soonest, link), "rank")
    causes = call_causes(calls, sides, met, begun)
    if not matched["non_contiguous"].any():
        sides = sides.clear()
    sum_stalled = pl.col("stalled_ns").sum()
    return CallMeasures(
        window_ns=window_ns,
        whole_ns=whole_ns,
        by_function=times("function"),
        by_site=times("function", "site"),
        by_class=times("class"),
        by_rank=times("rank"),
        by_rank_and_class=times("rank", "class"),
        waits=waits,
        waits_by_kind=wait_times(waits, "kind"),
        waits_by_rank=wait_times(waits, "rank", "kind"),
        waits_by_site=wait_times(waits, "function", "site", "kind"),
        waits_by_peer=wait_times(waits, "peer"),
        stalled=stalled,
        stalled_by_function=stalled.group_by("function").agg(sum_stalled).sort("function"),
        stalled_by_site=stalled.group_by("function", "site").agg(sum_stalled).sort("function", "site"),
        overlap_by_rank=overlap_by_rank,
        link=link,
        savings=savings(run, calls, waits, stalled, window_ns),
        collectives=collective_operations(run, met, calls),
        sides=sides,
        causes=causes,
        is_of_sums=run.is_profile,
    )


def measure_traffic(run: Run, window_ns: tuple[int, int]) -> TrafficMeasures:
    """`window_ns`: the time over which the balance is shown."""
    if run.is_profile:
        return _profile_traffic(run, window_ns)
    return TrafficMeasures(
        matrix=message_matrix(run),
        collectives=collective_matrix(run),
        sizes=size_histogram(run),
        balance=balance_over_time(run, window_ns, BINS),
    )


def _profile_traffic(run: Run, window_ns: tuple[int, int]) -> TrafficMeasures:
    """With the balance of the whole time: sums have no times."""
    calls = calls_within(run, window_ns)
    in_calls = profile.profile_call_times(run, calls, 1)("rank")
    length = window_ns[1] - window_ns[0]
    computing = profile.computing_by_rank(run, in_calls, length)[:, None]
    return TrafficMeasures(
        matrix=profile.profile_matrix(run),
        collectives=collective_matrix(run),
        sizes=size_histogram(run),
        balance=Balance(
            np.array([window_ns[0], window_ns[1]], dtype=np.float64), run.ranks_present, computing
        ),
    )
