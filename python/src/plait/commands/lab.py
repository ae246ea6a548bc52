# SPDX-License-Identifier: Apache-2.0
"""`plait lab`: runs a program on a small cluster inside this machine."""

from __future__ import annotations

import shutil

from plait import _launcher as launcher
from plait._errors import PlaitError, Status
from plait.lab.outside import run
from plait.lab.settings import Lab, Work, parse_rate


def run_lab(
    program: tuple[str, ...],
    *,
    hosts: int,
    rate: str,
    ranks: int | None,
    mpi: str | None,
    binds: bool,
    links: int,
    quiet: bool = False,
) -> int:
    lab = Lab(hosts, parse_rate(rate), ranks, binds, links)
    if not program:
        return run(Work(lab, None, (), quiet))
    path = shutil.which(program[0])
    if path is None:
        raise PlaitError(f"there is no program {program[0]}", status=Status.not_found)
    return run(Work(lab, launcher.find_launcher_of(mpi), (path, *program[1:]), quiet))
