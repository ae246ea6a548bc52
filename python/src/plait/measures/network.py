# SPDX-License-Identifier: Apache-2.0
"""The costs of messages that the times of a run are compared with, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait import _sources as sources
from plait._errors import PlaitError
from plait._files import make_folder, write_text
from plait._fit import Costs, costs_of_platform
from plait.measures.overlap import Link

#: In a run's folder: a platform that `plait fit` or `plait doctor --collectives` wrote.
PLATFORM_FILE = "platform.json"
#: Where there is nothing to go by: 1 us and 10 GB/s, of a network of 100 Gbit/s and a usual MPI.
DEFAULT = Costs(
    latency_ns=500.0,
    send_overhead_ns=250.0,
    receive_overhead_ns=250.0,
    overhead_per_byte_ns=0.0,
    gap_ns=0.0,
    gap_per_byte_ns=0.1,
    eager_bytes_max=1 << 50,
    rendezvous_ns=0.0,
)


@dataclass(frozen=True)
class Network:
    costs: Costs
    source: str  # as in "beside what their bytes need by ..."


def network_of(folder: Path, meta: Mapping[str, Any], link: Link | None) -> Network:
    """Of a run: the platform in its folder; else what `plait doctor --collectives` measured between its
    hosts with its MPI; else that of the run's own messages; else the default.

    Raises PlaitError when the platform in the folder cannot be read.
    """
    hosts = sorted({str(host) for host in meta.get("hosts") or ()})
    within = len(hosts) < 2
    own = folder / PLATFORM_FILE
    if own.is_file():
        return Network(_read(own, within=within), f"the platform in {own.name}")
    measured = measured_file(hosts, str(meta.get("mpi") or ""))
    if hosts and measured.is_file():
        return Network(_read(measured, within=within), "what `plait doctor --collectives` measured here")
    if link is not None and link.bytes_per_ns < float("inf"):
        return Network(_of_link(link), "the quickest messages of this run")
    return Network(DEFAULT, "a network of 1 µs and 10 GB/s, as nothing was measured")


def measured_file(hosts: list[str], mpi: str) -> Path:
    """Where `plait doctor --collectives` keeps the platform of these hosts. `mpi`: its version."""
    return sources.user_cache() / "platforms" / f"{sources.label('-'.join(sorted(hosts)), mpi)}.json"


def keep_measured(file: Path, platform: dict[str, Any]) -> None:
    make_folder(file.parent)
    write_text(file, json.dumps(platform, indent=2) + "\n")


def _read(path: Path, *, within: bool) -> Costs:
    try:
        return costs_of_platform(json.loads(path.read_text(encoding="utf-8")), within_host=within)
    except (OSError, ValueError) as error:
        raise PlaitError(
            f"{path} cannot be read as a platform ({error}); make it with plait fit"
        ) from error


def _of_link(link: Link) -> Costs:
    """Half of a small message's time is the network's, a quarter each rank's."""
    return Costs(
        latency_ns=link.latency_ns / 2,
        send_overhead_ns=link.latency_ns / 4,
        receive_overhead_ns=link.latency_ns / 4,
        overhead_per_byte_ns=0.0,
        gap_ns=0.0,
        gap_per_byte_ns=1.0 / link.bytes_per_ns,
        eager_bytes_max=1 << 50,
        rendezvous_ns=0.0,
    )
