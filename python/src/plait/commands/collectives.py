# SPDX-License-Identifier: Apache-2.0
"""`plait doctor --collectives`: which collectives of the MPI take longer here than their bytes need."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plait import _launcher as launcher
from plait._collective_bounds import Exchange, collective_bound
from plait._errors import PlaitError
from plait._fit import Burst, Fit, OneWay, fit, to_platform
from plait._supervised import Supervised, supervise
from plait._units import format_bytes, format_time
from plait.commands.bench import find_bench
from plait.commands.measure import busy_in_words
from plait.measures.network import keep_measured, measured_file

_BENCH = "collectives"
_QUICK_SIZES, _SIZES = "1,16,4096,65536", "1,16,256,4096,16384,65536,262144,1048576"
#: A collective is slow that takes longer than its messages need, or than plait's own, by such a factor.
_OVER_BOUND, _OVER_OWN, _OVER_DOUBLES = 5.0, 3.0, 3.0
#: Differences below this are not worth a trial: clocks and starts of ranks differ.
_LEAST_NS = 5_000.0
_ROWS_MAX = 16
_WIDTH = 120  # of the table, where the terminal is narrower, too
#: Why a finding is slow, in the order in which they are shown; the last is not.
_ORDER = ("bound", "own", "doubles", "")


@dataclass(frozen=True)
class Wishes:
    quick: bool
    as_json: bool
    force: bool  # keep the network's costs though the machine is busy
    hosts: str | None  # as the launcher takes them: a,b
    ranks: int | None


@dataclass(frozen=True)
class Finding:
    """A collective of the MPI, or a message, with one size, datatype and number of ranks."""

    function: str  # MPI_Bcast; MPI_Send for messages
    ranks: int
    block_bytes: int
    datatype: str  # doubles, structs or bytes
    time_ns: float  # the lower quartile
    median_ns: float
    bound_ns: float | None  # what the messages need, by LogGP
    algorithm: str | None
    own_ns: float | None  # of plait's own collective
    doubles_ns: float | None  # of structs: of doubles with the same bytes
    reason: str  # "bound", "own" or "doubles"; empty: not slow

    @property
    def factor(self) -> float:
        peer = {"bound": self.bound_ns, "own": self.own_ns, "doubles": self.doubles_ns}.get(self.reason)
        return self.time_ns / peer if peer else 0.0


def measure_collectives(wishes: Wishes) -> int:
    """Measures, prints, and keeps the network's costs for reports; 1 when a collective is slow."""
    ranks = _rank_count(wishes)
    busy = "" if wishes.force else busy_in_words(os.getloadavg()[0], launcher.available_cores())
    result = _run(wishes, ranks)
    fitted = _fit(result["results"])
    findings = compare(result["results"], fitted)
    slow = [finding for finding in findings if finding.reason]
    kept = None if busy else _keep(wishes, result, fitted)
    if wishes.as_json:
        print(json.dumps(_document(ranks, fitted, findings, kept), indent=2))
    else:
        _print(result, fitted, findings)
        if kept is not None:
            print(f"reports of runs on these hosts compare with this network: kept in {kept}")
        else:
            print(f"the network's costs: {busy}")
    return 1 if any(finding.reason in ("bound", "own") for finding in slow) else 0


def _rank_count(wishes: Wishes) -> int:
    hosts = len(wishes.hosts.split(",")) if wishes.hosts else 0
    return wishes.ranks or max(2, hosts or launcher.available_cores())


