# SPDX-License-Identifier: Apache-2.0
"""What the page's scripts draw: a JSON object, and columns packed as text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures import critical_path
from plait.measures.counter_curves import COUNTERS_MAX, curves_to_draw
from plait.measures.messages import since_step_start
from plait.measures.particle_steps import is_phase
from plait.measures.path_sentence import path_sentence
from plait.plots import palette
from plait.plots.marks import OTHER
from plait.report.analysis import Analysis
from plait.report.columns import pack_increasing, pack_u32, time_quantum
from plait.report.html import line_swatch
from plait.report.lanes import Lane, Lanes, bar_kinds, kind_bases, merge_shortest
from plait.report.payload_traffic import traffic_data

#: Bars on the page; in a longer run the shortest are merged.
BARS_MAX = 1_500_000
#: Above this, what only the hover text shows (object, waiting time) is left out to keep the page small.
DETAILED_BARS_MAX = 250_000
MESSAGES_MAX = 500_000
PATH_STRETCHES_MAX = 60_000
#: Of all counters and ranks together.
COUNTER_POINTS_MAX = 200_000
#: Steps whose critical path is described in a sentence each.
SENTENCES_MAX = 5_000


@dataclass(frozen=True)
class Payload:
    data: dict[str, Any]
    columns: dict[str, str]


def make_payload(analysis: Analysis, lanes: Lanes) -> Payload:
    """`lanes`: `make_lanes`."""
    run = analysis.run
    merged = merge_shortest(lanes, BARS_MAX, analysis.window_ns)
    low = analysis.window_ns[0]
    bars = merged.bars()
    durations = (bars["end_ns"] - bars["start_ns"]).to_numpy()
    quantum = time_quantum(durations, analysis.total_ns)
    columns = _bar_columns(bars, low, quantum)
    columns |= _message_columns(analysis, quantum)
    columns |= _path_columns(analysis, merged, quantum)
    kinds = list(zip(bar_kinds(run), palette.bar_marks(run), strict=True))
    shown = set(bars["kind"].unique().to_list())
    bases = kind_bases(run)
    data = {
        "quantum_ns": quantum,
        "total_ns": analysis.total_ns,
        "bars": bars.height,
        "merged": lanes.height - bars.height,
        "detailed": "bar_ready" in columns,
        "lanes_left_out": merged.lanes_left_out,
        "ranks_left_out": merged.ranks_left_out,
        "first_function": bases.functions,
        "sites": _sites(run, bars) if run.calls.height else [],
        "lanes": _lanes(analysis, merged),
        "kinds": [
            {
                **{"name": name, "colour": mark.colour, "line": mark.line, "pattern": mark.pattern},
                **{"fill": mark.css, "shown": index in shown, "other": mark == OTHER},
            }
            for index, (name, mark) in enumerate(kinds)
        ],
        "ranks": [
            {"rank": rank, "colour": palette.rank_colour(rank), "swatch": line_swatch(rank)}
            for rank in run.ranks_present
        ],
        "rank_colours": len(palette.RANKS),
        "steps": {
            "number": analysis.steps["step"].to_list(),
            "start": ((analysis.steps["start_ns"] - low) // quantum).to_list(),
            "end": ((analysis.steps["end_ns"] - low) // quantum).to_list(),
            "slowest": analysis.slowest_step(),
            "typical": analysis.typical_step(),
        },
        "messages": min(analysis.matched.height, MESSAGES_MAX),
        "messages_left_out": max(0, analysis.matched.height - MESSAGES_MAX),
        "path": {
            "what": list(critical_path.WHAT),
            "colour": list(palette.WAITS),
            "run": critical_path.RUN,
            "transfer": critical_path.TRANSFER,
            "notice": critical_path.NOTICE,
            "start": critical_path.START,
            "sentences": _sentences(analysis),
        },
        "gaps": _histogram(run.gaps),
        "counters": _counters(analysis),
    }
    more, more_columns = traffic_data(analysis)
    return Payload(data | more, columns | more_columns)


def _lanes(analysis: Analysis, lanes: Lanes) -> list[dict[str, Any]]:
    idle = {
        (rank, worker): share
        for rank, worker, share in analysis.lanes.select("rank", "worker", "idle_share").iter_rows()
    }
    firsts = accumulate((lane.count for lane in lanes.lanes), initial=0)
    return [
        {
            "rank": lane.rank,
            "worker": lane.worker,
            "what": lane.what,
            "label": lane.label,
            "last": lane.last_rank if lane.last_rank >= 0 else None,
            "first": first,
            "count": lane.count,
            "idle": _idle_share(lane, idle) if lane.what == "worker" else None,
        }
        for lane, first in zip(lanes.lanes, firsts, strict=False)
    ]


def _idle_share(lane: Lane, idle: dict[tuple[int, int], float]) -> float | None:
    """Of a group, of its mean worker."""
    if lane.last_rank < 0:
        return idle.get((lane.rank, lane.worker))
    shares = [share for (rank, _), share in idle.items() if lane.rank <= rank <= lane.last_rank]
    return sum(shares) / len(shares) if shares else None


def _quanta(times: pl.Series, low_ns: int, quantum: int) -> npt.NDArray[np.int64]:
    result: npt.NDArray[np.int64] = (times.to_numpy() - low_ns) // quantum
    return result


def _bar_columns(bars: pl.DataFrame, low_ns: int, quantum: int) -> dict[str, str]:
    start = _quanta(bars["start_ns"], low_ns, quantum)
    end = _quanta(bars["end_ns"], low_ns, quantum)
    columns = {
        "bar_start": pack_increasing(start),
        "bar_length": pack_u32(end - start),
        "bar_kind": pack_u32(bars["kind"].to_numpy()),
        "bar_step": pack_increasing(bars["step"].to_numpy()),
    }
    columns |= _call_columns(bars)
    if bars.height <= DETAILED_BARS_MAX:
        waited = start - _quanta(bars["ready_ns"], low_ns, quantum)
        objects = bars["object"].to_numpy()
        columns["bar_ready"] = pack_u32(waited)
        columns["bar_object_low"] = pack_u32(objects & np.uint64(0xFFFFFFFF))
        columns["bar_object_high"] = pack_u32(objects >> np.uint64(32))
    return columns


def _call_columns(bars: pl.DataFrame) -> dict[str, str]:
    """What the hover text of calls shows; empty columns are left out."""
    columns = {}
    for name in ("site", "peer"):
        values = bars[name].to_numpy()
        if (values >= 0).any():
            columns[f"bar_{name}"] = pack_u32(values.astype(np.int64) + 1)  # 0: none
    for name in ("bytes_given", "bytes_got"):
        values = bars[name].to_numpy()
        if values.any():
            columns[f"bar_{name}"] = pack_u32(values & 0xFFFFFFFF)
        if (values >> 32).any():
            columns[f"bar_{name}_high"] = pack_u32(values >> 32)
    return columns


def _sites(run: Run, bars: pl.DataFrame) -> list[str]:
    used = set(bars["site"].unique().to_list())
    return [str(site) if index in used else "" for index, site in enumerate(run.sites)]


def _message_columns(analysis: Analysis, quantum: int) -> dict[str, str]:
    low = analysis.window_ns[0]
    matched = analysis.matched
    if matched.height > MESSAGES_MAX:
        chosen = np.linspace(0, matched.height - 1, MESSAGES_MAX).astype(np.int64)
        matched = matched[chosen]
    if not matched.height:
        return {}
    sent = _quanta(matched["sent_ns"], low, quantum)
    received = _quanta(matched["received_ns"], low, quantum)
    arrived = _quanta(matched["arrived_ns"], low, quantum)
    expected = _quanta(matched["expected_ns"], low, quantum)
    step_starts = analysis.steps["start_ns"].to_numpy()
    since = since_step_start(matched["sent_ns"].to_numpy(), matched["sent_ns"].to_numpy(), step_starts)
    return {
        "message_sent": pack_increasing(sent),
        "message_received": pack_u32(np.maximum(received - sent, 0)),
        "message_begun": pack_u32(np.maximum(np.maximum(expected, sent) - sent, 0)),
        "message_arrived": pack_u32(np.maximum(arrived - sent, 0)),
        "message_source": pack_u32(matched["source"].to_numpy()),
        "message_destination": pack_u32(matched["destination"].to_numpy()),
        "message_bytes": pack_u32(matched["size_bytes"].to_numpy()),
        "message_since_step": pack_u32(np.maximum(since, 0) // quantum),
    }


def _sentences(analysis: Analysis) -> dict[str, str]:
    """By step; of a long run those that `_path_columns` is likely to keep: the page must stay small."""
    if analysis.steps.height > SENTENCES_MAX:
        return {}
    parts = analysis.paths.partition_by("step", as_dict=True)
    return {str(step): path_sentence(part, analysis.run.kinds) for (step,), part in parts.items()}


def _path_columns(analysis: Analysis, lanes: Lanes, quantum: int) -> dict[str, str]:
    """As many steps as the page can hold, evenly spread, the slowest and a typical one among them."""
    paths = analysis.paths
    if not paths.height:
        return {}
    if paths.height > PATH_STRETCHES_MAX:
        numbers = analysis.steps["step"].to_numpy()
        count = max(1, int(numbers.size * PATH_STRETCHES_MAX / paths.height))
        spread = numbers[np.linspace(0, numbers.size - 1, count).astype(np.int64)].tolist()
        chosen = {*spread, analysis.slowest_step(), analysis.typical_step()}
        paths = paths.filter(pl.col("step").is_in(sorted(s for s in chosen if s is not None)))
    single = [(index, lane) for index, lane in enumerate(lanes.lanes) if lane.last_rank < 0]
    lane_of = {(lane.rank, lane.worker): index for index, lane in single if lane.what == "worker"}
    message_lane = {lane.rank: index for index, lane in reversed(single) if lane.what == "messages"}
    group_of = {
        rank: index
        for index, lane in enumerate(lanes.lanes)
        if lane.what == "worker"
        for rank in range(lane.rank, lane.last_rank + 1)
    }
    lane = [
        (message_lane.get(rank) if role != events.ROLE_TASK else lane_of.get((rank, worker)))
        or group_of.get(rank, 0)
        for rank, worker, role in paths.select("rank", "worker", "role").iter_rows()
    ]
    start = _quanta(paths["start_ns"], analysis.window_ns[0], quantum)
    end = _quanta(paths["end_ns"], analysis.window_ns[0], quantum)
    return {
        "path_step": pack_increasing(paths["step"].to_numpy()),
        "path_lane": pack_u32(np.asarray(lane)),
        "path_what": pack_u32(paths["what"].to_numpy()),
        "path_kind": pack_u32(paths["kind"].to_numpy()),
        "path_start": pack_increasing(start),
        "path_length": pack_u32(end - start),
    }


def _histogram(gaps: pl.DataFrame) -> dict[str, Any] | None:
    """Counts and summed time of poll gaps in bins of equal ratio, five a decade."""
    if not gaps.height:
        return None
    length = np.maximum((gaps["end_ns"] - gaps["start_ns"]).to_numpy(), 1).astype(np.float64)
    low = np.floor(np.log10(length.min()))
    high = max(low + 1, np.ceil(np.log10(length.max())))
    edges = 10.0 ** np.linspace(low, high, round((high - low) * 5) + 1)
    edges[-1] = max(edges[-1], length.max())
    counts, _ = np.histogram(length, edges)
    times, _ = np.histogram(length, edges, weights=length)
    return {"edges_ns": edges.tolist(), "count": counts.tolist(), "time_ns": times.tolist()}


def _counters(analysis: Analysis) -> list[dict[str, Any]]:
    """Of COUNTERS_MAX counters at most, and of each the curves that can be distinguished."""
    run = analysis.run
    named = [
        k for k, name in enumerate(run.counter_kinds) if not is_phase(name)
    ]  # in a table of their own
    values = run.counters.sort("time_ns").partition_by("kind", as_dict=True)
    present = [kind for kind in named if (kind,) in values]
    every = max(1, -(-sum(values[kind,].height for kind in present) // COUNTER_POINTS_MAX))
    return [
        {
            "name": run.counter_kinds[kind],
            "ranks": values[kind,]["rank"].n_unique(),
            "lines": _counter_lines(curves_to_draw(values[kind,]), every, analysis.window_ns[0]),
            "left_out": max(0, len(present) - COUNTERS_MAX),
        }
        for kind in present[:COUNTERS_MAX]
    ]


def _counter_lines(values: pl.DataFrame, every: int, low_ns: int) -> list[dict[str, Any]]:
    parts = values.sort("rank", "time_ns").partition_by("rank", as_dict=True)
    return [
        {
            "rank": rank,
            "time_ns": (own.gather_every(every)["time_ns"] - low_ns).to_list(),
            "value": own.gather_every(every)["value"].to_list(),
        }
        for (rank,), own in parts.items()
    ]
