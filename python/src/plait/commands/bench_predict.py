# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict`: exchanges on the real network against their prediction, by fitted parameters.

The parameters are those of `plait-calibrate`, which runs none of the exchanges that are compared. Of
many repetitions the best counts: what the exchange takes when nothing else runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plait import _launcher as launcher
from plait._build import find_program
from plait._calibration import Calibration, costs_of, describe, platform_of, read_calibration
from plait._errors import PlaitError, Status
from plait._files import make_folder, write_text
from plait.commands.bench import Wishes
from plait.lab.outside import run as run_lab
from plait.lab.settings import Lab, Work, parse_rate

TARGET = 0.15
_REPETITIONS = 60
_TABLE_WIDTH = 110


@dataclass(frozen=True)
class Exchange:
    name: str
    description: str

    def on(self, ranks: int) -> str:
        return self.description.format(ranks=ranks, pairs=ranks * (ranks - 1))


#: `pairs` is the number of messages of a step over all ranks.
EXCHANGES = (
    Exchange("halo", "pattern=halo,ranks={ranks},mean=24KiB,pairs={pairs}0,steps=4"),
    Exchange("all-to-all", "pattern=all-to-all,ranks={ranks},mean=100KiB,steps=10"),
    Exchange(
        "multicast", "pattern=multicast,ranks={ranks},mean=48KiB,steps=10,distribution=exponential"
    ),
    Exchange(
        "random small",
        "pattern=random,ranks={ranks},pairs=500,mean=300,distribution=exponential,steps=2",
    ),
    Exchange("few large", "pattern=few-large,ranks={ranks},pairs=4,mean=3MiB,steps=1"),
    Exchange(
        "with computing", "pattern=nearest,ranks={ranks},mean=20KiB,compute=100us,overlap=60us,steps=4"
    ),
)


@dataclass(frozen=True)
class Compared:
    exchange: str
    messages: int
    replay_s: float  # best of all repetitions
    #: Between the best of two replays, as part of the better.
    noise: float
    #: The median repetition over the best: what else ran here.
    disturbance: float
    predicted_s: float
    error: float
    message_error_p50: float
    message_error_p90: float


