# SPDX-License-Identifier: Apache-2.0
"""What benchmarks run, here or in a lab, and the numbers that it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

from plait._errors import PlaitError


def output_of(line: Sequence[str], variables: Mapping[str, str], seconds_max: float) -> str:
    """What a program prints, errors included. Raises if it fails."""
    done = subprocess.run(
        line,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds_max,
        check=False,
    )
    if done.returncode != 0:
        raise PlaitError(f"{done.stdout}\nfailed with status {done.returncode}: {' '.join(line)}")
    return done.stdout


def lab_line(ranks: int, command: Sequence[str], *options: str) -> list[str]:
    """The command on `ranks` ranks of a lab of two hosts."""
    return [sys.executable, "-m", "plait", "lab", *options, "-n", str(ranks), "--", *command]


def require_traffic(output: str, least_bytes: float = 1 << 20) -> None:
    """Raises if a lab, which has printed `output`, had next to nothing on its links."""
    sent = re.search(r"sent over the links: (.*)", output)
    hosts = re.findall(r"([\d.]+) (|K|M|G|T)i?B", sent.group(1)) if sent else []
    scales = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    if not any(float(amount) * scales[scale] >= least_bytes for amount, scale in hosts):
        raise PlaitError(f"next to nothing crossed the links of the lab:\n{output}")


def numbers(text: str) -> dict[str, list[float]]:
    """Of the lines that are a name and a number."""
    found: dict[str, list[float]] = {}
    for name, value in re.findall(r"^(\w+) ([\d.e+-]+)$", text, re.MULTILINE):
        found.setdefault(name, []).append(float(value))
    return found
