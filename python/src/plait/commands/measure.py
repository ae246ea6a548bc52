# SPDX-License-Identifier: Apache-2.0
"""`plait doctor --measure`: measures settings between two ranks, keeps those that beat the defaults."""

from __future__ import annotations

import json
import math
import os
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plait import _launcher as launcher
from plait._build import find_program
from plait._errors import PlaitError
from plait._strategy import (
    PROGRAM,
    Row,
    Strategy,
    describe_system,
    now,
    read_strategy,
    write_strategy,
)
from plait._supervised import Supervised, supervise

#: The setting of each choice that programs have without a strategy.
DEFAULTS = {"packet_bytes": "8192", "packing": "aggregate", "progress": "timer 100", "copiers": "2"}
#: Measured for comparison, and never chosen: rendezvous for all sizes; no progress at all, and progress
#: on idle cores, with which nothing moves between hosts while all cores compute.
REFERENCES = {("packet_bytes", "rendezvous"), ("progress", "none"), ("progress", "idle")}
#: A setting is chosen when it takes this much less time, and more rounds than three of four agree.
GAIN_MIN = 0.03
#: One case counts at most as half or twice the time, so that it never decides alone.
_LOG_MAX = math.log(2)
_SECONDS = {True: 3.0, False: 25.0}
_COPY_SECONDS = {True: 1.0, False: 5.0}
_DRIVERS = {
    "shm": "shared memory",
    "mpi": "MPI within this host (its own shared memory)",
    "between_hosts": "MPI between hosts",
}

Samples = list[dict[str, Any]]


@dataclass(frozen=True)
class Wishes:
    quick: bool
    as_json: bool
    force: bool  # keep choices that were measured on a busy machine
    hosts: str | None  # as the launcher takes them: a,b


def measure(wishes: Wishes) -> int:
    """Measures, prints and keeps a strategy; 0 when it was written."""
    system, path = describe_system()
    busy = "" if wishes.force else busy_in_words(os.getloadavg()[0], launcher.available_cores())
    samples, seconds = _run(wishes)
    if wishes.hosts is None:  # else what was found within a host is kept
        copy_samples, copy_seconds = _run_alone(wishes)
        samples, seconds = samples + copy_samples, seconds + copy_seconds
    rows = summarise(samples)
    kept = _rows_of_other_drivers(path, system, rows)
    strategy = Strategy(system, now(), choose([*kept, *rows]), (*kept, *rows))
    if not busy:
        write_strategy(path, strategy)
    if wishes.as_json:
        more = {
            "file": str(path),
            "kept": not busy,
            "seconds": seconds,
            "eager": eager_in_words(samples),
        }
        print(json.dumps({**more, **asdict(strategy)}, indent=2))
    else:
        _print(strategy, rows, samples)
    if busy:
        raise PlaitError(busy)
    if not wishes.as_json:
        print(f"kept in {path}; PLAIT_STRATEGY=default turns it off")
    return 0


def _run(wishes: Wishes) -> tuple[Samples, float]:
    program = str(find_program(PROGRAM))
    found = launcher.find_launcher(None)
    place = launcher.Placement(2, 1, launcher.available_cores(), "auto")
    with _output_file() as output:
        words = [program, "--output", str(output), "--seconds", str(_SECONDS[wishes.quick])]
        command, environment = launcher.launch_command(found, place, words)
        if wishes.hosts is not None:
            option = "-hosts" if found.family == "MPICH" else "--host"
            command[1:1] = [option, wishes.hosts]
        return _measured_by(command, environment, output)


def _run_alone(wishes: Wishes) -> tuple[Samples, float]:
    """One rank without a launcher, which would bind it: it measures copies by all cores."""
    with _output_file() as output:
        seconds = str(_COPY_SECONDS[wishes.quick])
        command = [str(find_program(PROGRAM)), "--output", str(output), "--seconds", seconds]
        return _measured_by(command, {}, output)


@contextmanager
def _output_file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="plait-measure-") as scratch:
        yield Path(scratch) / "measured.json"


