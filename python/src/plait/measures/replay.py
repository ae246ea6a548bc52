# SPDX-License-Identifier: Apache-2.0
"""A recorded exchange and its replay as numbers; time against size, and its knee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Run
from plait.measures.messages import match_messages

#: Calls that move messages, or wait for them.
_COMMUNICATION = (
    events.CALL_BEGINS,
    events.CALL_COMPLETES,
    events.CALL_MESSAGE,
    events.CALL_COLLECTIVE,
    events.CALL_BEGINS_COLLECTIVE,
)
QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Exchange:
    """The messages of a run. Times in nanoseconds; 0 where there is nothing to measure."""

    matched: pl.DataFrame  # match_messages
    window_ns: tuple[int, int]  # of the communication: from the first post or call to the last end
    messages: int
    size_bytes: int
    calling_ns: float  # in calls that communicate; mean of the ranks
    latency_ns: tuple[float, ...]  # from being sent to being received: QUANTILES

    @property
    def length_ns(self) -> int:
        return self.window_ns[1] - self.window_ns[0]


def exchange_of(run: Run) -> Exchange:
    calls = run.calls.filter(pl.col("class").is_in(_COMMUNICATION))
    starts = [frame[column].min() for frame, column in _edges(run, calls, "start_ns", "posted_ns")]
    ends = [frame[column].max() for frame, column in _edges(run, calls, "end_ns", "completed_ns")]
    matched = match_messages(run.messages)
    latency = (matched["received_ns"] - matched["sent_ns"]).to_numpy().astype(np.float64)
    per_rank = calls.group_by("rank").agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("time"))
    low = min((int(str(value)) for value in starts), default=0)
    high = max((int(str(value)) for value in ends), default=0)
    return Exchange(
        matched=matched,
        window_ns=(low, high),
        messages=matched.height,
        size_bytes=int(matched["size_bytes"].sum()),
        calling_ns=float(per_rank["time"].to_numpy().mean()) if per_rank.height else 0.0,
        latency_ns=tuple(float(q) for q in np.quantile(latency, QUANTILES))
        if latency.size
        else (0.0,) * len(QUANTILES),
    )


def _edges(
    run: Run, calls: pl.DataFrame, of_call: str, of_message: str
) -> list[tuple[pl.DataFrame, str]]:
    """Where calls are known, only they: a message may have been posted by a call that is left out."""
    if calls.height:
        return [(calls, of_call)]
    return [(run.messages, of_message)] if run.messages.height else []


@dataclass(frozen=True)
class Knee:
    """Two straight lines in logarithms: below `scale` the time hardly follows the size any more."""

    scale: float
    small_exponent: float  # time grows with the size to this power, on the left of the knee
    large_exponent: float
    fitted_s: tuple[float, ...]  # at the measured scales


def find_knee(scales: Sequence[float], times_s: Sequence[float]) -> Knee | None:
    """The two-piece fit, continuous at the knee, with the smallest sum of squares; None below 4 points,
    where one line does as well (within a tenth of the squares), and where the time does not follow the
    size more on the right than on the left."""
    x, y = np.log(np.asarray(scales, dtype=np.float64)), np.log(np.asarray(times_s, dtype=np.float64))
    order = np.argsort(x)
    x, y = x[order], y[order]
    if x.size < 4 or not np.all(np.isfinite(y)):
        return None
    best: tuple[float, float, npt.NDArray[np.float64]] | None = None
    for knee in np.linspace(x[0], x[-1], 201)[1:-1]:
        error, weights = _fit(x, y, np.maximum(x - knee, 0.0))
        if best is None or error < best[0]:
            best = (error, float(knee), weights)
    single, _ = _fit(x, y)
    if best is None or best[0] > 0.9 * single or single < 1e-6:
        return None
    _, knee, weights = best
    if weights[2] <= 0:
        return None
    fitted = weights[0] + weights[1] * x + weights[2] * np.maximum(x - knee, 0.0)
    back = np.empty_like(fitted)
    back[order] = np.exp(fitted)
    return Knee(
        scale=float(np.exp(knee)),
        small_exponent=float(weights[1]),
        large_exponent=float(weights[1] + weights[2]),
        fitted_s=tuple(float(value) for value in back),
    )


def _fit(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], *more: npt.NDArray[np.float64]
) -> tuple[float, npt.NDArray[np.float64]]:
    matrix = np.stack([np.ones_like(x), x, *more], axis=1)
    weights, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    return float(((matrix @ weights - y) ** 2).sum()), np.asarray(weights, dtype=np.float64)
