#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_report_pictures.py [--build FOLDER] [NAME...]: makes docs/images/report-*.png anew, of real programs.

Each program is recorded on two ranks, its report is written, and Chromium takes pictures of a part of the page. NAME:
one of the programs; default all. Needs lammps, hpcc and chromium, which `apt-get install` brings, and plait-ring in
FOLDER (default build/release). Start it with the project's Python, .venv/bin/python, on a machine that does nothing
else.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

PROJECT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = PROJECT / "docs/images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SECONDS_MAX = 600
#: A drop of atoms in a box: the domain of rank 0 has most of them.
LAMMPS_INPUT = """
units lj
processors 2 1 1
atom_style atomic
lattice fcc 0.8442
region box block 0 40 0 16 0 16
create_box 1 box
region drop block 0 27 0 16 0 16
create_atoms 1 region drop
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 10 delay 0 check no
fix 1 all nve
thermo 20
run 200
"""
#: Of the example that Debian installs: a smaller problem, on one by two processes. RandomAccess sends messages in
#: proportion to its square: 1000 makes a gigabyte of records.
HPCC_EXAMPLE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
MPIEXEC = "mpiexec --oversubscribe --bind-to none -n 2"


@dataclass(frozen=True)
class Picture:
    name: str
    section: str  # of the page, by its id; "": from the top
    height: int  # pixels
    width: int = 1280


@dataclass(frozen=True)
class Program:
    name: str
    commands: tuple[str, ...]
    pictures: tuple[Picture, ...]
    files: dict[str, str] = field(default_factory=dict)


def programs(build: pathlib.Path) -> tuple[Program, ...]:
    ring = build / "apps/ring/plait-ring"
    hpcc = re.sub(r"\n1000 ", "\n400 ", HPCC_EXAMPLE.read_text()) if HPCC_EXAMPLE.exists() else ""
    hpcc = re.sub(r"\n2 +Ps", "\n1            Ps", hpcc)
    return (
        Program(
            "lammps",
            (f"plait record -o run -- {MPIEXEC} lmp -in drop.in",),
            (Picture("report-lammps", "", 960), Picture("report-lammps-lanes", "tasks", 460)),
            {"drop.in": LAMMPS_INPUT},
        ),
        Program(
            "ring",
            (
                f"{ring} init --n-radial 20 --n-azimuthal 500 --velocity-scatter 0.002 -o ring.hdf5",
                f"plait run -n 2 --workers 1 -o run -- {ring} run ring.hdf5 --steps 60",
            ),
            (Picture("report-ring", "", 680), Picture("report-ring-lanes", "tasks", 620)),
        ),
        Program(
            "hpcc",
            (f"plait record -o run -- {MPIEXEC} hpcc",),
            (Picture("report-hpcc", "", 960), Picture("report-hpcc-calls", "call-time", 820)),
            {"hpccinf.txt": hpcc},
        ),
    )


def run_in(folder: pathlib.Path, line: str) -> None:
    words = line.split()
    words = [sys.executable, "-m", *words] if words[0] == "plait" else words
    environment = {
        **{"PYTHONPATH": str(PROJECT / "python/src"), "OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
        **({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}),
        **os.environ,
    }
    subprocess.run(words, cwd=folder, env=environment, check=True, timeout=SECONDS_MAX)


def make(program: Program) -> None:
    with tempfile.TemporaryDirectory(prefix="plait-pictures-") as scratch:
        folder = pathlib.Path(scratch)
        for name, text in program.files.items():
            (folder / name).write_text(text)
        for line in (*program.commands, "plait report run"):
            run_in(folder, line)
        page = folder / "run/report/report.html"
        page.write_text(page.read_text().replace(f"{folder}/", "").replace(f"{PROJECT}/", ""))
        for picture in program.pictures:
            take(page, picture)
            print(f"wrote docs/images/{picture.name}.png")


def take(page: pathlib.Path, picture: Picture) -> None:
    """The part of the page that begins with a section: all before it is left out."""
    part = page.with_name(f"{picture.name}.html")
    others = f"main > :not(#{picture.section}) {{ display: none }}" if picture.section else "footer { display: none }"
    style = f"<style>{others} main {{ padding: 8px 12px }}</style></head>"
    part.write_text(page.read_text().replace("</head>", style, 1))
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        sys.exit("make_report_pictures.py: no Chromium here: apt-get install chromium")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="plait-chromium-") as profile:
        subprocess.run(
            [
                *(browser, "--headless", "--disable-gpu", "--hide-scrollbars", *sandbox),
                *(f"--user-data-dir={profile}", "--virtual-time-budget=20000"),
                f"--window-size={picture.width},{picture.height}",
                *(f"--screenshot={IMAGES / f'{picture.name}.png'}", part.as_uri()),
            ],
            check=True,
            capture_output=True,
            timeout=SECONDS_MAX,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs: lammps, ring, hpcc")
    parser.add_argument("--build", type=pathlib.Path, default=PROJECT / "build/release")
    options = parser.parse_args()
    known = {program.name: program for program in programs(options.build.resolve())}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        sys.exit(f"make_report_pictures.py: there is no {unknown[0]}; choose of {', '.join(known)}")
    for name in options.names or known:
        try:
            make(known[name])
        except (OSError, subprocess.SubprocessError) as error:
            sys.exit(f"make_report_pictures.py: {name}: {error}; nothing of it was written")


if __name__ == "__main__":
    main()