class Network:
    """Where replays run: here, or between hosts of a lab."""

    def __init__(self, wishes: Wishes, folder: Path) -> None:
        self._wishes = wishes
        self._folder = folder
        self._count = 0
        self.ranks = wishes.ranks if wishes.ranks is not None else max(2, wishes.hosts or 0)
        self.is_lab = wishes.needs_lab

    @property
    def name(self) -> str:
        if not self.is_lab:
            return f"{self.ranks} ranks on this host"
        return f"{self.ranks} ranks on {self._hosts} hosts of the lab, {self._wishes.rate or '1gbit'}"

    @property
    def _hosts(self) -> int:
        return self._wishes.hosts if self._wishes.hosts is not None else 2

    @property
    def ranks_per_host(self) -> int:
        return -(-self.ranks // self._hosts) if self.is_lab else self.ranks

    def replay(self, description: str, repetitions: int = _REPETITIONS) -> tuple[Path, list[float]]:
        """The log's folder, and how long each repetition took, in seconds."""
        self._count += 1
        log = self._folder / f"replay-{self._count}"
        program = (
            *("sh", "-c", 'exec "$@" >/dev/null', "sh"),
            *(str(find_program("plait-replay")), "--synthetic", description),
            *("--repeat", str(repetitions), "-o", str(log)),
        )
        status = self._run(program, self.ranks)
        if status != 0:
            raise PlaitError(
                f"the replay of {description} failed with status {status}; its message is above"
            )
        told = json.loads((log / "replay.json").read_text(encoding="utf-8"))
        return log, [float(repetition["length_s"]) for repetition in told["repetitions"]]

    def calibration(self) -> Calibration:
        """Of messages between two ranks, on different hosts in a lab."""
        file = self._folder / "calibration.json"
        status = self._run((str(find_program("plait-calibrate")), "-o", str(file)), 2)
        if status != 0:
            raise PlaitError(f"plait-calibrate failed with status {status}; its message is above")
        return read_calibration(file)

    def _run(self, program: tuple[str, ...], ranks: int) -> int:
        found = launcher.find_launcher_of(self._wishes.mpi)
        if self.is_lab:
            rate = Lab.bits_per_s if self._wishes.rate is None else parse_rate(self._wishes.rate)
            hosts = min(self._hosts, ranks)
            return run_lab(Work(Lab(hosts, rate, ranks), found, program))
        place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
        line, environment = launcher.launch_command(found, place, program)
        return subprocess.run(line, env={**os.environ, **environment}, check=False).returncode


def run(arguments: tuple[str, ...], *, json_file: Path | None, wishes: Wishes) -> int:
    if arguments:
        raise PlaitError(
            f"plait bench predict knows no {arguments[0]}; --ranks, --hosts, --rate, --json",
            status=Status.usage,
        )
    if wishes.mpi is not None:
        raise PlaitError(
            "plait bench predict runs with the MPI that plait-replay was built with; leave --mpi out",
            status=Status.usage,
        )
    console = Console(highlight=False, soft_wrap=True, width=_TABLE_WIDTH)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="plait-predict-") as scratch:
        network = Network(wishes, Path(scratch))
        found = network.calibration()
        platform = Path(scratch) / "platform.json"
        inside = found if found.is_within_host else None
        contents = platform_of("calibrated", found, inside, ranks_per_host=network.ranks_per_host)
        platform.write_text(json.dumps(contents), encoding="utf-8")
        console.print(escape(f"{network.name}; {describe(found)}"))
        lines = [compare(network, exchange, platform) for exchange in EXCHANGES]
    console.print(table_of(lines))
    worst = max(lines, key=lambda line: abs(line.error))
    within = sum(abs(line.error) <= TARGET for line in lines)
    console.print(
        f"{within} of {len(lines)} within {100 * TARGET:.0f} %; "
        f"worst: {worst.exchange}, {100 * worst.error:+.1f} % "
        f"(two replays of it differ by {100 * worst.noise:.1f} %)"
    )
    if json_file is not None:
        make_folder(json_file.parent)
        result = to_json(lines, found, network.name, time.monotonic() - begin)
        write_text(json_file, json.dumps(result, indent=2) + "\n")
    return 0


def compare(network: Network, exchange: Exchange, platform: Path) -> Compared:
    description = exchange.on(network.ranks)
    replays = [network.replay(description) for _ in range(2)]
    log, _ = min(replays, key=lambda replay: replay[1][-1])  # the log is of the last repetition
    bests = sorted(min(seconds) for _, seconds in replays)
    result = log / "prediction.json"
    command = [
        str(find_program("plait-predict")),
        "--synthetic",
        description,
        "--platform",
        str(platform),
    ]
    command += ["--against", str(log), "--json", str(result), "--no-advice"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlaitError(f"the prediction of {description} failed: {done.stderr.strip()}")
    told: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    predicted = told["lines"][0]["total_ns"] / 1e9
    middle = float(np.median([second for _, seconds in replays for second in seconds]))
    return Compared(
        exchange=exchange.name,
        messages=int(told["against"]["messages"]),
        replay_s=bests[0],
        noise=bests[1] / bests[0] - 1,
        disturbance=middle / bests[0] - 1,
        predicted_s=predicted,
        error=predicted / bests[0] - 1,
        message_error_p50=float(told["against"]["message_error_p50"]),
        message_error_p90=float(told["against"]["message_error_p90"]),
    )


def table_of(lines: list[Compared]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("exchange", no_wrap=True)
    for heading in ("messages", "replay", "again", "median", "predicted", "error", "message p50", "p90"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            line.exchange,
            str(line.messages),
            f"{1e3 * line.replay_s:.3f} ms",
            f"+{100 * line.noise:.1f} %",
            f"+{100 * line.disturbance:.0f} %",
            f"{1e3 * line.predicted_s:.3f} ms",
            f"{100 * line.error:+.1f} %",
            f"{100 * line.message_error_p50:.0f} %",
            f"{100 * line.message_error_p90:.0f} %",
        )
    return table


def to_json(lines: list[Compared], found: Calibration, network: str, seconds: float) -> dict[str, Any]:
    return {
        "bench": "predict",
        "network": network,
        "seconds": seconds,
        "costs": asdict(costs_of(found)),
        "results": [asdict(line) for line in lines],
    }
