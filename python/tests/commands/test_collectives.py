# SPDX-License-Identifier: Apache-2.0
"""Which collectives are slow, of made-up measurements; and the command as a user starts it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plait._build import build_folder
from plait._errors import PlaitError
from plait._fit import Fit
from plait.commands import collectives
from plait.lab.outside import why_not

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples/planted"
_SIZES = (1, 16, 1024, 16384, 65536, 1 << 20)


def row(name: str, size: int, us: float, *, ranks: int = 4, kind: str = "doubles") -> dict[str, Any]:
    """Of the JSON of `plait bench collectives`."""
    params = {"bytes": str(size), "ranks": str(ranks), "datatype": kind}
    peers = {"engine broadcast": "MPI_Bcast", "messages neighbor_alltoall": "MPI_Neighbor_alltoall"}
    peer = peers.get(name)
    return {"name": name, "params": params, "low": us, "value": 1.1 * us, "peer": peer, "unit": "us"}


def messages() -> list[dict[str, Any]]:
    """1 us and 10 GB/s; structs take ten times as long for a byte."""
    found = []
    for size in _SIZES:
        found.append(row("message", size, 1 + size * 1e-4, ranks=2))
        if size % 16 == 0:
            found.append(row("message", size, 1 + size * 1e-3, ranks=2, kind="structs"))
        found.append(row("message of a burst", size, 0.5 + size * 1e-4, ranks=2, kind="bytes"))
    return found


def fitted() -> Fit:
    return collectives._fit(messages())


def test_a_collective_that_takes_what_its_messages_need_is_not_slow() -> None:
    rows = [row("MPI_Bcast", 65536, 30.0), row("engine broadcast", 65536, 20.0)]
    (finding,) = collectives.compare(rows, fitted())
    assert finding.reason == ""
    assert finding.own_ns == pytest.approx(20_000)
    assert 5_000 < (finding.bound_ns or 0) < 30_000


def test_a_slow_collective_comes_first_and_has_a_sentence() -> None:
    rows = [row("MPI_Allreduce", 65536, 30.0), row("MPI_Bcast", 65536, 40_000.0)]
    rows.append(row("engine broadcast", 65536, 300.0))
    first, second = collectives.compare(rows, fitted())
    assert (first.function, first.reason, second.reason) == ("MPI_Bcast", "bound", "")
    text = collectives.sentence(first, "Open MPI v4.1.4")
    assert text.startswith("MPI_Bcast of 64 KiB on 4 ranks takes 40 ms; its messages need ")
    assert "; plait's own takes 300 µs. Try --mca coll ^tuned" in text
    assert "MPIR_CVAR_BCAST_INTRA_ALGORITHM" in collectives.sentence(first, "MPICH 4.0")


def test_plaits_own_is_a_limit_too() -> None:
    rows = [row("MPI_Bcast", 1 << 20, 400.0), row("engine broadcast", 1 << 20, 100.0)]
    (finding,) = collectives.compare(rows, fitted())
    assert finding.reason == "own"
    assert finding.factor == pytest.approx(4)


def test_structs_are_compared_with_doubles() -> None:
    found = collectives.compare(messages(), fitted())
    slow = [finding for finding in found if finding.reason == "doubles"]
    assert {finding.function for finding in found} == {"MPI_Send"}
    assert slow[0].block_bytes == 1 << 20
    rows = [
        row("MPI_Bcast", 65536, 65.0),
        row("MPI_Bcast", 65536, 200.0, kind="structs"),
    ]
    slow = [found for found in collectives.compare(rows, fitted()) if found.reason]
    assert collectives.sentence(slow[0], "Open MPI v4.1.4").startswith(
        "MPI_Bcast of 64 KiB in structs with gaps on 4 ranks takes 3.1 times what the same bytes of "
        "doubles take (200 µs, beside 65 µs)"
    )


def test_a_non_blocking_collective_is_compared_with_the_blocking_one() -> None:
    rows = [row("MPI_Bcast", 65536, 15.0), row("MPI_Ibcast", 65536, 50.0)]
    slow = [found for found in collectives.compare(rows, fitted()) if found.reason]
    assert [(found.function, found.reason) for found in slow] == [("MPI_Ibcast", "blocking")]
    text = collectives.sentence(slow[0], "Open MPI v4.1.4")
    assert "; MPI_Bcast takes 15 µs. Try --mca coll_libnbc_ibcast_algorithm N" in text
    assert "MPIR_CVAR_IBCAST_INTRA_ALGORITHM" in collectives.sentence(slow[0], "MPICH 4.0")


def test_neighbours_are_compared_with_messages_to_each() -> None:
    rows = [
        row("MPI_Neighbor_alltoall", 16384, 400.0),
        row("messages neighbor_alltoall", 16384, 8.0),
        row("MPI_Ineighbor_alltoall", 16384, 9.0),
    ]
    first, second = collectives.compare(rows, fitted())
    assert (first.function, first.reason, second.reason) == ("MPI_Neighbor_alltoall", "bound", "")
    assert first.own_ns == second.own_ns == pytest.approx(8_000)
    # Two messages of 1 us and 16 KiB, the second of which follows the first.
    assert 3_000 < (first.bound_ns or 0) < 5_300
    assert "Try messages (MPI_Isend and MPI_Irecv)" in collectives.sentence(first, "Open MPI v4.1.4")


def test_names_the_size_of_a_communicator_on_which_alone_a_collective_is_slow() -> None:
    rows = [row("MPI_Bcast", 65536, 400.0, ranks=2), row("MPI_Bcast", 65536, 30.0, ranks=4)]
    (text,) = collectives.sentences(collectives.compare(rows, fitted()), "MPICH 4.0")
    assert text.endswith("It is slow on communicators of 2 ranks only: on 4 ranks it takes 30 µs.")
    rows[1] = row("MPI_Bcast", 65536, 900.0, ranks=4)
    (text,) = collectives.sentences(collectives.compare(rows, fitted()), "MPICH 4.0")
    assert "on 4 ranks takes 900 µs" in text and "only" not in text


def test_has_a_sentence_on_what_computing_hides() -> None:
    rows = []
    for name, share in (("MPI_Ibcast", 80), ("MPI_Ialltoall", 5)):
        rows += [row(name, 1 << 20, 400.0), {**row(f"hidden {name}", 1 << 20, 0), "value": share}]
    (text,) = collectives.hidden_sentence(collectives.compare(rows, fitted()))
    assert "1 MiB on 4 ranks" in text
    assert "from 5 % (MPI_Ialltoall) to 80 % (MPI_Ibcast) of their time is hidden" in text


def test_too_few_messages_are_an_error() -> None:
    with pytest.raises(PlaitError, match="too few"):
        collectives._fit(messages()[:2])


def doctor(*words: str, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "plait", "doctor", "--collectives", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=500,
        check=False,
    )


def test_refuses_options_that_do_not_belong_together() -> None:
    assert doctor("--measure").returncode == 2


# A wheel, or a build without benchmarks, has nothing that measures collectives.
@pytest.mark.skipif(
    not os.access(build_folder() / "bench/bench_collectives", os.X_OK) or shutil.which("mpicc") is None,
    reason="bench_collectives is not built, or there is no mpicc",
)
def test_names_a_planted_broadcast(tmp_path: Path) -> None:
    library = tmp_path / "slow_collective.so"
    source = _EXAMPLES / "slow_collective.c"
    subprocess.run(["mpicc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    done = doctor(
        *("--quick", "-n", "2", "--force", "--json", "-"),
        LD_PRELOAD=str(library),
        PLANTED_SLOW="MPI_Bcast 4096 5000",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    slowest = found["collectives"][0]
    assert (slowest["function"], slowest["block_bytes"]) == ("MPI_Bcast", 4096)
    assert slowest["time_ns"] >= 5_000_000
    platform = json.loads(Path(found["kept"]).read_text(encoding="utf-8"))
    assert platform["format"] == "plait-platform"


@pytest.mark.skipif(
    not os.access(build_folder() / "bench/bench_collectives", os.X_OK) or why_not() is not None,
    reason="bench_collectives is not built, or there can be no lab here",
)
def test_measures_between_hosts_of_a_lab(tmp_path: Path) -> None:
    done = doctor("--quick", "--hosts", "2", "--json", "-", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert (found["ranks"], found["kept"]) == (2, None)
    # 64 KiB over 1 Gbit/s take half a millisecond; within a host they take some microseconds.
    times = {
        one["function"]: one["time_ns"]
        for one in found["collectives"]
        if (one["block_bytes"], one["datatype"]) == (65536, "doubles")
    }
    assert times["MPI_Bcast"] > 400_000
    assert {"MPI_Ibcast", "MPI_Neighbor_alltoallw", "MPI_Ineighbor_allgather"} <= set(times)


def test_a_lab_has_no_strategy() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "plait", "doctor", "--measure", "--hosts", "2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "--hosts 2 is a lab" in done.stderr
