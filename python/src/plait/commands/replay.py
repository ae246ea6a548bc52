# SPDX-License-Identifier: Apache-2.0
"""`plait replay`: starts plait-replay under MPI, then holds the replay against the log."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plait import _launcher as launcher
from plait._build import find_program
from plait._errors import PlaitError, Status
from plait._files import make_folder, write_file, write_json
from plait._units import format_bytes, format_share, format_time
from plait.commands._part import events_of
from plait.measures.replay import QUANTILES, Exchange, exchange_of, find_knee
from plait.measures.steps import only_step
from plait.plots import style
from plait.plots.replay import plot_comparison, plot_scaling
from plait.readers.plait import read_run

SCALES = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
_OWN_FILES = ("meta.json", "rank-*.plt", "replay.json", "*.png")


@dataclass(frozen=True)
class Request:
    """`words` go to plait-replay as they are; the rest is for here."""

    log: Path | None
    synthetic: str | None
    ranks: int | None
    step: int | None
    words: tuple[str, ...]
    output: Path | None
    scaling: bool
    replayed: Path | None
    force: bool
    mpiexec: str | None
    results: Path | None = None  # where to write what is printed, as JSON
    window: int | None = None  # of the log, if that is a profile


def replay(request: Request) -> None:
    if (request.log is None) == (request.synthetic is None):
        raise PlaitError(
            "give the folder of a recorded run, or --synthetic DESCRIPTION", status=Status.usage
        )
    with nullcontext() if request.log is None else events_of(request.log, request.window) as log:
        _replay(replace(request, log=log), request.replayed or _make_folder(request))


def _replay(request: Request, folder: Path) -> None:
    """`request`: its log has events."""
    console = Console(highlight=False, soft_wrap=True)
    if request.replayed is None:
        _play(console, request, folder, ())
    figures = _figures(folder)
    _print_calls(console, figures)
    comparison = _compare(console, request, folder) if request.log is not None else None
    scaling = _scale(console, request, folder) if request.scaling else None
    if request.results is not None:
        write_json(request.results, _document(folder, figures, comparison, scaling))


def _document(
    folder: Path,
    figures: dict[str, Any],
    comparison: dict[str, Any] | None,
    scaling: dict[str, Any] | None,
) -> dict[str, Any]:
    """docs/reference/command-line.md describes it."""
    return {
        "replay": str(folder),
        **{name: figures[name] for name in ("backend", "ranks", "messages", "bytes")},
        "length_s": _length_s(figures),
        "lengths_s": [one["length_s"] for one in figures["repetitions"]],
        "calls": figures.get("calls", []),
        "comparison": comparison,
        "scaling": scaling,
    }


def _make_folder(request: Request) -> Path:
    folder = request.output or (request.log / "replay" if request.log else Path("runs") / "replay")
    if folder.is_dir() and any(folder.iterdir()):
        # A replay below its log belongs to this command, which may replace it.
        if not request.force and request.output is not None:
            raise PlaitError(
                f"{folder} is not empty; choose another --output, or replace it with --force"
            )
        for pattern in _OWN_FILES:
            for old in folder.glob(pattern):
                old.unlink()
    make_folder(folder)
    return folder


def _rank_count(request: Request) -> int:
    if request.ranks is not None:
        return request.ranks
    if request.log is not None:
        files = sorted(request.log.glob("rank-*.plt"))
        if not files:
            raise PlaitError(
                f"{request.log} holds no rank-NNNN.plt; give the folder of a recorded run "
                "(plait record, plait run, plait import swift)"
            )
        try:
            return int.from_bytes(files[0].read_bytes()[16:20], "little") or len(files)
        except OSError as error:
            raise PlaitError(f"{files[0]} cannot be read ({error.strerror})") from error
    for pair in (request.synthetic or "").split(","):
        key, _, value = pair.partition("=")
        if key.strip() == "ranks" and value.strip().isdigit():
            return int(value)
    return 4


def _play(console: Console, request: Request, folder: Path | None, more: tuple[str, ...]) -> None:
    program = [str(find_program("plait-replay"))]
    program += [str(request.log)] if request.log else ["--synthetic", request.synthetic or ""]
    program += [*request.words, *more]
    program += ["--output", str(folder)] if folder is not None else []
    found = launcher.find_launcher(request.mpiexec)
    place = launcher.Placement(_rank_count(request), 1, launcher.available_cores(), "auto")
    command, environment = launcher.launch_command(found, place, program)
    shown = " ".join(("replaying", *more))
    with console.status(shown) if sys.stderr.isatty() else nullcontext():
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
    said = [line for line in done.stderr.splitlines() if line.startswith(("plait-replay: ", "  "))]
    if done.returncode != 0:
        reason = "\n".join(line.removeprefix("plait-replay: ") for line in said) or done.stderr.strip()
        raise PlaitError(f"the replay failed: {reason}")
    for line in said if not more else ():
        console.print(f"[yellow]note:[/] {escape(line.removeprefix('plait-replay: '))}")


def _figures(folder: Path) -> dict[str, Any]:
    try:
        figures = json.loads((folder / "replay.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlaitError(
            f"{folder} is no finished replay: replay.json cannot be read ({error})"
        ) from error
    if not isinstance(figures, dict) or "repetitions" not in figures:
        raise PlaitError(f"{folder}/replay.json has no replay; was it written by plait-replay?")
    return figures


def _length_s(figures: dict[str, Any]) -> float:
    return float(statistics.median(one["length_s"] for one in figures["repetitions"]))


def _print_calls(console: Console, figures: dict[str, Any]) -> None:
    lengths = sorted(one["length_s"] for one in figures["repetitions"])
    spread = (
        f", {format_time(lengths[0] * 1e9)} to {format_time(lengths[-1] * 1e9)} in {len(lengths)} times"
        if len(lengths) > 1
        else ""
    )
    console.print(
        f"[bold]{figures['messages']:,} messages, {format_bytes(figures['bytes'])}, on "
        f"{figures['ranks']} ranks by {escape(figures['backend'])}: "
        f"{format_time(_length_s(figures) * 1e9)}[/]{spread}"
    )
    table = Table(title="calls of the replay", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in ("count", "min", "median", "p90", "max", "all"):
        table.add_column(name, justify="right")
    for call in figures.get("calls", ()):
        times = (call[key] for key in ("min_ns", "median_ns", "p90_ns", "max_ns", "all_ns"))
        table.add_row(escape(call["function"]), f"{call['count']:,}", *map(format_time, times))
    console.print(table)


def _compare(console: Console, request: Request, folder: Path) -> dict[str, Any]:
    """Prints the two, and returns them as numbers."""
    assert request.log is not None
    with console.status("reading both") if sys.stderr.isatty() else nullcontext():
        run = read_run(request.log)
        logged = exchange_of(only_step(run, request.step) if request.step is not None else run)
        replayed = exchange_of(read_run(folder))
    table = Table(title="held against the log", title_justify="left", box=None, pad_edge=False)
    for name in ("", "as logged", "replayed", ""):
        table.add_column(name, justify="right" if name else "left")
    _time_row(table, "length of the communication", logged.length_ns, replayed.length_ns)
    _time_row(table, "in calls, mean of the ranks", logged.calling_ns, replayed.calling_ns)
    for part, left, right in zip(QUANTILES, logged.latency_ns, replayed.latency_ns, strict=True):
        _time_row(table, f"sent to received, {_ordinal(part)}", left, right)
    table.add_row("messages", f"{logged.messages:,}", f"{replayed.messages:,}", "")
    table.add_row("data", format_bytes(logged.size_bytes), format_bytes(replayed.size_bytes), "")
    _rate_row(table, logged, replayed)
    console.print()
    console.print(table)
    picture = _save(console, plot_comparison(logged, replayed), folder / "comparison.png")
    return {"logged": _numbers(logged), "replayed": _numbers(replayed), "picture": picture}


def _numbers(exchange: Exchange) -> dict[str, float]:
    latencies = zip(QUANTILES, exchange.latency_ns, strict=True)
    return {
        "length_ns": exchange.length_ns,
        "in_calls_ns": exchange.calling_ns,
        **{f"latency_p{100 * part:g}_ns": latency for part, latency in latencies},
        "messages": exchange.messages,
        "bytes": exchange.size_bytes,
        "rate_bytes_per_s": _rate(exchange),
    }


def _rate(exchange: Exchange) -> float:
    """Bytes per second, of all ranks."""
    return 1e9 * exchange.size_bytes / max(1, exchange.length_ns)


def _ordinal(part: float) -> str:
    return "median" if part == 0.5 else f"{100 * part:g} % below"


def _time_row(table: Table, name: str, logged_ns: float, replayed_ns: float) -> None:
    table.add_row(
        name, format_time(logged_ns), format_time(replayed_ns), format_share(replayed_ns, logged_ns)
    )


def _rate_row(table: Table, logged: Exchange, replayed: Exchange) -> None:
    rates = [f"{format_bytes(_rate(one))}/s" for one in (logged, replayed)]
    table.add_row("rate, all ranks", *rates, "")


def _scale(console: Console, request: Request, folder: Path) -> dict[str, Any]:
    """Prints the times, and returns them."""
    times_s = []
    for scale in SCALES:
        # On a disk of its own: the logs of these are not kept.
        with tempfile.TemporaryDirectory() as place:
            target = Path(place) / "run"
            _play(console, request, target, ("--scale", str(scale)))
            times_s.append(_length_s(_figures(target)))
            shutil.rmtree(target, ignore_errors=True)
    knee = find_knee(SCALES, times_s)
    table = Table(title="time against size", title_justify="left", box=None, pad_edge=False)
    for name in ("factor", "length", ""):
        table.add_column(name, justify="right")
    for scale, time_s in zip(SCALES, times_s, strict=True):
        table.add_row(
            f"1/{round(1 / scale)}" if scale < 1 else "1",
            format_time(time_s * 1e9),
            format_share(time_s, times_s[0]),
        )
    console.print()
    console.print(table)
    if knee is None:
        console.print("there is no knee: one straight line fits the lengths as well as two")
    else:
        console.print(
            f"below a factor of {knee.scale:.2g} latency takes over: there time follows size to the "
            f"power {knee.small_exponent:.2f}, above it to the power {knee.large_exponent:.2f}"
        )
    picture = _save(console, plot_scaling(SCALES, times_s, knee), folder / "scaling.png")
    lengths = [{"scale": scale, "length_s": one} for scale, one in zip(SCALES, times_s, strict=True)]
    names = ("scale", "small_exponent", "large_exponent")
    found = None if knee is None else {name: getattr(knee, name) for name in names}
    return {"lengths": lengths, "knee": found, "picture": picture}


def _save(console: Console, figure: Figure | None, path: Path) -> str | None:
    """The path of the picture; None where there is nothing to draw."""
    if figure is None:
        return None
    write_file(path, lambda file: style.save(figure, file))
    console.print(f"wrote {escape(str(path))}")
    return str(path)
