# SPDX-License-Identifier: Apache-2.0
"""`plait doctor --collectives`: which collectives of the MPI take longer here than their bytes need."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plait import _launcher as launcher
from plait._collective_bounds import Exchange, collective_bound
from plait._collective_names import blocking_name, is_among_neighbours, is_non_blocking, plain_name
from plait._errors import PlaitError
from plait._fit import Burst, Fit, OneWay, fit, to_platform
from plait._supervised import Supervised, supervise
from plait._units import format_bytes, format_time
from plait.commands._collective_remedies import remedy
from plait.commands.bench import find_bench
from plait.commands.measure import busy_in_words
from plait.measures.network import keep_measured, measured_file

_BENCH = "collectives"
_QUICK_SIZES, _SIZES = "1,16,4096,65536", "1,16,256,4096,16384,65536,262144,1048576"
#: A collective is slow that takes longer than its messages need, or than plait's own, by such a factor.
_OVER_BOUND, _OVER_OWN, _OVER_BLOCKING, _OVER_DOUBLES = 5.0, 3.0, 3.0, 3.0
#: Differences below this are not worth a trial: clocks and starts of ranks differ.
_LEAST_NS = 5_000.0
_ROWS_MAX = 16
_WIDTH = 120  # of the table, where the terminal is narrower, too
#: Why a finding is slow, in the order in which they are shown; the last is not.
_ORDER = ("bound", "own", "blocking", "doubles", "")
#: A rank of the benchmark's ring, and its two neighbours.
_NEIGHBOURHOOD = 3


@dataclass(frozen=True)
class Wishes:
    quick: bool
    as_json: bool
    force: bool  # keep the network's costs though the machine is busy
    hosts: str | None  # as the launcher takes them: a,b; or how many hosts of a lab
    ranks: int | None

    @property
    def lab_hosts(self) -> int | None:
        return int(self.hosts) if self.hosts is not None and self.hosts.isdecimal() else None


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
    own_ns: float | None  # of plait's own collective, or one of messages
    blocking_ns: float | None  # of the blocking form of a non-blocking collective
    doubles_ns: float | None  # of structs: of doubles with the same bytes
    hidden_share: float | None  # of a non-blocking one, what computing meanwhile hides
    reason: str  # "bound", "own", "blocking" or "doubles"; empty: not slow

    @property
    def factor(self) -> float:
        """How much longer it takes than what it is slow beside; 0 if it is not slow."""
        peers = {
            "bound": self.bound_ns,
            "own": self.own_ns,
            "blocking": self.blocking_ns,
            "doubles": self.doubles_ns,
        }
        peer = peers.get(self.reason)
        return self.time_ns / peer if peer else 0.0


def measure_collectives(wishes: Wishes) -> int:
    """Measures, prints, and keeps the network's costs for reports; 1 when a collective is slow."""
    ranks = _rank_count(wishes)
    why_not = _why_not_keep(wishes)
    result = _run(wishes, ranks)
    fitted = _fit(result["results"])
    findings = compare(result["results"], fitted)
    slow = [finding for finding in findings if finding.reason]
    kept = None if why_not else _keep(wishes, result, fitted)
    if wishes.as_json:
        print(json.dumps(_document(ranks, fitted, findings, kept), indent=2))
    else:
        _print(result, fitted, findings)
        if kept is not None:
            print(f"reports of runs on these hosts compare with this network: kept in {kept}")
        else:
            print(f"the network's costs: {why_not}")
    return 1 if any(finding.reason != "doubles" for finding in slow) else 0


def _why_not_keep(wishes: Wishes) -> str:
    if wishes.lab_hosts is not None:
        return "not kept, as they are a lab's"
    return "" if wishes.force else busy_in_words(os.getloadavg()[0], launcher.available_cores())


def _rank_count(wishes: Wishes) -> int:
    if wishes.lab_hosts is not None:
        return wishes.ranks or wishes.lab_hosts
    hosts = len(wishes.hosts.split(",")) if wishes.hosts else 0
    return wishes.ranks or max(2, hosts or launcher.available_cores())


