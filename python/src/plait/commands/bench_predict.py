# SPDX-License-Identifier: Apache-2.0
"""`plait bench predict`: exchanges on the real network against their prediction, by fitted parameters.

The parameters are fitted to replays of single messages and of bursts, which are none of the exchanges
that are compared. Of many repetitions the best counts: what the exchange takes when nothing else runs.
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
from plait._errors import PlaitError, Status
from plait._files import make_folder, write_text
from plait._fit import Burst, Fit, OneWay, fit, pairwise_growth, to_platform
from plait.commands.bench import Wishes
from plait.commands.fit import describe
from plait.lab.outside import run as run_lab
from plait.lab.settings import Lab, Work, parse_rate

TARGET = 0.15
_SIZES = tuple(1 << power for power in (3, 7, 9, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22))
#: Of bursts: bytes, and how many messages, from which the time of one more follows.
_BURSTS = (
    (8, (64, 160, 256)),
    (256, (64, 160)),
    (1024, (64, 160)),
    (1 << 15, (4, 16)),
    (1 << 20, (2, 6)),
)
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
        status = self._run(program, int(description.split("ranks=")[1].split(",")[0]))
        if status != 0:
            raise PlaitError(
                f"the replay of {description} failed with status {status}; its message is above"
            )
        told = json.loads((log / "replay.json").read_text(encoding="utf-8"))
        return log, [float(repetition["length_s"]) for repetition in told["repetitions"]]

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
        found = calibrate(network)
        platform = Path(scratch) / "platform.json"
        inside = None if network.is_lab else found.costs
        contents = to_platform("fitted", found.costs, inside, ranks_per_host=network.ranks_per_host)
        platform.write_text(json.dumps(contents), encoding="utf-8")
        console.print(
            escape(
                f"{network.name}; {describe('fitted to replays of single messages and bursts', found)}"
            )
        )
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


def calibrate(network: Network) -> Fit:
    """Costs from ping-pongs (a multicast of two ranks has its root at each in turn) and bursts."""
    one_way = []
    for size in _SIZES:
        steps = 2 * max(1, min(50, (1 << 18) // size))
        _, seconds = network.replay(f"pattern=multicast,ranks=2,mean={size},pairs=1,steps={steps}")
        one_way.append(OneWay(size, 1e9 * min(seconds) / steps))
    bursts = []
    for pattern, ways in (("multicast", 1), ("nearest", 2)):
        for size, counts in _BURSTS:
            times = []
            for count in counts:
                pairs = f"mean={size},pairs={count * ways},steps=2"
                _, seconds = network.replay(f"pattern={pattern},ranks=2,{pairs}")
                times.append((count, 1e9 * min(seconds) / 2))
            bursts.append(Burst(size, pairwise_growth(times), both_ways=ways == 2))
    return fit(one_way, bursts)


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


def to_json(lines: list[Compared], found: Fit, network: str, seconds: float) -> dict[str, Any]:
    return {
        "bench": "predict",
        "network": network,
        "seconds": seconds,
        "costs": asdict(found.costs),
        "residual": asdict(found.residual),
        "results": [asdict(line) for line in lines],
    }
