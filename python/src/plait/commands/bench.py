# SPDX-License-Identifier: Apache-2.0
"""`plait bench`: finds the built benchmarks and runs one where it wants to run: here, or in a lab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from plait import _launcher as launcher
from plait._build import bench_folder_of, build_bench, build_folder
from plait._errors import PlaitError, Status
from plait._files import make_folder, write_text
from plait.benches.report import wanted_in_words
from plait.lab.outside import run as run_lab
from plait.lab.outside import why_not
from plait.lab.settings import Lab, Work, parse_rate

_PREFIX = "bench_"
#: Those that are Python: their module, and what they show.
MODULES = {
    "accelerate": (
        "plait.benches.accelerate",
        "messages of MPI programs match in constant time and move while the program computes",
    ),
    "families": (
        "plait.benches.families",
        "replays and predictions of five MPI programs with computing are within 10 % of the programs",
    ),
    "predict": (
        "plait.commands.bench_predict",
        "prediction with fitted parameters is within 15 % of the replay, for six different exchanges",
    ),
    "predict-programs": (
        "plait.benches.predict_programs",
        "replays and predictions of HPCC's PTRANS, FFT and HPL and of plait's ring are within 10 %",
    ),
    "predict-tasks": (
        "plait.commands.bench_predict_tasks",
        "runs of tasks on other workers and ranks are predicted within 10 %",
    ),
    "python": (
        "plait.benches.python",
        "messages of NumPy arrays move while NumPy computes; transforms and gravity of Python programs",
    ),
}
#: Modules of plait.benches: they need no build of benchmarks.
_IN_PYTHON = ("export", "read")

Command = tuple[str, ...]
#: What a benchmark's JSON object holds; bench/support/report.cpp writes it.
JSON_KEYS = ("bench", "commit", "machine", "network", "command", "seconds", "results")


@dataclass(frozen=True)
class Wishes:
    """Where the command line wants a benchmark to run; None and False: where that itself wants to."""

    ranks: int | None = None
    hosts: int | None = None
    rate: str | None = None
    here: bool = False
    mpi: str | None = None
    links: int | None = None

    @property
    def needs_lab(self) -> bool:
        return self.hosts is not None or self.rate is not None or self.links is not None


def list_benches() -> None:
    benches = _benches(build_folder())
    console = Console(highlight=False)
    if len(benches) == len(_IN_PYTHON):
        console.print(
            f"no benchmarks in {escape(str(build_folder() / 'bench'))}; build them with: cmake --preset "
            "release && cmake --build --preset release. These need no build:",
            soft_wrap=True,
        )
    claims = {name: str(_describe(command).get("claim", "")) for name, command in benches.items()}
    claims |= {name: claim for name, (_, claim) in MODULES.items()}
    width = max(map(len, claims))
    for name, claim in sorted(claims.items()):
        console.print(f"  {name:<{width}}  {escape(claim)}", soft_wrap=True)
    console.print("run one with: plait bench NAME [--json FILE]")


def run_bench(name: str, arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if wishes.here and wishes.needs_lab:
        raise PlaitError(
            "--here is without a lab, --hosts, --rate and --links are the lab's; give one",
            status=Status.usage,
        )
    # Figures are of the defaults, unless the user wants a strategy's.
    os.environ.setdefault("PLAIT_STRATEGY", "default")
    if name in MODULES:
        module = import_module(MODULES[name][0])
        return int(module.run(arguments, json_file=json_file, wishes=wishes))
    program = find_bench(name, wishes.mpi)
    told = _describe(program)
    results = []
    rank_counts = [wishes.ranks] if wishes.ranks is not None else _rank_counts(told)
    needs_results = json_file is not None or len(rank_counts) > 1
    with tempfile.TemporaryDirectory(prefix="plait-bench-") as scratch:
        for ranks in rank_counts:
            result = Path(scratch) / f"{ranks}.json"
            extra = ("--json", str(result)) if needs_results else ()
            status = _run_once((*program, *arguments, *extra), ranks, told, wishes)
            if status != 0:
                raise PlaitError(
                    f"the benchmark {name} failed with exit status {status}; its own message is above",
                    status=status if 0 < status < 256 else 1,
                )
            if needs_results:
                results.append((ranks, _checked(name, result)))
        if len(results) > 1:
            _print_all_wanted(results)
        if json_file is not None:
            make_folder(json_file.parent)
            write_text(json_file, json.dumps(_joined(results), indent=2) + "\n")
    return 0


def _benches(build: Path) -> dict[str, Command]:
    """What starts each."""
    folder = build / "bench"
    found = sorted(folder.glob(f"{_PREFIX}*")) if folder.is_dir() else []
    built = {
        path.name.removeprefix(_PREFIX): (str(path),)
        for path in found
        if path.is_file() and os.access(path, os.X_OK)
    }
    own = {name: (sys.executable, "-m", f"plait.benches.{name}") for name in _IN_PYTHON}
    return dict(sorted({**built, **own}.items()))


def find_bench(name: str, mpi: str | None = None) -> Command:
    """What starts a benchmark. Raises PlaitError when it is not built, but builds it for another MPI."""
    build = build_folder()
    if name in _IN_PYTHON:
        return _benches(build)[name]
    if mpi is not None and not _is_default(mpi):
        build = bench_folder_of(mpi)
        print(f"building {_PREFIX}{name} with {launcher.FAMILIES[mpi]} in {build}", flush=True)
        build_bench(mpi, f"{_PREFIX}{name}")
    benches = _benches(build)
    if name not in benches:
        known = f"known are {', '.join(benches)}"
        raise PlaitError(f"there is no benchmark {name} in {build / 'bench'}; {known}")
    return benches[name]


def _is_default(mpi: str) -> bool:
    """Whether the ordinary build has this MPI already."""
    wanted = launcher.find_launcher_of(mpi).family
    try:
        return launcher.find_launcher(None).family == wanted
    except PlaitError:
        return False


def _describe(command: Command) -> dict[str, Any]:
    """The description of the benchmark: its claim, how many ranks it wants, and where."""
    try:
        done = subprocess.run(
            [*command, "--describe"], capture_output=True, text=True, timeout=20, check=False
        )
        told = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return told if isinstance(told, dict) else {}


def _rank_counts(told: dict[str, Any]) -> list[int]:
    ranks = told.get("ranks")
    counts = [
        count for count in (ranks if isinstance(ranks, list) else [ranks]) if isinstance(count, int)
    ]
    return counts or [1]


def _run_once(command: tuple[str, ...], ranks: int, told: dict[str, Any], wishes: Wishes) -> int:
    wants_lab = told.get("network") == "lab" and not wishes.here
    if "--model" in command:
        return subprocess.run(command, check=False).returncode
    if wants_lab or wishes.needs_lab:
        reason = why_not()
        if reason is None or wishes.needs_lab:
            return _run_in_lab(command, ranks, told, wishes)
        if told.get("model", True):
            print(
                f"no lab here: {reason}; what follows is a model's network, not a measured one",
                flush=True,
            )
            return subprocess.run([*command, "--model"], check=False).returncode
        print(f"no lab here: {reason}; what follows is measured within this host", flush=True)
    if ranks == 1 and wishes.ranks is None:
        return subprocess.run(command, check=False).returncode
    place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
    found = launcher.find_launcher_of(wishes.mpi)
    line, environment = launcher.launch_command(found, place, command)
    return subprocess.run(line, env={**os.environ, **environment}, check=False).returncode


def _run_in_lab(command: tuple[str, ...], ranks: int, told: dict[str, Any], wishes: Wishes) -> int:
    hosts = wishes.hosts if wishes.hosts is not None else ranks
    rate = Lab.bits_per_s if wishes.rate is None else parse_rate(wishes.rate)
    total = ranks if wishes.ranks is not None else max(ranks, hosts)
    links = wishes.links if wishes.links is not None else int(told.get("links", 1))
    lab = Lab(hosts, rate, total, links=links)
    return run_lab(Work(lab, launcher.find_launcher_of(wishes.mpi), command))


def _checked(name: str, path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlaitError(f"the benchmark {name} wrote no readable JSON ({error})") from error
    missing = [key for key in JSON_KEYS if not isinstance(result, dict) or key not in result]
    if missing:
        raise PlaitError(f"the JSON of the benchmark {name} lacks {', '.join(missing)}")
    return dict(result)


def _print_all_wanted(results: list[tuple[int, dict[str, Any]]]) -> None:
    """Each run has reported its own wanted figures; this is about all of them."""
    lines = wanted_in_words(_joined(results)["results"])
    if lines:
        print(f"\nwith {' and '.join(str(ranks) for ranks, _ in results)} ranks: {lines[0]}")
    for line in lines[1:]:
        print(line)


def _joined(results: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """One object of several runs, whose results then have their number of ranks."""
    first = results[0][1]
    if len(results) == 1:
        return first
    rows = [
        {**row, "params": {**row["params"], "ranks": str(ranks)}}
        for ranks, result in results
        for row in result["results"]
    ]
    networks = dict.fromkeys(str(result["network"]) for _, result in results)
    seconds = sum(result["seconds"] for _, result in results)
    return {**first, "network": "; ".join(networks), "seconds": seconds, "results": rows}
