# SPDX-License-Identifier: Apache-2.0
"""Named parts of a program's time, for recorders: `plait record`, and the trace of a `plait.Runtime`."""

from __future__ import annotations

import ctypes
from contextlib import ContextDecorator
from functools import cache
from types import TracebackType
from typing import Any, Protocol


class Recorder(Protocol):
    """Records regions between times of its own clock."""

    def trace_time(self) -> int | None: ...

    def record_region(self, name: str, start: int) -> None: ...


#: Of the runtimes that record a trace.
recorders: list[Recorder] = []


@cache
def _symbols() -> tuple[Any, Any] | None:
    """Of a recorder that was preloaded into this process."""
    try:
        process = ctypes.PyDLL(None)  # the calls are shorter than giving up the GIL
        begin, end = process.plait_region_begin, process.plait_region_end
    except (AttributeError, OSError, TypeError):
        return None
    begin.argtypes, begin.restype = [ctypes.c_char_p], None
    end.argtypes, end.restype = [], None
    return begin, end


class Region(ContextDecorator):
    """As `region`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a region is text, not {type(name).__name__}")
        self._name = name
        self._starts: list[list[tuple[Recorder, int]]] = []

    def _recreate_cm(self) -> Region:
        return Region(self._name)

    def __enter__(self) -> Region:
        if symbols := _symbols():
            symbols[0](self._name.encode())
        started = []
        for recorder in recorders:
            if (now := recorder.trace_time()) is not None:
                started.append((recorder, now))
        self._starts.append(started)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for recorder, start in self._starts.pop():
            recorder.record_region(self._name, start)
        if symbols := _symbols():
            symbols[1]()


def region(name: str) -> Region:
    """Records the time of a `with` block, or of each call of a decorated function, under a name.

    The recorder of `plait record` gets it if the process has one, and so does the trace of a
    `plait.Runtime` that writes one (`plait run`); `plait report` shows both. Without either it does
    nothing. Regions may contain others; each ends in the thread that has begun it.

        with plait.region("solve"):
            ...

        @plait.region("exchange")
        def exchange(): ...
    """
    return Region(name)