def _run(wishes: Wishes, ranks: int) -> dict[str, Any]:
    (program,) = find_bench(_BENCH)
    found = launcher.find_launcher(None)
    place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
    with tempfile.TemporaryDirectory(prefix="plait-collectives-") as scratch:
        output = Path(scratch) / "measured.json"
        sizes = _QUICK_SIZES if wishes.quick else _SIZES
        words = [program, "--progress", "--sizes", sizes, "--json", str(output)]
        command, environment = launcher.launch_command(found, place, words)
        if wishes.hosts is not None:
            option = "-hosts" if found.family == "MPICH" else "--host"
            command[1:1] = [option, wishes.hosts]
        clean = {k: v for k, v in os.environ.items() if k != "PLAIT_TRACE"}
        supervise(command, {**clean, **environment}, Supervised(f"bench_{_BENCH}", f"{ranks} ranks"))
        try:
            return dict(json.loads(output.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise PlaitError(
                f"bench_{_BENCH} ended without results ({error}); rank 0 must be on this host"
            ) from error


def _fit(rows: Sequence[dict[str, Any]]) -> Fit:
    """Of contiguous messages."""
    one_way = [
        OneWay(_bytes(row), 1e3 * row["low"])
        for row in rows
        if row["name"] == "message" and row["params"]["datatype"] != "structs"
    ]
    bursts = [
        Burst(_bytes(row), 1e3 * row["low"]) for row in rows if row["name"] == "message of a burst"
    ]
    return fit(one_way, bursts)


def _bytes(row: dict[str, Any]) -> int:
    return int(row["params"]["bytes"])


def compare(rows: Sequence[dict[str, Any]], fitted: Fit) -> list[Finding]:
    """Each collective and each message of structs of `plait bench collectives`, beside what it could
    take; those that are slow first, by the time that each call loses."""
    times = {_key(row): 1e3 * row["low"] for row in rows if "bytes" in row["params"]}
    own = {
        (row["peer"], *_key(row)[1:]): 1e3 * row["low"]
        for row in rows
        if row["name"].startswith("engine ")
    }
    found = [
        _finding(row, fitted, times, own)
        for row in rows
        if row["name"].startswith("MPI_")
        or (row["name"] == "message" and row["params"]["datatype"] == "structs")
    ]
    return sorted(found, key=lambda finding: (_ORDER.index(finding.reason), -_lost(finding)))


def _lost(finding: Finding) -> float:
    return finding.time_ns - finding.time_ns / finding.factor if finding.reason else 0.0


_Key = tuple[str, int, int, str]


def _key(row: dict[str, Any]) -> _Key:
    return row["name"], int(row["params"]["ranks"]), _bytes(row), row["params"]["datatype"]


def _finding(
    row: dict[str, Any], fitted: Fit, times: dict[_Key, float], own: dict[_Key, float]
) -> Finding:
    name, ranks, size, datatype = _key(row)
    bound = collective_bound(name, Exchange(ranks, size), fitted.costs)
    is_struct = datatype == "structs"
    doubles = times.get((name, ranks, size, "doubles")) if is_struct else None
    own_ns = own.get((name, ranks, size, datatype))
    time = 1e3 * row["low"]
    bound_ns = bound.time_ns if bound else None
    peers = {
        "bound": (None if is_struct else bound_ns, _OVER_BOUND),
        "own": (own_ns, _OVER_OWN),
        "doubles": (doubles, _OVER_DOUBLES),
    }
    reasons = [
        reason
        for reason, (peer, factor) in peers.items()
        if peer and time >= factor * peer and time - peer >= _LEAST_NS
    ]
    return Finding(
        function="MPI_Send" if name == "message" else name,
        ranks=ranks,
        block_bytes=size,
        datatype=datatype,
        time_ns=time,
        median_ns=1e3 * row["value"],
        bound_ns=bound_ns,
        algorithm=bound.algorithm if bound else None,
        own_ns=own_ns,
        doubles_ns=doubles,
        reason=reasons[0] if reasons else "",
    )


def _keep(wishes: Wishes, result: dict[str, Any], fitted: Fit) -> Path:
    hosts = wishes.hosts.split(",") if wishes.hosts else [socket.gethostname()]
    within = None if wishes.hosts else fitted.costs
    file = measured_file(sorted(set(hosts)), str(result["machine"]["mpi"]))
    keep_measured(file, to_platform("-".join(hosts), fitted.costs, within))
    return file


def sentence(finding: Finding, mpi: str) -> str:
    size = f" of {format_bytes(finding.block_bytes)}" if finding.block_bytes else ""
    kind = " in structs with gaps" if finding.datatype == "structs" else ""
    text = (
        f"{finding.function}{size}{kind} on {finding.ranks} ranks takes {format_time(finding.time_ns)}"
    )
    if finding.doubles_ns is not None:
        text += f"; the same bytes as doubles take {format_time(finding.doubles_ns)}"
    elif finding.bound_ns is not None:
        text += f"; its messages need {format_time(finding.bound_ns)} ({finding.algorithm})"
    if finding.own_ns is not None:
        text += f"; plait's own takes {format_time(finding.own_ns)}"
    return f"{text}. Try {_remedy(finding, mpi)}."


def _remedy(finding: Finding, mpi: str) -> str:
    if finding.reason == "doubles":
        return "arrays of each member in place of an array of structs, or copy before sending"
    name = finding.function.removeprefix("MPI_").lower()
    if mpi.startswith("Open MPI"):
        return (
            f"--mca coll ^tuned, or --mca coll_tuned_use_dynamic_rules 1 --mca "
            f"coll_tuned_{name}_algorithm N (ompi_info --param coll tuned --level 9 lists them)"
        )
    if mpi.startswith("MPICH"):
        return f"MPIR_CVAR_{name.upper()}_INTRA_ALGORITHM (mpivars lists its values)"
    return "another algorithm of the MPI"


def _describe(fitted: Fit) -> str:
    costs, residual = fitted.costs, fitted.residual
    return (
        f"messages: L {costs.latency_ns:.0f} ns, o_s {costs.send_overhead_ns:.0f} ns, "
        f"o_r {costs.receive_overhead_ns:.0f} ns, {1 / costs.gap_per_byte_ns:.3g} GB/s; residuals: "
        f"median {100 * residual.median:.1f} %, largest {100 * residual.largest:.1f} %"
    )


def _print(result: dict[str, Any], fitted: Fit, findings: Sequence[Finding]) -> None:
    console = Console(highlight=False, soft_wrap=True, width=_WIDTH)
    mpi = str(result["machine"]["mpi"])
    console.print(escape(f"{mpi}, {result['network']}"))
    console.print(escape(_describe(fitted)))
    console.print(_table(findings))
    slow = [finding for finding in findings if finding.reason]
    for text in _sentences(slow, mpi):
        console.print(escape(text))
    if not slow:
        console.print("no collective takes much longer than its messages need")


def _sentences(slow: Sequence[Finding], mpi: str) -> list[str]:
    """One for each slow function, about its worst case; and one for all that take long with structs."""
    worst: dict[str, Finding] = {}
    structs: dict[str, Finding] = {}
    for finding in slow:
        of = structs if finding.reason == "doubles" else worst
        of.setdefault(finding.function, finding)
    found = [sentence(finding, mpi) for finding in worst.values()]
    if structs:
        first, *others = structs.values()
        found.append(sentence(first, mpi))
        if others:
            names = ", ".join(f"{other.function} {other.factor:.0f} times" for other in others)
            found[-1] += f" Slower than with doubles are also {names}."
    return found


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=None)
    heads = ("collective", "ranks", "block", "datatype", "takes", "needs", "plait's own", "doubles", "")
    for head in heads:
        table.add_column(head, justify="left" if head in ("collective", "datatype", "") else "right")
    for finding in findings[:_ROWS_MAX]:
        table.add_row(
            finding.function,
            str(finding.ranks),
            format_bytes(finding.block_bytes),
            finding.datatype,
            *(
                format_time(time) if time is not None else ""
                for time in (
                    finding.time_ns,
                    finding.bound_ns,
                    finding.own_ns,
                    finding.doubles_ns,
                )
            ),
            f"slow: {finding.factor:.3g} times" if finding.reason else "",
        )
    return table


def _document(ranks: int, fitted: Fit, findings: Sequence[Finding], kept: Path | None) -> dict[str, Any]:
    slow = sum(1 for finding in findings if finding.reason)
    return {
        "ranks": ranks,
        "network": to_platform("measured", fitted.costs),
        "residual_median": fitted.residual.median,
        "kept": None if kept is None else str(kept),
        "slow": slow,
        "collectives": [asdict(finding) | {"factor": finding.factor} for finding in findings],
    }
