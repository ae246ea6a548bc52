# SPDX-License-Identifier: Apache-2.0
"""Sections of a run between the barriers of its main function."""

from __future__ import annotations

import polars as pl
import pytest

from plait._errors import PlaitError
from plait._events import CALLS, Run, Site
from plait.benches.sections import BARRIERS, Section, end_of_exchange, ends_of, sections_of

_FUNCTIONS = ("MPI_Barrier", "MPI_Send", "MPI_Finalize")
#: The first and the last are in the main function.
_SITES = (Site("p+0x10"), Site("p+0x90"), Site("p+0x20"))
_STARTS = {"p+0x10": {"start": "p+0x0"}, "p+0x90": {"start": "p+0x80"}, "p+0x20": {"start": "p+0x0"}}


def _run(calls: list[tuple[int, int]]) -> Run:
    """Of rank 0: function and site of each call; the n-th ends at n s."""
    rows = [
        {
            **dict.fromkeys(CALLS, 0),
            "function": function,
            "site": site,
            "start_ns": n * 10**9,
            "end_ns": (n + 1) * 10**9,
        }
        for n, (function, site) in enumerate(calls)
    ]
    return Run(
        meta={},
        ranks=1,
        ranks_present=(0,),
        calls=pl.DataFrame(rows, schema=CALLS),
        functions=_FUNCTIONS,
        sites=_SITES,
    )


def test_sections_are_between_barriers_of_the_main_function() -> None:
    run = _run([(0, 0), (0, 1), (0, 0), (1, 1), (0, 0), (2, 2)])
    found = sections_of(run, ("first", "second", "third"), _STARTS)
    assert found == {"first": Section(4, 2), "second": Section(2, 1)}
    barriers = ends_of(run, BARRIERS)
    assert found["first"].of(barriers) == 2.0
    assert found["second"].of([0.0, *barriers]) == 2.0  # more barriers before them change nothing


def test_the_exchange_ends_before_the_calls_that_are_left_out() -> None:
    run = _run([(0, 0), (1, 1), (2, 2)])
    assert end_of_exchange(run, ("MPI_Finalize",)) == 2.0
    with pytest.raises(PlaitError, match="no calls"):
        end_of_exchange(run, _FUNCTIONS)


def test_more_barriers_than_names_are_refused() -> None:
    with pytest.raises(PlaitError, match="2 barriers, and there are only 1 sections"):
        sections_of(_run([(0, 0), (0, 0), (2, 2)]), ("only",), _STARTS)


def test_a_run_with_fewer_barriers_is_refused() -> None:
    with pytest.raises(PlaitError, match="the run has only 2"):
        Section(3, 1).of([1.0, 2.0])
