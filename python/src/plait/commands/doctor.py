# SPDX-License-Identifier: Apache-2.0
"""`plait doctor`: what is installed, what is missing and what for, and whether two ranks can talk."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from plait import _launcher as launcher
from plait import _networks as networks
from plait._errors import PlaitError
from plait._pingpong import Pingpong, measure_pingpong
from plait._strategy import age_in_words, describe_system, in_words, read_strategy
from plait._units import format_bytes, format_time
from plait.lab.outside import why_not

_GOOD, _MISSING = "good", "missing"


@dataclass(frozen=True)
class Finding:
    part: str
    state: str  # good or missing
    detail: str
    required: bool
    enables: str  # what it is good for
    install: str  # how to get it


def doctor(*, as_json: bool, quick: bool) -> int:
    """Prints the findings; 0 when the required parts are here and two ranks could talk."""
    findings = examine()
    pingpong = None if quick else _try_pingpong()
    good = all(f.state == _GOOD for f in findings if f.required)
    if pingpong is not None and pingpong.error:
        good = False
    if as_json:
        result = {
            "ok": good,
            "findings": [asdict(finding) for finding in findings],
            "pingpong": asdict(pingpong) if pingpong is not None else None,
        }
        print(json.dumps(result, indent=2))
    else:
        _print(findings, pingpong, good)
    return 0 if good else 1


def examine() -> list[Finding]:
    return [
        _machine(),
        _tool("C++ compiler", ("g++", "c++", "clang++"), True, "building plait", "g++"),
        _tool("CMake", ("cmake",), True, "building plait (3.25 or newer)", "cmake"),
        _tool("Ninja", ("ninja",), True, "building plait", "ninja-build"),
        _launcher_finding(),
        _tool("MPI compiler wrapper", ("mpicc",), True, "building the mpi driver", "libopenmpi-dev"),
        _second_mpi(),
        _lab(),
        _library("hwloc", False, "the benchmark membw", "libhwloc-dev"),
        _hdf5(),
        _library("libfabric", False, "the ofi driver (one-sided transport)", "libfabric-dev"),
        *_networks(),
        _strategy(),
        _library("fftw3", False, "the turbulence application", "libfftw3-dev"),
        _tool(
            "Chromium",
            ("chromium", "chromium-browser", "google-chrome"),
            False,
            "testing report pages",
            "chromium",
        ),
        *_packages(),
    ]


def _machine() -> Finding:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = launcher.available_cores()
    detail = f"{cores} cores usable, {format_bytes(memory)} memory, {_processor()}"
    return Finding("machine", _GOOD, detail, True, "", "")


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout or done.stderr).strip() if done.returncode == 0 else None


def _tool(part: str, names: tuple[str, ...], required: bool, enables: str, package: str) -> Finding:
    install = f"apt-get install {package}"
    for name in names:
        path = shutil.which(name)
        text = _output([path, "--version"]) if path else None
        if path and text is not None:
            line = text.splitlines()[0] if text else path
            return Finding(part, _GOOD, line, required, enables, install)
    return Finding(part, _MISSING, "", required, enables, install)


def _launcher_finding() -> Finding:
    enables, install = "running on more than one rank", "apt-get install openmpi-bin (or mpich)"
    try:
        found = launcher.find_launcher(None)
    except PlaitError as error:
        return Finding("MPI launcher", _MISSING, str(error), True, enables, install)
    detail = f"{found.family} {found.version} ({found.path})"
    return Finding("MPI launcher", _GOOD, detail, True, enables, install)


def _second_mpi() -> Finding:
    """An MPI beside the default one, which only `plait bench --mpi` uses."""
    enables, install = "comparing two MPIs: bench --mpi", "apt-get install mpich libmpich-dev"
    try:
        default = launcher.find_launcher(None).family
        mpi = "openmpi" if default == launcher.FAMILIES["mpich"] else "mpich"
        found = launcher.find_launcher_of(mpi)
    except PlaitError:
        return Finding("second MPI", _MISSING, "", False, enables, install)
    if shutil.which(f"mpicc.{mpi}") is None:
        detail = f"{found.family} {found.version} without mpicc.{mpi}"
        return Finding("second MPI", _MISSING, detail, False, enables, install)
    detail = f"{found.family} {found.version} ({found.path}), for bench --mpi {mpi}"
    return Finding("second MPI", _GOOD, detail, False, enables, install)


def _lab() -> Finding:
    enables, install = "plait lab, a cluster on this machine", "run as root, with iproute2 installed"
    reason = why_not()
    if reason is not None:
        return Finding("lab", _MISSING, reason, False, enables, install)
    return Finding(
        "lab", _GOOD, "namespaces, links and rate limits may be made", False, enables, install
    )


def _library(name: str, required: bool, enables: str, package: str) -> Finding:
    version = _output(["pkg-config", "--modversion", name])
    state = _GOOD if version else _MISSING
    return Finding(name, state, version or "", required, enables, f"apt-get install {package}")


def _hdf5() -> Finding:
    enables = "snapshots written by all ranks together"
    install = "apt-get install libhdf5-openmpi-dev (or libhdf5-mpich-dev)"
    for name in ("hdf5-openmpi", "hdf5-mpich"):
        version = _output(["pkg-config", "--modversion", name])
        if version:
            return Finding("HDF5, parallel", _GOOD, f"{version} ({name})", False, enables, install)
    serial = _output(["pkg-config", "--modversion", "hdf5"])
    detail = f"only serial {serial}" if serial else ""
    return Finding("HDF5, parallel", _MISSING, detail, False, enables, install)


def _networks() -> list[Finding]:
    choice = networks.chosen(dict(os.environ))
    detail = f"{choice['here']} to ranks of this host, {choice['elsewhere']} to others ({choice['why']})"
    return [
        Finding("network, as chosen", _GOOD, detail, False, "", ""),
        _shared_memory(networks.shared_memory()),
        _providers(networks.fabric_providers()),
    ]


def _shared_memory(shared: networks.SharedMemory | None) -> Finding:
    part, enables = (
        "network, shm",
        "messages past MPI between ranks of one host; they go through MPI until then",
    )
    install = "mount a tmpfs of at least 64 MiB on /dev/shm (a container's --shm-size)"
    if shared is None:
        return Finding(part, _MISSING, "there is no /dev/shm", False, enables, install)
    room = f"/dev/shm has {format_bytes(shared.free_bytes)} of {format_bytes(shared.total_bytes)} free"
    if shared.ranks_max < 2:
        return Finding(part, _MISSING, room, False, enables, install)
    copies = (
        "long messages are copied once, by the kernel"
        if shared.single_copy
        else f"long messages are copied twice, at about half the speed: {shared.why_not}"
    )
    return Finding(
        part, _GOOD, f"{room}, enough for {shared.ranks_max} ranks; {copies}", False, enables, install
    )


def _providers(providers: list[str] | None) -> Finding:
    part, enables, install = (
        "network, ofi",
        "PLAIT_NETWORK=ofi",
        "apt-get install libfabric-dev libfabric-bin",
    )
    if not providers:
        why = "fi_info is not installed" if providers is None else "libfabric finds no provider"
        return Finding(part, _MISSING, why, False, enables, install)
    return Finding(
        part, _GOOD, f"libfabric's providers: {', '.join(providers)}", False, enables, install
    )


def _strategy() -> Finding:
    part, enables = "strategy", "options that were measured to be better on this machine"
    install = "plait doctor --measure"
    setting = os.environ.get("PLAIT_STRATEGY") or "measured"
    if setting != "measured":
        return Finding(part, _GOOD, f"PLAIT_STRATEGY is {setting}", False, enables, install)
    try:
        system, path = describe_system()
        found = read_strategy(path, system)
    except PlaitError as error:
        return Finding(part, _MISSING, str(error), False, enables, install)
    if found is None:
        return Finding(part, _MISSING, "not measured yet", False, enables, install)
    detail = f"{in_words(found.choices)}; measured {age_in_words(found.measured)}, in {path}"
    return Finding(part, _GOOD, detail, False, enables, install)


def _packages() -> list[Finding]:
    wanted = {
        "numpy": ("reading traces", True),
        "polars": ("measures", True),
        "matplotlib": ("pictures", True),
        "h5py": ("pictures of bodies", True),
        "perfetto": ("report --perfetto, export", True),
        "otf2": ("export --format otf2", False),
    }
    found = []
    for name, (enables, required) in wanted.items():
        try:
            version, state = importlib.metadata.version(name), _GOOD
        except importlib.metadata.PackageNotFoundError:
            version, state = "", _MISSING
        install = f"pip install {name}"
        found.append(Finding(f"Python {name}", state, version, required, enables, install))
    return found


def _try_pingpong() -> Pingpong:
    try:
        return measure_pingpong()
    except PlaitError as error:
        return Pingpong(program="", error=str(error))


def _print(findings: list[Finding], pingpong: Pingpong | None, good: bool) -> None:
    console = Console(highlight=False)
    for finding in findings:
        part = f"{escape(finding.part):<22}"
        if finding.state == _GOOD:
            console.print(f"[green]ok     [/] {part} {escape(finding.detail)}", soft_wrap=True)
            continue
        word = "[red]missing[/]" if finding.required else "[yellow]absent [/]"
        need = "needed for" if finding.required else "would enable"
        detail = f"{escape(finding.detail)}; " if finding.detail else ""
        console.print(
            f"{word} {part} {detail}{need} {escape(finding.enables)}: {escape(finding.install)}",
            soft_wrap=True,
        )
    if pingpong is not None:
        _print_pingpong(console, pingpong)
    if good:
        console.print("All that plait needs is here.")
    else:
        console.print("[red]Something that plait needs is missing; see above.[/]")


def _print_pingpong(console: Console, pingpong: Pingpong) -> None:
    part = f"{'two ranks':<22}"
    if pingpong.error:
        console.print(f"[red]failed [/] {part} {escape(pingpong.error)}", soft_wrap=True)
        return
    latency = format_time(pingpong.latency_ns or 0.0)
    rate = (pingpong.bytes_per_s or 0.0) / 1e9
    console.print(
        f"[green]ok     [/] {part} 8 bytes in {latency}, 1 MiB at {rate:.3g} GB/s "
        f"({escape(pingpong.program)})",
        soft_wrap=True,
    )
