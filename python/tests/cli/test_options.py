# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, as users give them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plait._errors import PlaitError
from plait.cli.options import hushed, printed_into, results_in


def run_plait(*arguments: object, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", **environment},
        timeout=240,
        check=False,
    )


def test_quiet_discards_what_programs_print(capfd: pytest.CaptureFixture[str]) -> None:
    with hushed():
        print("mine")
        subprocess.run(["echo", "theirs"], check=True)
    with hushed(False):
        print("heard")
    assert capfd.readouterr().out == "heard\n"


def test_quiet_ends_with_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PlaitError), hushed():
        raise PlaitError("no")
    print("heard")
    assert capfd.readouterr().out == "heard\n"


def test_results_on_standard_output_are_alone(capfd: pytest.CaptureFixture[str]) -> None:
    with results_in(Path("-")) as file:
        print("a table")
        assert file is not None
        file.write_text("{}\n")
    assert capfd.readouterr().out == "{}\n"


def test_results_of_a_command_that_fails_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PlaitError), results_in(Path("-")) as file:
        assert file is not None
        file.write_text("{}\n")
        raise PlaitError("no")
    assert capfd.readouterr().out == "{}\n"


def test_results_go_to_the_file_that_is_given(tmp_path: Path) -> None:
    with results_in(tmp_path / "a.json") as file:
        assert file == tmp_path / "a.json"
    with results_in(None) as file:
        assert file is None


def test_what_is_printed_goes_into_a_file(tmp_path: Path) -> None:
    with printed_into(tmp_path / "new" / "a.json"):
        print("{}")
    assert (tmp_path / "new" / "a.json").read_text() == "{}\n"
    with pytest.raises(PlaitError), printed_into(tmp_path / "b.json"):
        raise PlaitError("no")
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize(
    "words", [("--json",), ("--json", "-"), ("--json", "--quick"), ("--json", "-q")]
)
def test_doctor_prints_json(words: tuple[str, ...]) -> None:
    done = run_plait("doctor", "--quick", *words)
    assert "findings" in json.loads(done.stdout)


def test_doctor_writes_json(tmp_path: Path) -> None:
    done = run_plait("doctor", "--json", tmp_path / "a.json", "--quick")
    assert done.stdout == ""
    assert "findings" in json.loads((tmp_path / "a.json").read_text())


def test_a_quiet_doctor_prints_nothing() -> None:
    assert run_plait("doctor", "--quick", "-q").stdout == ""


def test_a_quiet_report_prints_nothing(ring_copy: Path, tmp_path: Path) -> None:
    done = run_plait("report", ring_copy, "-q", "-o", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out" / "report.html").exists()


def test_a_report_prints_json_alone(ring_copy: Path, tmp_path: Path) -> None:
    done = run_plait("report", ring_copy, "--json", "-", "-o", tmp_path / "out")
    found = json.loads(done.stdout)
    assert (done.returncode, found["run"]) == (0, str(ring_copy))
    assert found["summary"]["steps"] == 30 and found["summary"]["in_calls_ns"] is None
    assert [rank["rank"] for rank in found["ranks"]] == [0, 1]
    slowest = found["slowest_step"]
    assert 0 < sum(part["time_ns"] for part in slowest["critical_path"]) <= slowest["length_ns"]
    assert found["page"] == str(tmp_path / "out" / "report.html")
    assert all(Path(picture).exists() for picture in found["pictures"])


def test_a_comparison_prints_json(ring_copy: Path, tmp_path: Path) -> None:
    words = ("report", "--compare", ring_copy, ring_copy, "-o", tmp_path, "--json", tmp_path / "c.json")
    assert run_plait(*words).returncode == 0
    found = json.loads((tmp_path / "c.json").read_text())
    whole = found["sections"][0]
    assert whole["name"] == "whole"
    assert whole["rows"][0]["name"] == "time" and whole["rows"][0]["change"] == 0


def test_a_quiet_run_leaves_the_output_to_the_program(tmp_path: Path) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "HYDRA build details: Version: 4.2"; exit 0; }\n'
        'while [ "${1##*/}" != echo ]; do shift; done; exec "$@"\n'
    )
    launcher.chmod(0o755)
    done = run_plait(
        "run", "-q", "-n", 1, "-w", 2, "-o", tmp_path / "r", "--mpiexec", launcher, "/bin/echo", "-q"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "-q\n", "")
