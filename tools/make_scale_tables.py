#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_scale_tables.py [--ranks LIST] [--build FOLDER] [NAME...]: simulates the applications on many ranks.

Each application runs under plait simulate with each number of ranks. For each one, this prints a table with what the
phases take of a rank, and makes docs/images/scale-NAME.png. NAME: ring, pic, sph, dns, cholesky; default all. --ranks:
default 64,256,1024. --keep FOLDER has the numbers as JSON, which a later call uses in the place of the runs. Start it
with the project's Python, .venv/bin/python. A thousand ranks take minutes and up to 8 GiB for each application.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from plait.measures.growth import exponent, phases
from plait.plots.style import add_axes, new_figure, save, title
from plait.readers.plait import read_run

PROJECT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = PROJECT / "docs/images"

SECONDS_MAX = 1800
SLOW_MAX, SENDING_MAX, CURVES_MAX = 8, 4, 5


@dataclass(frozen=True)
class Application:
    program: str
    arguments: tuple[str, ...]
    prepare: tuple[str, ...] = ()  # arguments of the program, run alone first
    recorded: tuple[str, ...] = ()  # of the program, recorded first on two ranks, for costs of tasks
    is_weak: bool = False  # {size} grows as the root of the ranks


APPLICATIONS = {
    "ring": Application(
        "ring/plait-ring",
        ("run", "ring.hdf5", "--steps", "1"),
        prepare=("init", "--n-radial", "64", "--n-azimuthal", "512", "-o", "ring.hdf5"),
    ),
    "pic": Application(
        "pic/plait-pic",
        (*("--cells", "512", "512", "--particles-per-cell", "4"), *("--steps", "5", "--way", "collection")),
    ),
    "sph": Application(
        "sph/plait-sph",
        (*("run", "--problem", "sedov", "--resolution", "32"), *("--time-steps", "equal", "--steps", "1")),
    ),
    "dns": Application("dns/plait-dns", ("--points", "64", "--steps", "2")),
    "cholesky": Application(
        "cholesky/plait-cholesky",
        ("--size", "{size}", "--tile", "512"),
        recorded=("--size", "4096", "--tile", "512"),
        is_weak=True,
    ),
}


PLAIT = (sys.executable, "-m", "plait")


def program_of(application: Application, build: pathlib.Path) -> str:
    return str(build.resolve() / "apps" / application.program)


def record(application: Application, build: pathlib.Path, folder: pathlib.Path) -> None:
    """Records what the simulations of all numbers of ranks charge for tasks."""
    command = [*PLAIT, "run", "--quiet", "-n", "2", "-o", "costs", program_of(application, build)]
    run([*command, *application.recorded], folder)


def simulate(application: Application, ranks: int, build: pathlib.Path, costs: pathlib.Path) -> dict[str, Any]:
    """Runs once, and returns the results of the command with `phases`: the columns of `growth.phases`."""
    program = program_of(application, build)
    with tempfile.TemporaryDirectory(prefix="plait-scale-") as name:
        folder = pathlib.Path(name)
        if application.prepare:
            run([program, *application.prepare], folder)
        words = [word.format(size=2048 * round(ranks**0.5)) for word in application.arguments]
        command = [*PLAIT, "simulate", "--quiet", "-n", str(ranks), "--platform", "fat-tree"]
        if application.recorded:
            command += ["--costs", str(costs / "costs"), "--skip-bodies"]
        command += ["--json", "results.json", "-o", "run", program, *words]
        run(command, folder)
        results: dict[str, Any] = json.loads((folder / "results.json").read_text())
        results["phases"] = phases(read_run(folder / "run")).to_dict(as_series=False)
    return results


def run(command: list[str], folder: pathlib.Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr[-2000:]}")


def values(runs: dict[int, dict[str, Any]], phase: str, column: str) -> dict[int, float]:
    """Of a phase, by ranks; 0 where a run has none."""
    found = {}
    for ranks, results in runs.items():
        names = results["phases"]["phase"]
        found[ranks] = results["phases"][column][names.index(phase)] if phase in names else 0.0
    return found