def _run(wishes: Wishes, ranks: int) -> dict[str, Any]:
    (program,) = find_bench(_BENCH)
    with tempfile.TemporaryDirectory(prefix="plait-collectives-") as scratch:
        output = Path(scratch) / "measured.json"
        sizes = _QUICK_SIZES if wishes.quick else _SIZES
        words = [program, "--progress", "--sizes", sizes, "--json", str(output)]
        command, environment = _start(wishes, ranks, words)
        clean = {k: v for k, v in os.environ.items() if k != "PLAIT_TRACE"}
        supervise(command, {**clean, **environment}, Supervised(f"bench_{_BENCH}", f"{ranks} ranks"))
        try:
            return dict(json.loads(output.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise PlaitError(
                f"bench_{_BENCH} ended without results ({error}); rank 0 must be on this host"
            ) from error


def _start(wishes: Wishes, ranks: int, program: list[str]) -> tuple[list[str], dict[str, str]]:
    """What starts the program on the hosts, and what the environment needs besides."""
    if wishes.lab_hosts is not None:
        plait = [sys.executable, "-m", "plait", "lab", "--quiet"]
        return [*plait, "--hosts", str(wishes.lab_hosts), "-n", str(ranks), "--", *program], {}
    found = launcher.find_launcher(None)
    place = launcher.Placement(ranks, 1, launcher.available_cores(), "auto")
    command, environment = launcher.launch_command(found, place, program)
    if wishes.hosts is not None:
        command[1:1] = ["-hosts" if found.family == "MPICH" else "--host", wishes.hosts]
    return command, environment


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
    peers = _Peers(
        fitted,
        {_key(row): 1e3 * row["low"] for row in rows if "bytes" in row["params"]},
        {
            (plain_name(row["peer"]), *_key(row)[1:]): 1e3 * row["low"]
            for row in rows
            if row["name"].startswith(("engine ", "messages "))
        },
        {_key(row): row["value"] / 100 for row in rows if row["name"].startswith("hidden ")},
    )
    found = [
        _finding(row, peers)
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


@dataclass(frozen=True)
class _Peers:
    """What the times of a row are compared with."""

    fitted: Fit
    times: Mapping[_Key, float]
    own: Mapping[_Key, float]  # by plain names
    hidden: Mapping[_Key, float]


def _finding(row: dict[str, Any], peers: _Peers) -> Finding:
    name, ranks, size, datatype = _key(row)
    members = _NEIGHBOURHOOD if is_among_neighbours(name) else ranks
    bound = collective_bound(name, Exchange(members, size), peers.fitted.costs)
    is_struct = datatype == "structs"
    is_begun = is_non_blocking(name) and not is_struct
    found = Finding(
        function="MPI_Send" if name == "message" else name,
        ranks=ranks,
        block_bytes=size,
        datatype=datatype,
        time_ns=1e3 * row["low"],
        median_ns=1e3 * row["value"],
        bound_ns=bound.time_ns if bound else None,
        algorithm=bound.algorithm if bound else None,
        own_ns=peers.own.get((plain_name(name), ranks, size, datatype)),
        blocking_ns=peers.times.get((blocking_name(name), ranks, size, datatype)) if is_begun else None,
        doubles_ns=peers.times.get((name, ranks, size, "doubles")) if is_struct else None,
        hidden_share=peers.hidden.get((f"hidden {name}", ranks, size, datatype)),
        reason="",
    )
    return replace(found, reason=_reason(found))


def _reason(found: Finding) -> str:
    """The first of _ORDER that the collective is slow for."""
    limits = {
        "bound": (None if found.datatype == "structs" else found.bound_ns, _OVER_BOUND),
        "own": (found.own_ns, _OVER_OWN),
        "blocking": (found.blocking_ns, _OVER_BLOCKING),
        "doubles": (found.doubles_ns, _OVER_DOUBLES),
    }
    for reason, (peer, factor) in limits.items():
        if peer and found.time_ns >= factor * peer and found.time_ns - peer >= _LEAST_NS:
            return reason
    return ""


def _keep(wishes: Wishes, result: dict[str, Any], fitted: Fit) -> Path:
    hosts = wishes.hosts.split(",") if wishes.hosts else [socket.gethostname()]
    within = None if wishes.hosts else fitted.costs
    file = measured_file(sorted(set(hosts)), str(result["machine"]["mpi"]))
    keep_measured(file, to_platform("-".join(hosts), fitted.costs, within))
    return file


def sentence(finding: Finding, mpi: str) -> str:
    size = f" of {format_bytes(finding.block_bytes)}" if finding.block_bytes else ""
    takes = format_time(finding.time_ns)
    where = f"on {finding.ranks} ranks takes"
    if finding.doubles_ns is not None:
        doubles, factor = format_time(finding.doubles_ns), finding.time_ns / finding.doubles_ns
        text = (
            f"{finding.function}{size} in structs with gaps {where} {factor:.1f} times what the same "
            f"bytes of doubles take ({takes}, beside {doubles})"
        )
    else:
        text = f"{finding.function}{size} {where} {takes}"
        if finding.bound_ns is not None:
            text += f"; its messages need {format_time(finding.bound_ns)} ({finding.algorithm})"
    if finding.own_ns is not None:
        text += f"; plait's own takes {format_time(finding.own_ns)}"
    if finding.blocking_ns is not None:
        text += f"; {blocking_name(finding.function)} takes {format_time(finding.blocking_ns)}"
    if finding.reason == "doubles":
        return (
            f"{text}. Try arrays of each member in place of an array of structs, or copy before sending."
        )
    return f"{text}. Try {remedy(finding.function, mpi)}."


def hidden_sentence(findings: Sequence[Finding]) -> list[str]:
    """How much of the largest non-blocking collectives the ranks can hide behind computing."""
    known = [finding for finding in findings if finding.hidden_share is not None]
    if not known:
        return []
    size, ranks = max((finding.block_bytes, finding.ranks) for finding in known)
    of_these = [one for one in known if (one.block_bytes, one.ranks) == (size, ranks)]
    least, most = (one(of_these, key=lambda finding: finding.hidden_share or 0.0) for one in (min, max))
    return [
        f"Non-blocking collectives of {format_bytes(size)} on {ranks} ranks, with as much computing "
        f"meanwhile: from {100 * (least.hidden_share or 0):.0f} % ({least.function}) to "
        f"{100 * (most.hidden_share or 0):.0f} % ({most.function}) of their time is hidden."
    ]


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
    for text in sentences(findings, mpi):
        console.print(escape(text))
    if not slow:
        console.print("no collective takes much longer than its messages need")
    for text in hidden_sentence(findings):
        console.print(escape(text))


def sentences(findings: Sequence[Finding], mpi: str) -> list[str]:
    """One for each slow function, about its worst case; and one for all that take long with structs."""
    worst: dict[str, Finding] = {}
    structs: dict[str, Finding] = {}
    for finding in findings:
        if finding.reason:
            of = structs if finding.reason == "doubles" else worst
            of.setdefault(finding.function, finding)
    found = [sentence(finding, mpi) + _only_on(finding, findings) for finding in worst.values()]
    if structs:
        first, *others = structs.values()
        found.append(sentence(first, mpi))
        if others:
            names = ", ".join(f"{other.function} {other.factor:.0f} times" for other in others)
            found[-1] += f" Slower than with doubles are also {names}."
    return found


def _only_on(finding: Finding, findings: Sequence[Finding]) -> str:
    """What it takes on more ranks, if it is slow on none of these."""
    more = [
        other
        for other in findings
        if (other.function, other.block_bytes, other.datatype)
        == (finding.function, finding.block_bytes, finding.datatype)
        and other.ranks > finding.ranks
    ]
    if not more or any(other.reason for other in more):
        return ""
    most = max(more, key=lambda other: other.ranks)
    return (
        f" It is slow on communicators of {finding.ranks} ranks only: on {most.ranks} ranks it takes "
        f"{format_time(most.time_ns)}."
    )


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=None)
    heads = (
        *("collective", "ranks", "block", "datatype", "takes", "needs", "plait's own", "blocking"),
        *("doubles", ""),
    )
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
                    finding.blocking_ns,
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
