# SPDX-License-Identifier: Apache-2.0
"""What a lab is to be: its hosts, the rate of their links, and what runs on them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from plait._errors import PlaitError, Status
from plait._launcher import Launcher

HOSTS_MAX = 16
#: The most rails that the engine uses.
LINKS_MAX = 8
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)bit(?:/s)?", re.IGNORECASE)
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True)
class Lab:
    hosts: int = 2
    #: Of every link, in each direction.
    bits_per_s: float = 1e9
    #: In all; host after host is filled with consecutive ranks. None: one on each host.
    ranks: int | None = None
    #: Whether each host gets cores of its own, where there are enough of them.
    binds: bool = True
    #: Of each host, to networks of their own.
    links: int = 1

    def __post_init__(self) -> None:
        if not 2 <= self.hosts <= HOSTS_MAX:
            raise PlaitError(
                f"--hosts {self.hosts}: a lab has 2 to {HOSTS_MAX} hosts", status=Status.usage
            )
        if self.rank_count < self.hosts:
            raise PlaitError(
                f"{self.rank_count} ranks do not fill {self.hosts} hosts; ask for fewer hosts",
                status=Status.usage,
            )
        if not 1 <= self.links <= LINKS_MAX:
            raise PlaitError(
                f"--links {self.links}: a host has 1 to {LINKS_MAX} links", status=Status.usage
            )
        if not 1e6 <= self.bits_per_s <= 100e9:
            raise PlaitError("a link's rate is 1mbit to 100gbit", status=Status.usage)

    @property
    def rank_count(self) -> int:
        return self.hosts if self.ranks is None else self.ranks

    @property
    def label(self) -> str:
        links = "" if self.links == 1 else f"{self.links} links of "
        return f"{self.hosts} hosts, {links}{format_rate(self.bits_per_s)}"

    @property
    def interfaces(self) -> list[str]:
        """The names of a host's links, as the host has them."""
        return [f"eth{link}" for link in range(self.links)]

    def ranks_of(self, host: int) -> int:
        return self.rank_count // self.hosts + (1 if host < self.rank_count % self.hosts else 0)

    def has_own_cores(self, core_count: int) -> bool:
        """Whether each host has cores that no other one uses."""
        return self.binds and core_count >= self.hosts

    def cores_of(self, host: int, cores: list[int]) -> list[int]:
        """An equal share of the machine's cores; all of them where there are fewer cores than hosts."""
        share = len(cores) // self.hosts
        return cores[host * share : (host + 1) * share] if self.has_own_cores(len(cores)) else cores


@dataclass(frozen=True)
class Work:
    """Arguments of the first process of a lab: the lab, and what to run in it; no launcher: nothing."""

    lab: Lab
    launcher: Launcher | None
    program: tuple[str, ...]
    #: Whether the lab reports nothing of itself.
    quiet: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Work:
        told = json.loads(text)
        launcher = None
        if told["launcher"]:
            launcher = Launcher(**{**told["launcher"], "words": tuple(told["launcher"]["words"])})
        return Work(Lab(**told["lab"]), launcher, tuple(told["program"]), told["quiet"])


def parse_rate(text: str) -> float:
    """Bits per second, written as tc does: 100mbit, 1gbit, 2.5gbit."""
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise PlaitError(
            f"--rate {text} is no rate; write it like 100mbit, 1gbit or 2.5gbit", status=Status.usage
        )
    return float(found.group(1)) * _SCALES[found.group(2).lower()]


def format_rate(bits_per_s: float) -> str:
    scale, unit = (1e9, "Gbit/s") if bits_per_s >= 1e9 else (1e6, "Mbit/s")
    return f"{bits_per_s / scale:.3g} {unit}"
