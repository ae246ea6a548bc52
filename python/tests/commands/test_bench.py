# SPDX-License-Identifier: Apache-2.0
"""Where `plait bench` runs a benchmark: shell scripts replace the programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plait.lab.outside import why_not

_RESULT = (
    '{"bench": "far", "commit": "", "machine": {}, "network": "$network", "command": "$*", '
    '"seconds": 1, "results": [{"name": "time", "params": {}, "value": 1}]}'
)


def make_bench(build: Path, name: str, describes: dict[str, Any]) -> None:
    """Prints its arguments and its lab; writes the JSON of one result."""
    path = build / "bench" / f"bench_{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f"[ \"$1\" = --describe ] && {{ echo '{json.dumps(describes)}'; exit 0; }}\n"
        'echo "args=[$*] lab=[$PLAIT_LAB] host=[$PLAIT_HOST]"\n'
        'network=${PLAIT_LAB:-this host}; line="$*"\n'
        'while [ $# != 0 ]; do [ "$1" = --json ] && file=$2; shift; done\n'
        f'[ -z "$file" ] || echo "{_RESULT.replace(chr(34), chr(92) + chr(34))}" > "$file"\n'
    )
    path.chmod(0o755)


def run_bench(build: Path, *arguments: object, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "plait", "bench", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PLAIT_BUILD": str(build), **environment},
        timeout=120,
        check=False,
    )


@pytest.fixture
def without_lab(tmp_path: Path) -> str:
    """A PATH on which a lab finds none of its tools."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return str(folder)


def test_without_a_lab_a_model_is_measured_and_the_reason_told(tmp_path: Path, without_lab: str) -> None:
    make_bench(tmp_path, "far", {"ranks": [2], "network": "lab"})
    done = run_bench(tmp_path, "far", "--full", PATH=without_lab)
    assert done.returncode == 0, done.stderr
    assert "no lab here: there is no unshare" in done.stdout
    assert "args=[--full --model] lab=[]" in done.stdout


def test_without_a_lab_a_benchmark_without_a_model_runs_here(tmp_path: Path, without_lab: str) -> None:
    make_bench(tmp_path, "far", {"ranks": [1], "network": "lab", "model": False})
    done = run_bench(tmp_path, "far", PATH=without_lab)
    assert "no lab here: there is no unshare" in done.stdout
    assert "args=[] lab=[]" in done.stdout


def test_a_model_that_is_asked_for_needs_neither_lab_nor_mpi(tmp_path: Path, without_lab: str) -> None:
    make_bench(tmp_path, "far", {"ranks": [2], "network": "lab"})
    done = run_bench(tmp_path, "far", "--model", PATH=without_lab)
    assert done.stdout == "args=[--model] lab=[] host=[]\n"


def test_a_lab_that_is_asked_for_and_may_not_be_is_an_error(tmp_path: Path, without_lab: str) -> None:
    make_bench(tmp_path, "near", {"ranks": 2})
    done = run_bench(tmp_path, "near", "--hosts", 2, PATH=without_lab)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1


def test_here_contradicts_what_only_a_lab_has(tmp_path: Path) -> None:
    make_bench(tmp_path, "far", {"ranks": [2], "network": "lab"})
    done = run_bench(tmp_path, "far", "--here", "--rate", "1gbit")
    assert done.returncode == 2
    assert "--here" in done.stderr


def test_an_unknown_mpi_is_refused(tmp_path: Path) -> None:
    make_bench(tmp_path, "near", {"ranks": 1})
    done = run_bench(tmp_path, "near", "--mpi", "other")
    assert done.returncode == 2
    assert "openmpi or mpich" in done.stderr


def test_several_rank_counts_are_joined_into_one_result(tmp_path: Path) -> None:
    make_bench(tmp_path, "near", {"ranks": [1, 1]})
    done = run_bench(tmp_path, "near", "--json", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    assert [row["params"] for row in result["results"]] == [{"ranks": "1"}, {"ranks": "1"}]
    assert result["seconds"] == 2
    assert result["network"] == "this host"


def test_wanted_figures_of_all_rank_counts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = '"wanted": {"limit": "at most", "value": 0.5, "basis": "raw MPI", "reached": false}'
    row = f'"value": 1, "unit": "us", {wanted}}}'
    monkeypatch.setitem(globals(), "_RESULT", _RESULT.replace('"value": 1}', row))
    make_bench(tmp_path, "near", {"ranks": [1, 1]})
    done = run_bench(tmp_path, "near")
    assert done.returncode == 0, done.stderr
    missed = "  time ranks=1: 1 us, wanted <= 0.5 (raw MPI)\n"
    assert done.stdout.endswith(
        f"\nwith 1 and 1 ranks: 0 of 2 wanted figures reached; missed:\n{missed}{missed}"
    )


def test_a_benchmark_that_wants_a_lab_runs_in_one(tmp_path: Path) -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no lab here: {reason}")
    make_bench(tmp_path, "far", {"ranks": [2], "network": "lab"})
    done = run_bench(tmp_path, "far", "--rate", "500mbit")
    assert done.returncode == 0, done.stderr
    for host in ("host0", "host1"):
        assert f"args=[] lab=[2 hosts, 500 Mbit/s] host=[{host}]" in done.stdout


def test_a_benchmark_gets_the_links_that_it_wants_or_that_are_asked_for(tmp_path: Path) -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no lab here: {reason}")
    make_bench(tmp_path, "far", {"ranks": [2], "network": "lab", "links": 2})
    done = run_bench(tmp_path, "far", "--rate", "200mbit")
    assert "args=[] lab=[2 hosts, 2 links of 200 Mbit/s] host=[host1]" in done.stdout, done.stderr
    done = run_bench(tmp_path, "far", "--rate", "200mbit", "--links", 3)
    assert "args=[] lab=[2 hosts, 3 links of 200 Mbit/s] host=[host1]" in done.stdout, done.stderr
