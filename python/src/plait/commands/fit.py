# SPDX-License-Identifier: Apache-2.0
"""`plait fit`: a platform file from measured messages."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from plait import _launcher as launcher
from plait._build import find_program
from plait._calibration import Calibration, describe, platform_of, read_calibration
from plait._errors import PlaitError
from plait._files import make_folder, write_text


def fit_platform(
    between: Path | None, within: Path | None, *, output: Path, name: str, ranks_per_host: int
) -> None:
    """From files of plait-calibrate; without any, measures here. Raises for a file of the other kind."""
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="plait-fit-") as scratch:
        if between is None and within is None:
            within = _measure_here(Path(scratch) / "within.json")
        within_host = _read(within, is_within_host=True) if within else None
        between_hosts = _read(between, is_within_host=False) if between else None
    found = [one for one in (between_hosts, within_host) if one is not None]
    for calibration in found:
        console.print(escape(describe(calibration)))
    platform = platform_of(name, found[0], within_host, ranks_per_host=ranks_per_host)
    make_folder(output.parent)
    write_text(output, json.dumps(platform, indent=2) + "\n")
    console.print(
        f"wrote {escape(str(output))}; predict with: plait predict LOG --platform {escape(str(output))}"
    )


def _read(file: Path, *, is_within_host: bool) -> Calibration:
    calibration = read_calibration(file)
    if calibration.is_within_host != is_within_host:
        measured, other = (
            ("within a host", "--within")
            if calibration.is_within_host
            else ("between hosts", "--between")
        )
        raise PlaitError(f"{file} was measured {measured}; give it as {other}")
    return calibration


def _measure_here(file: Path) -> Path:
    """Between two ranks of this host."""
    program = (str(find_program("plait-calibrate")), "-o", str(file))
    place = launcher.Placement(2, 1, launcher.available_cores(), "auto")
    line, variables = launcher.launch_command(launcher.find_launcher(None), place, program)
    done = subprocess.run(line, env={**os.environ, **variables}, check=False)
    if done.returncode != 0:
        raise PlaitError(f"plait-calibrate failed with status {done.returncode}; its message is above")
    return file
