# SPDX-License-Identifier: Apache-2.0
"""The calls of one rank, of a program that was recorded from outside, and what belongs to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from plait import _events as events
from plait._events import Site
from plait._schema import NOTHING, SCHEMA
from plait.readers._frames import frame, list_entries
from plait.readers._rank_file import RankFile

#: Begins the names of spans of parallel regions of OpenMP; their place follows.
_PARALLEL = "omp parallel "


def call_tables(file: RankFile) -> dict[str, pl.DataFrame]:
    """What belongs to calls, beside their own table: those that have rows."""
    tables = {}
    if file["communicator"].size:
        tables["communicators"] = _communicator_table(file)
    if file["shares"].size:
        tables["shares"] = _share_table(file)
    return tables


def _communicator_table(file: RankFile) -> pl.DataFrame:
    found = file["communicator"]
    row, place, member = list_entries(file, SCHEMA["communicator"])
    table = {
        "communicator": found["communicator"][row],
        "index": found["first"].astype(np.int64)[row] + place,
        "rank": member,
    }
    known = member != NOTHING
    return frame({name: values[known] for name, values in table.items()}, events.COMMUNICATORS)


def _share_table(file: RankFile) -> pl.DataFrame:
    found = file["shares"]
    row, place, given = list_entries(file, SCHEMA["shares"])
    return frame(
        {
            "rank": np.full(given.size, file.rank),
            "number": found["call"][row],
            "index": found["first"].astype(np.int64)[row] + place,
            "bytes_given": given,
        },
        events.SHARES,
    )


def add_postings(messages: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """A rank's messages with the function and the site that posted them, where a call is known that did.

    A call that begins several messages has the number of the first: so the last call before it is taken.
    """
    posts = calls.filter(pl.col("class").is_in([events.CALL_BEGINS, events.CALL_MESSAGE]))
    if not posts.height or not messages.height:
        return messages
    wanted, posted = messages["number"].to_numpy(), messages["posted_ns"].to_numpy()
    at = _last_at_or_before(posts["number"].to_numpy(), wanted)
    fits = (wanted > 0) & (at >= 0)
    fits &= posted >= posts["start_ns"].to_numpy()[at]
    fits &= posted <= posts["end_ns"].to_numpy()[at]
    return messages.with_columns(
        pl.Series(name, np.where(fits, posts[name].to_numpy()[at], -1).astype(np.int32))
        for name in ("function", "site")
    )


def _last_at_or_before(
    numbers: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The index of the largest of the numbers that is at most what is wanted; -1: there is none."""
    most = int(max(numbers.max(), wanted.max()))
    if most <= 8 * (numbers.size + wanted.size) + 1024:
        # Numbers rise by one from call to call, so a table with a place for each is small.
        row = np.full(most + 1, -1, dtype=np.int64)
        row[numbers] = np.arange(numbers.size)
        filled = np.maximum.accumulate(np.where(row >= 0, np.arange(most + 1), 0))
        found: npt.NDArray[np.int64] = row[filled[wanted]]
        return found
    order = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers[order], wanted, side="right") - 1
    return np.where(at >= 0, order[np.maximum(at, 0)], -1)


def read_sites(path: Path, places: Sequence[str], notices: list[str]) -> tuple[Site, ...]:
    """The entries of sites.json for the places; unknown ones stay as recorded."""
    told: Any = {}
    if places:
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError) as error:
            notices.append(f"{path.name} cannot be read ({error}); call sites are shown as addresses")
    if not isinstance(told, dict):
        notices.append(f"{path.name} is no JSON object; call sites are shown as addresses")
        told = {}
    return tuple(replace(_site(place, told), callers=_callers(place, told)) for place in places)


def with_places(spans: Sequence[str], path: Path) -> tuple[str, ...]:
    """Names of spans; those of parallel regions of OpenMP with the place as sites.json has it."""
    regions = [name for name in spans if name.startswith(_PARALLEL)]
    sites = read_sites(path, [name.removeprefix(_PARALLEL) for name in regions], [])
    places = {name: f"{_PARALLEL}{site}" for name, site in zip(regions, sites, strict=True)}
    return tuple(places.get(name, name) for name in spans)


def _callers(place: str, told: dict[str, Any]) -> tuple[Site, ...]:
    callers: list[Site] = []
    known = {place}
    while isinstance(entry := told.get(place), dict) and isinstance(entry.get("caller"), str):
        place = entry["caller"]
        if place in known:
            break  # damage: a path ends
        known.add(place)
        callers.append(_site(place, told))
    return tuple(callers)


def _site(place: str, told: dict[str, Any]) -> Site:
    entry = told.get(place)
    if not isinstance(entry, dict):
        return Site(place)
    line = entry.get("line")

    def text(name: str) -> str | None:
        found = entry.get(name)
        return found if isinstance(found, str) and found else None

    return Site(
        place,
        text("function"),
        text("file"),
        line if isinstance(line, int) and line > 0 else None,
        text("start"),
    )
