# SPDX-License-Identifier: Apache-2.0
"""`plait fit`: a platform file from measured times of messages."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from plait._errors import PlaitError
from plait._files import make_folder, write_text
from plait._fit import Error, Fit, bursts_of, fit, one_way_of, to_platform
from plait.commands.bench import Wishes, run_bench


@dataclass(frozen=True)
class Sources:
    """Results of `plait bench pingpong` and `rate`; those between hosts come from a lab or a cluster."""

    pingpong: Path | None
    rate: Path | None


def fit_platform(
    between: Sources, within: Sources, *, output: Path, name: str, way: str, ranks_per_host: int
) -> None:
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="plait-fit-") as scratch:
        if between.pingpong is None and within.pingpong is None:
            within = _measure(Path(scratch))
        fits = {
            "between hosts": _fit(between, way) if between.pingpong else None,
            "within a host": _fit(within, way) if within.pingpong else None,
        }
    for place, found in fits.items():
        if found is not None:
            console.print(escape(describe(place, found)))
    within_fit = fits["within a host"]
    between_fit = fits["between hosts"] or within_fit
    assert between_fit is not None
    platform = to_platform(
        name,
        between_fit.costs,
        within_fit.costs if within_fit else None,
        ranks_per_host=ranks_per_host,
    )
    make_folder(output.parent)
    write_text(output, json.dumps(platform, indent=2) + "\n")
    console.print(
        f"wrote {escape(str(output))}; predict with: plait predict LOG --platform {escape(str(output))}"
    )


def describe(place: str, found: Fit) -> str:
    """The parameters, and how far they are from what was measured."""
    costs = found.costs
    eager = (
        f"eager up to {costs.eager_bytes_max} bytes, "
        f"asking {costs.rendezvous_ns:.0f} ns beyond two latencies"
        if costs.eager_bytes_max < 1 << 40
        else "no threshold seen: all eager"
    )
    lines = [
        f"{place}: L {costs.latency_ns:.0f} ns, o_s {costs.send_overhead_ns:.0f} ns, "
        f"o_r {costs.receive_overhead_ns:.0f} ns, g {costs.gap_ns:.0f} ns, "
        f"G {costs.gap_per_byte_ns:.4g} ns ({1 / costs.gap_per_byte_ns:.3g} GB/s), "
        f"O {costs.overhead_per_byte_ns:.4g} ns; both ways {costs.both_ways:.2f}; {eager}",
        f"  residuals: {_text(found.residual)}",
    ]
    if found.hold_out is not None:
        lines[1] += f"; of every second size, from a fit to the others: {_text(found.hold_out)}"
    return "\n".join(lines)


def _text(error: Error) -> str:
    return f"median {100 * error.median:.1f} %, largest {100 * error.largest:.1f} %"


def _measure(folder: Path) -> Sources:
    sources = Sources(folder / "pingpong.json", folder / "rate.json")
    wishes = Wishes(ranks=2, here=True)
    run_bench("pingpong", ("--full",), json_file=sources.pingpong, wishes=wishes)
    run_bench("rate", (), json_file=sources.rate, wishes=wishes)
    return sources


def _fit(sources: Sources, way: str) -> Fit:
    assert sources.pingpong is not None
    one_way = one_way_of(_read(sources.pingpong), way)
    bursts = bursts_of(_read(sources.rate), way) if sources.rate is not None else []
    return fit(one_way, bursts)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlaitError(
            f"{path} cannot be read as JSON ({error}); make it with plait bench --json"
        ) from error