def _measured_by(command: list[str], environment: dict[str, str], output: Path) -> tuple[Samples, float]:
    clean = {k: v for k, v in os.environ.items() if k not in ("PLAIT_TRACE", "PLAIT_NETWORK")}
    supervise(command, {**clean, **environment}, Supervised(PROGRAM, "two ranks"))
    try:
        result = json.loads(output.read_text(encoding="utf-8"))
        return list(result["samples"]), float(result["seconds"])
    except (OSError, ValueError, KeyError) as error:
        raise PlaitError(
            f"{PROGRAM} ended without results ({error}); rank 0 must be on this host"
        ) from error


def summarise(samples: Iterable[dict[str, Any]]) -> list[Row]:
    """A row for each setting but the default ones, in the order of the samples."""
    groups: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for sample in samples:
        group = groups.setdefault((sample["choice"], sample["driver"]), {})
        group.setdefault(sample["setting"], {})[sample["what"]] = sample["seconds"]
    return [
        _row(choice, driver, setting, cases, group[DEFAULTS[choice]])
        for (choice, driver), group in groups.items()
        for setting, cases in sorted(group.items(), key=_by_number)
        if setting != DEFAULTS[choice]
    ]


def _by_number(item: tuple[str, Any]) -> tuple[str, int]:
    word, _, number = item[0].rpartition(" ")
    return (word, int(number)) if number.isdigit() else (item[0], 0)


def _row(
    choice: str,
    driver: str,
    setting: str,
    cases: dict[str, list[float]],
    default: dict[str, list[float]],
) -> Row:
    """Rounds are compared one by one: what disturbed one of them disturbed all settings in it."""
    logs = {
        case: [math.log(ours / theirs) for ours, theirs in zip(seconds, default[case], strict=True)]
        for case, seconds in cases.items()
    }
    rounds = [
        statistics.fmean(max(-_LOG_MAX, min(_LOG_MAX, value)) for value in values)
        for values in zip(*logs.values(), strict=True)
    ]
    low, middle, high = _quartiles(rounds)
    medians = {case: math.expm1(statistics.median(values)) for case, values in logs.items()}
    best, worst = min(medians, key=medians.__getitem__), max(medians, key=medians.__getitem__)
    return Row(
        choice=choice,
        driver=driver,
        setting=setting,
        change=math.expm1(middle),
        low=math.expm1(low),
        high=math.expm1(high),
        best=f"{best}: {_percent(medians[best])}",
        worst=f"{worst}: {_percent(medians[worst])}",
    )


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _percent(change: float) -> str:
    return f"{100 * change:+.0f} %"


def is_better(row: Row) -> bool:
    return (row.choice, row.setting) not in REFERENCES and row.change < -GAIN_MIN and row.high < 0


def choose(rows: Sequence[Row]) -> dict[str, Any]:
    """What the file of a strategy has as its choices: nothing where the default is as good."""
    choices: dict[str, Any] = {}
    for driver in _DRIVERS:
        better = [r for r in rows if r.choice == "packet_bytes" and r.driver == driver and is_better(r)]
        if better:
            choices[f"{driver}_packet_bytes"] = int(min(better, key=lambda row: row.change).setting)
    # These are one for all drivers: a setting has to be better with each.
    packing = _better_everywhere([r for r in rows if r.choice == "packing"])
    if packing is not None:
        choices["packing"] = packing
    progress = _better_everywhere([r for r in rows if r.choice == "progress"])
    if progress is not None:
        mode, _, period = progress.partition(" ")
        choices["progress"] = mode
        if period:
            choices["progress_microseconds"] = int(period)
    copiers = _better_everywhere([r for r in rows if r.choice == "copiers"])
    if copiers is not None:
        choices["copiers"] = int(copiers)
    return choices


def _better_everywhere(rows: Sequence[Row]) -> str | None:
    settings = {row.setting: [r for r in rows if r.setting == row.setting] for row in rows}
    able = {name: max(r.change for r in of) for name, of in settings.items() if all(map(is_better, of))}
    return min(able, key=able.__getitem__) if able else None


