# SPDX-License-Identifier: Apache-2.0
"""Where the time of a program that was recorded from outside goes, and what would help, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plait import _events as events
from plait._events import Run
from plait._units import format_bytes, format_count, format_share, format_time
from plait.measures import wait_states
from plait.measures.balance import Balance
from plait.measures.communication import CallMeasures
from plait.measures.engine_messages import EngineMeasures, measure_engine
from plait.measures.savings import SMALL_BYTES

#: Shares of the time below this are not worth a sentence.
_WORTH = 0.01
#: Functions that the first sentence names.
_NAMED_MAX = 3
#: What MPI libraries take for each receive that a search passes, from `plait bench accelerate`.
_SEARCH_STEP_NS = 12
#: Shares of the rest below this are not worth a sentence.
_REST_WORTH = 0.05
#: What takes time in calls that move no messages, and what helps.
_REMEDIES = {
    events.CALL_SETS_UP: "is setting up communicators, types, windows or processes: doing it once, "
    "before the main loop, helps",
    events.CALL_FILE: "is reading and writing files: fewer and larger accesses, or collective "
    "ones, help",
}
#: Classes of calls that move no messages, and have no remedy above.
_NO_DATA = (
    events.CALL_OTHER,
    events.CALL_BEGINS_OR_ENDS,
)
_KIND_WORDS = {
    wait_states.LATE_SENDER: "for messages that had not been sent yet",
    wait_states.LATE_RECEIVER: "for receives that had not been posted yet",
    wait_states.BARRIER: "at barriers",
    wait_states.COLLECTIVE: "in collectives, for the last rank to come",
    wait_states.ROOT: "for the roots of broadcasts and scatters",
    wait_states.AT_ROOT: "as roots of reductions and gathers",
    wait_states.END: "in MPI_Finalize",
}


def find_call_losses(
    run: Run, calls: CallMeasures, balance: Balance, collectives: Sequence[str] = ()
) -> list[str]:
    """Sentences, the most important first; none for a run with no calls. Shares: of all ranks' time.

    `collectives`: those of `find_slow_collectives`, which come second.
    """
    if not calls.by_function.height or calls.whole_ns <= 0:
        return []
    in_calls = float(calls.by_function["share"].sum())
    found = [_where(run, calls, in_calls)]
    if run.is_profile:
        uneven = [_balance(balance)] if len(balance.ranks) > 1 and in_calls >= _WORTH else []
        return [*found, *uneven, *_rest(calls, in_calls)]
    engine = measure_engine(run)
    if in_calls < _WORTH:
        return found if engine is None else [*found, _accelerated(engine)]
    return [
        *found,
        *collectives,
        *_progression(run, calls),
        *_late(run, calls, balance),
        *_packing(run, calls),
        *_rest(calls, in_calls),
        _acceleration(run, calls) if engine is None else _accelerated(engine),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def _site(run: Run, calls: CallMeasures, function: int) -> str:
    """Where most of a function's time was spent, if that is known: " at halo (halo.c:12)"."""
    sites = calls.by_site.filter(pl.col("function") == function)
    if not sites.height or sites["site"].item(0) < 0:
        return ""
    place = run.sites[sites["site"].item(0)]
    if sites.height == 1:
        return f" at {place}"
    most = float(sites["time_ns"].item(0)) / max(1.0, float(sites["time_ns"].sum()))
    return f", {_percent(most)} of that at {place}"


def _where(run: Run, calls: CallMeasures, in_calls: float) -> str:
    top = calls.by_function.filter(pl.col("share") >= _WORTH).head(_NAMED_MAX)
    if in_calls < _WORTH or not top.height:
        return (
            f"Only {_percent(in_calls)} of the time is spent in calls of the communication library: "
            "there is nothing to gain there."
        )
    function, share = top.row(0, named=True)["function"], top["share"].item(0)
    first = f"{_percent(share)} of the time is spent in {run.functions[function]}"
    first += _site(run, calls, function)
    others = [
        f"{_percent(share)} in {run.functions[function]}"
        for function, share in top.select("function", "share").iter_rows()
    ][1:]
    if others:
        first += f"; {', '.join(others)}"
    return f"{first}. All calls together take {_percent(in_calls)}; the rest is computing."


def _progression(run: Run, calls: CallMeasures) -> list[str]:
    """For the function that waited longest for data that could have moved before."""
    stalled = calls.stalled_by_function.sort("stalled_ns", descending=True)
    whole = calls.savings.share("progression_ns")
    if whole < _WORTH:
        return []
    function, lost = stalled.row(0)
    time = int(calls.by_function.filter(pl.col("function") == function)["time_ns"].item())
    remedy = (
        "the engine with a core of its own (`plait accelerate --progress dedicated`)"
        if run.engine_messages.height
        else "background progression (`plait record --progress`)"
    )
    text = (
        f"{_percent(lost / max(1, time))} of the time in {run.functions[function]} is data that was "
        f"ready to move earlier: {remedy} would save "
        f"up to {_percent(lost / calls.whole_ns)} of the time"
    )
    if stalled.height > 1 and whole - lost / calls.whole_ns >= _WORTH:
        text += f", and up to {_percent(whole)} with all calls"
    possible, achieved = (
        int(calls.overlap_by_rank[name].sum()) for name in ("possible_ns", "achieved_ns")
    )
    if possible > 0:
        text += f"; {format_share(achieved, possible)} of what could overlap with computing did"
    return [f"{text}."]


