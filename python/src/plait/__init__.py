# SPDX-License-Identifier: Apache-2.0
"""Run, record and explain asynchronous MPI programs.

`read(folder)` returns a run for notebooks: frames, measures and figures (docs/how-to/notebooks.md).
`read_run(folder)` returns its event tables alone (docs/reference/trace-format.md); the functions below
take them. Names are loaded on first use, so that `import plait` and `plait --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from plait import fft, particles
    from plait._errors import EngineError, PlaitError
    from plait._events import Run
    from plait._region import region
    from plait._runtime import Future, Runtime, wait_all
    from plait.export.perfetto import write_perfetto
    from plait.measures.calls import parallel_window
    from plait.measures.communication import measure_calls, measure_traffic
    from plait.measures.critical_path import critical_paths, path_shares
    from plait.measures.idle import idle_by_lane, idle_by_rank
    from plait.measures.messages import data_rate, in_flight, match_messages
    from plait.measures.phases import phase_times
    from plait.measures.steps import only_step, steps_of_run
    from plait.notebook.recording import Recording, read
    from plait.readers.plait import read_run
    from plait.report.write import write_report
    from plait.writers.plait import write_run

_HOMES = {
    "EngineError": "plait._errors",
    "Future": "plait._runtime",
    "PlaitError": "plait._errors",
    "Recording": "plait.notebook.recording",
    "Run": "plait._events",
    "Runtime": "plait._runtime",
    "critical_paths": "plait.measures.critical_path",
    "data_rate": "plait.measures.messages",
    "idle_by_lane": "plait.measures.idle",
    "idle_by_rank": "plait.measures.idle",
    "in_flight": "plait.measures.messages",
    "match_messages": "plait.measures.messages",
    "measure_calls": "plait.measures.communication",
    "measure_traffic": "plait.measures.communication",
    "only_step": "plait.measures.steps",
    "parallel_window": "plait.measures.calls",
    "path_shares": "plait.measures.critical_path",
    "phase_times": "plait.measures.phases",
    "read": "plait.notebook.recording",
    "read_run": "plait.readers.plait",
    "region": "plait._region",
    "steps_of_run": "plait.measures.steps",
    "wait_all": "plait._runtime",
    "write_perfetto": "plait.export.perfetto",
    "write_report": "plait.report.write",
    "write_run": "plait.writers.plait",
}
_MODULES = ("fft", "particles")

__all__ = [
    "EngineError",
    "Future",
    "PlaitError",
    "Recording",
    "Run",
    "Runtime",
    "critical_paths",
    "data_rate",
    "fft",
    "idle_by_lane",
    "idle_by_rank",
    "in_flight",
    "match_messages",
    "measure_calls",
    "measure_traffic",
    "only_step",
    "parallel_window",
    "particles",
    "path_shares",
    "phase_times",
    "read",
    "read_run",
    "region",
    "steps_of_run",
    "wait_all",
    "write_perfetto",
    "write_report",
    "write_run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("plait._sources").version()
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"plait.{name}")
    raise AttributeError(f"module 'plait' has no attribute {name!r}")