def _rows_of_other_drivers(path: Path, system: dict[str, Any], rows: Sequence[Row]) -> list[Row]:
    """Those of an earlier measurement, as the one between hosts keeps the one within a host."""
    try:
        earlier = read_strategy(path, system)
    except PlaitError:
        return []
    drivers = {row.driver for row in rows}
    return [row for row in earlier.rows if row.driver not in drivers] if earlier else []


def eager_in_words(samples: Samples) -> dict[str, str]:
    """Of each driver: up to which size a message is faster in a packet than by rendezvous."""
    medians = {
        (s["driver"], s["setting"], s["what"]): statistics.median(s["seconds"])
        for s in samples
        if s["choice"] == "packet_bytes"
    }
    words = {}
    for driver in dict.fromkeys(driver for driver, _, _ in medians):
        sizes = [512, 2048, 4096, 8192, 16384]  # those that a packet of 32 KiB holds
        times = [
            [medians.get((driver, s, f"round trip, {size} B")) for s in ("32768", "rendezvous")]
            for size in sizes
        ]
        slower = [
            size
            for size, (eager, rendezvous) in zip(sizes, times, strict=True)
            if eager is not None and rendezvous is not None and eager >= rendezvous
        ]
        words[driver] = f"below {slower[0]} B" if slower else f"at all sizes up to {sizes[-1]} B"
    return words


def _print(strategy: Strategy, rows: Sequence[Row], samples: Samples) -> None:
    console = Console(highlight=False)
    table = Table(title="Time with each setting, compared with the default", title_justify="left")
    for column in ("choice", "driver", "setting"):
        table.add_column(column)
    for column in ("median", "quartiles"):
        table.add_column(column, justify="right")
    for column in ("most", "least"):
        table.add_column(column)
    for row in rows:
        style = "green" if is_better(row) else ""
        spread = f"{_percent(row.low)} to {_percent(row.high)}"
        table.add_row(
            *(row.choice, row.driver, row.setting, _percent(row.change), spread, row.best, row.worst),
            style=style,
        )
    console.print(table)
    for driver, words in eager_in_words(samples).items():
        console.print(f"{_DRIVERS[driver]}: eager messages are faster than rendezvous {words}")
    for line in reasons(strategy):
        console.print(escape(line), soft_wrap=True)


def reasons(strategy: Strategy) -> list[str]:
    """A sentence for each choice, and one for what is kept."""
    chosen = dict(strategy.choices)
    period = chosen.pop("progress_microseconds", None)
    if period is not None:
        chosen["progress"] = f"{chosen['progress']} {period}"
    lines = []
    for name, setting in chosen.items():
        is_size = name.endswith("_packet_bytes")
        choice, driver = ("packet_bytes", name.removesuffix("_packet_bytes")) if is_size else (name, "")
        measured = "; ".join(
            f"{_percent(row.change)} time over {row.driver}"
            for row in strategy.rows
            if (row.choice, row.setting) == (choice, str(setting)) and driver in ("", row.driver)
        )
        lines.append(f"chosen: {name} {setting} in place of {DEFAULTS[choice]} ({measured})")
    kept = [name for name in DEFAULTS if not any(one.endswith(name) for one in chosen)]
    words = ", ".join(f"{name} {DEFAULTS[name]}" for name in kept)
    if not chosen:
        lines.append(f"nothing to gain here: the defaults are kept ({words})")
    elif kept:
        lines.append(f"kept, as nothing was better beyond the spread: {words}")
    return lines


def busy_in_words(load: float, cores: int) -> str:
    """Empty where the cores were mostly idle before the measurement; else why nothing is kept."""
    if load <= 0.5 * cores:
        return ""
    return (
        f"nothing is kept: other programs were running (load {load:.1f} on {cores} cores), and may have "
        "decided; measure again when the machine is idle, or keep the choices with --force"
    )