def _late(run: Run, calls: CallMeasures, balance: Balance) -> list[str]:
    lost = int(calls.waits["lost_ns"].sum())
    if lost < _WORTH * calls.whole_ns:
        return []
    parts = [
        f"{_percent(time / calls.whole_ns)} {_KIND_WORDS[kind]}"
        for kind, time in calls.waits_by_kind.select("kind", "lost_ns").iter_rows()
        if time >= 0.1 * lost
    ]
    text = f"{_percent(lost / calls.whole_ns)} of the time was waiting for ranks that came late"
    text += f": {', '.join(parts)}" if len(parts) > 1 else f", {parts[0].partition('% ')[2]}"
    peer, caused = calls.waits_by_peer.select("peer", "lost_ns").row(0)
    if peer >= 0 and run.ranks > 2 and caused > 2 * lost / run.ranks:
        text += f". It was rank {peer} that came last in {format_share(caused, lost)} of it"
    worst = calls.waits_by_site.row(0, named=True)
    if worst["site"] >= 0 and worst["lost_ns"] >= 0.3 * lost:
        text += (
            f". Most was lost in {run.functions[worst['function']]} at {run.sites[worst['site']]} "
            f"({format_time(worst['lost_ns'])})"
        )
    return [f"{text}. {_balance(balance)}"]


def _balance(balance: Balance) -> str:
    computing = balance.computing_ns.sum(axis=1)
    uneven = balance.whole()
    if uneven < 0.02:
        return "Over the whole run all ranks computed alike: they came late in turns."
    most = balance.ranks[int(computing.argmax())]
    return (
        f"Rank {most} computed {1 + uneven:.2f} times the mean: with all alike, and at the same time, "
        "no rank would wait."
    )


def _packing(run: Run, calls: CallMeasures) -> list[str]:
    could = calls.savings.share("packing_ns")
    if could < _WORTH:
        return []
    return [
        f"{format_count(calls.savings.small_messages, 'message')} of up to {format_bytes(SMALL_BYTES)} "
        "could have gone together with another to the same rank: that would save up to "
        f"{_percent(could)} of the time."
    ]


def _rest(calls: CallMeasures, in_calls: float) -> list[str]:
    """What of the time in calls is neither waiting for others nor stalled."""
    times = dict(calls.by_class.select("class", "time_ns").iter_rows())
    apart = {what: times.get(what, 0) / calls.whole_ns for what in _REMEDIES}
    rest = in_calls - calls.savings.share("late_ns") - calls.savings.share("progression_ns")
    found = [
        f"{_percent(share)} of the time {_REMEDIES[what]}."
        for what, share in apart.items()
        if share >= _REST_WORTH
    ]
    no_data = sum(times.get(what, 0) for what in _NO_DATA) / calls.whole_ns
    if no_data >= _REST_WORTH:
        found.append(f"{_percent(no_data)} of the time is spent in calls that move no messages.")
    moving = rest - no_data - sum(apart.values())
    if moving >= _REST_WORTH and calls.is_of_sums:
        polling = times.get(events.CALL_COMPLETES, 0) / calls.whole_ns
        found.append(
            f"{_percent(moving)} of the time is what other calls take: waiting for other ranks, the "
            f"moving of data, and the library's own work; {_percent(polling)} is in waits, tests and "
            "probes. A window of events shows which."
        )
    elif moving >= _REST_WORTH:
        found.append(
            f"{_percent(moving)} of the time is what else calls take: the moving of data, and the "
            "library's own work. Sending less, or work to do meanwhile, helps there."
        )
    return found


def _acceleration(run: Run, calls: CallMeasures) -> str:
    """Whether `plait accelerate` would bring something, and why."""
    moving = calls.savings.share("progression_ns")
    most, passed = outstanding_receives(run)
    searching = passed * _SEARCH_STEP_NS / calls.whole_ns
    reasons = (
        f"{_percent(moving)} of the time is waits for messages that could have moved while the program "
        f"computed, and with at most {format_count(most, 'receive')} outstanding at once on a rank, an "
        f"estimated {_percent(searching)} goes into searching them"
    )
    verdict = "would help" if moving + searching >= _WORTH else "would bring next to nothing"
    return f"`plait accelerate` {verdict}: {reasons}."


def _accelerated(engine: EngineMeasures) -> str:
    text = (
        f"This run was accelerated: {format_count(engine.messages, 'message')} of the program with "
        f"{format_bytes(engine.size_bytes)} went through plait's engine, {engine.after_rendezvous} of "
        "them after a rendezvous"
    )
    if engine.moving_ns > 0:
        text += (
            f"; they were under way for {format_time(engine.moving_ns)} in all, and during "
            f"{format_share(engine.hidden_ns, engine.moving_ns)} of that the receiving rank computed"
        )
    if engine.own_messages:
        text += (
            f". {format_count(engine.own_messages, 'further message')} with "
            f"{format_bytes(engine.own_bytes)} are the engine's own: blocks of collectives, agreement "
            "on communicators"
        )
    return f"{text}."


def outstanding_receives(run: Run) -> tuple[int, float]:
    """The most receives that were outstanding on a rank at once; and how many all searches pass.

    Outstanding: posted and not complete. A search passes half of them.
    """
    received = run.messages.filter(pl.col("received") & ~pl.col("unfinished"))
    changes = pl.concat(
        [
            received.select("rank", pl.col(time).alias("at_ns"), pl.lit(change).alias("change"))
            for time, change in (("posted_ns", 1), ("completed_ns", -1))
        ]
    ).sort("at_ns", "change", descending=[False, True])
    outstanding = pl.col("change").cum_sum().over("rank").alias("outstanding")
    counted = changes.with_columns(outstanding)
    if not counted.height:
        return 0, 0.0
    left = counted.filter(pl.col("change") < 0)["outstanding"]
    return int(counted.select(pl.col("outstanding").max()).item()), float(left.sum()) / 2
