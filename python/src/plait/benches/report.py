# SPDX-License-Identifier: Apache-2.0
"""What benchmarks in Python share: options, table and JSON, as in bench/support/report.cpp."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from plait._files import write_text


@dataclass(frozen=True)
class Wanted:
    """The figure that the median of a row is wanted to reach."""

    limit: Literal["at most", "at least"]
    value: float
    basis: str = ""  # where it comes from, as "1.2 x raw MPI"

    def is_reached_by(self, median: float) -> bool:
        return median <= self.value if self.limit == "at most" else median >= self.value

    def in_words(self) -> str:
        return f"{'<=' if self.limit == 'at most' else '>='} {self.value:.4g}"


@dataclass
class Row:
    """A line of the table: several measurements of one thing."""

    name: str
    values: Sequence[float]
    unit: str
    params: dict[str, str] = field(default_factory=dict)
    bound: str = ""  # what the value is held against
    bound_value: float | None = None
    peer: str = ""  # what the value is compared with
    peer_value: float | None = None
    wanted: Wanted | None = None

    def quartiles(self) -> tuple[float, float, float]:
        """Low, median, high."""
        if len(self.values) < 2:
            return (self.values[0],) * 3
        low, median, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, median, high

    def is_reached(self) -> bool:
        """Expects a wanted figure."""
        return self.wanted is not None and self.wanted.is_reached_by(self.quartiles()[1])


class Report:
    """Takes --full, --json FILE, --describe and --help, and ends the program for the last two."""

    def __init__(self, name: str, claim: str, arguments: Sequence[str]) -> None:
        parser = argparse.ArgumentParser(prog=f"plait bench {name}", description=claim)
        parser.add_argument("--full", action="store_true", help="more sizes and repetitions")
        parser.add_argument("--json", type=Path, help="also write the results to this file")
        parser.add_argument("--describe", action="store_true", help=argparse.SUPPRESS)
        told = parser.parse_args(arguments)
        if told.describe:
            print(json.dumps({"bench": name, "claim": claim, "ranks": [1], "network": "here"}))
            raise SystemExit(0)
        self.is_full: bool = told.full
        self._name, self._claim, self._json = name, claim, told.json
        self._command = " ".join([f"bench_{name}", *arguments])
        self._rows: list[Row] = []
        self._notes: list[str] = []
        self.mpi = "none"  # the MPI that is measured, and its version
        self._begun = time.perf_counter()

    def add(self, row: Row) -> None:
        self._rows.append(row)

    def note(self, sentence: str) -> None:
        """Adds a sentence below the table, at most once."""
        if sentence not in self._notes:
            self._notes.append(sentence)

    def finish(self) -> None:
        """Prints the table, and writes the JSON if requested."""
        print(f"{self._name}: {self._claim} (this host)")
        labels = [
            " ".join([row.name, *(f"{key}={value}" for key, value in row.params.items())])
            for row in self._rows
        ]
        width = max(34, *map(len, labels))
        wanted = [_wanted_of(row) for row in self._rows]
        wanted_width = max(map(len, wanted), default=0)
        title = f"  {'wanted':<{wanted_width}}" if wanted_width else ""
        print(f"{'':<{width}} {'median':>12} {'quartiles':>25}  {'':<8}{title} {'beside':>12}")
        for label, row, words in zip(labels, self._rows, wanted, strict=True):
            low, median, high = row.quartiles()
            beside = row.bound_value if row.peer_value is None else row.peer_value
            values = f"{median:>12.5g} {low:>12.5g} {high:>12.5g}"
            shown = "" if beside is None else f"{beside:.5g}"
            column = f"  {words:<{wanted_width}}" if wanted_width else ""
            what = row.peer or row.bound
            print(f"{label:<{width}} {values}  {row.unit:<8}{column} {shown:>12}  {what}")
        for sentence in self._notes:
            print(sentence)
        for line in wanted_in_words([_row(row) for row in self._rows]):
            print(line)
        if self._json is not None:
            write_text(self._json, json.dumps(self._told(), indent=2) + "\n")

    def _told(self) -> dict[str, Any]:
        return {
            "bench": self._name,
            "commit": _commit(),
            "machine": {"cores": os.cpu_count(), "processor": _processor(), "mpi": self.mpi},
            "network": "this host",
            "command": self._command,
            "seconds": time.perf_counter() - self._begun,
            "notes": self._notes,
            "results": [_row(row) for row in self._rows],
        }


def wanted_in_words(results: Sequence[dict[str, Any]]) -> list[str]:
    """How many wanted figures the rows of a JSON reach, and which they miss; nothing without any."""
    rows = [row for row in results if row.get("wanted")]
    missed = [row for row in rows if not row["wanted"]["reached"]]
    if not rows:
        return []
    end = "; missed:" if missed else ""
    return [
        f"{len(rows) - len(missed)} of {len(rows)} wanted figures reached{end}",
        *(f"  {_missed_in_words(row)}" for row in missed),
    ]


def _missed_in_words(row: dict[str, Any]) -> str:
    label = " ".join([row["name"], *(f"{key}={value}" for key, value in row["params"].items())])
    wanted = row["wanted"]
    words = Wanted(wanted["limit"], wanted["value"]).in_words()
    basis = f" ({wanted['basis']})" if wanted.get("basis") else ""
    unit = f" {row['unit']}" if row["unit"] not in ("", "1") else ""
    return f"{label}: {row['value']:.4g}{unit}, wanted {words}{basis}"


def _wanted_of(row: Row) -> str:
    if row.wanted is None:
        return ""
    return f"{row.wanted.in_words()} {'reached' if row.is_reached() else 'MISSED'}"


def _row(row: Row) -> dict[str, Any]:
    low, median, high = row.quartiles()
    told = {
        **{"name": row.name, "params": row.params, "value": median, "unit": row.unit},
        **{"low": low, "high": high, "peer": row.peer or None, "peer_value": row.peer_value},
        **{"bound": row.bound or None, "bound_value": row.bound_value},
    }
    if row.wanted is not None:
        told["wanted"] = {
            **{"limit": row.wanted.limit, "value": row.wanted.value},
            **{"basis": row.wanted.basis or None, "reached": row.is_reached()},
        }
    return told


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