def named_phases(runs: dict[int, dict[str, Any]]) -> list[str]:
    """Those that take the most time, or send the most messages, on the most ranks; by their time."""
    last = runs[max(runs)]["phases"]
    chosen = {
        last["phase"][place]
        for column, count in (("time_ns", SLOW_MAX), ("messages", SENDING_MAX))
        for place in sorted(range(len(last["phase"])), key=lambda place: -last[column][place])[:count]
    }
    return [phase for phase in last["phase"] if phase in chosen]


def growth(by_ranks: dict[int, float]) -> str:
    power = exponent(by_ranks)
    return "" if power is None else f"{power:+.1f}"


def table(runs: dict[int, dict[str, Any]]) -> str:
    """Markdown: time and messages of a rank by phase, each with its growth, and the run as a whole."""
    head = ["phase", *(f"µs, {n}" for n in runs), "grows", *(f"sent, {n}" for n in runs), "grows"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for phase in named_phases(runs):
        times, sent = values(runs, phase, "time_ns"), values(runs, phase, "messages")
        cells = [phase, *(f"{t / 1e3:.0f}" for t in times.values()), growth(times)]
        lines.append("| " + " | ".join([*cells, *(f"{m:.1f}" for m in sent.values()), growth(sent)]) + " |")
    lines += ["", "| ranks | simulated | takes | memory | memory of a rank |", "|---|---|---|---|---|"]
    for ranks, results in runs.items():
        memory = results["memory_bytes"]
        lines.append(
            f"| {ranks} | {results['simulated_s'] * 1e3:.3g} ms | {results['real_s']:.3g} s | "
            f"{memory / 2**30:.2g} GiB | {memory / ranks / 2**20:.2g} MiB |"
        )
    return "\n".join(lines)


def draw(name: str, runs: dict[int, dict[str, Any]]) -> None:
    """Time of the phases, messages of the phases, and memory, against ranks."""
    figure = new_figure(12, 5)
    time_axes, message_axes, memory_axes = add_axes(figure, 1, 3)
    ranks = list(runs)
    for column, axes, scale in (("time_ns", time_axes, 1e-3), ("messages", message_axes, 1.0)):
        largest = sorted(named_phases(runs), key=lambda phase: -values(runs, phase, column)[max(runs)])
        for phase in largest[:CURVES_MAX]:
            axes.plot(ranks, [scale * v for v in values(runs, phase, column).values()], "o-", label=phase)
    time_axes.plot(ranks, [1e6 * r["simulated_s"] for r in runs.values()], "k--", label="the whole run")
    memory_axes.plot(ranks, [r["memory_bytes"] / n / 2**20 for n, r in runs.items()], "o-")
    title(time_axes, f"plait-{name}: µs of a rank")
    title(message_axes, "messages that a rank sends")
    title(memory_axes, "MiB of a rank")
    for axes in (time_axes, message_axes, memory_axes):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [str(n) for n in ranks])
        axes.set_xlabel("ranks")
        axes.grid(visible=True)
    for axes in (time_axes, message_axes):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # the style has no mathematics in texts
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    memory_axes.set_ylim(0, None)
    IMAGES.mkdir(exist_ok=True)
    with (IMAGES / f"scale-{name}.png").open("wb") as file:
        save(figure, file)


def all_runs(name: str, options: argparse.Namespace, costs: pathlib.Path) -> dict[int, dict[str, Any]]:
    runs = {}
    application = APPLICATIONS[name]
    for ranks in map(int, options.ranks.split(",")):
        kept = options.keep / f"{name}-{ranks}.json" if options.keep else None
        if kept is not None and kept.is_file():
            runs[ranks] = json.loads(kept.read_text())
            continue
        if application.recorded and not (costs / "costs").is_dir():
            record(application, options.build, costs)
        runs[ranks] = simulate(application, ranks, options.build, costs)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(runs[ranks]))
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *APPLICATIONS])
    parser.add_argument("--ranks", default="64,256,1024")
    parser.add_argument("--build", type=pathlib.Path, default=PROJECT / "build/release")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    for name in options.names or APPLICATIONS:
        with tempfile.TemporaryDirectory(prefix="plait-costs-") as costs:
            runs = all_runs(name, options, pathlib.Path(costs))
        print(f"\n## plait-{name}\n\n{table(runs)}", flush=True)
        draw(name, runs)


if __name__ == "__main__":
    main()
