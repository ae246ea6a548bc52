# SPDX-License-Identifier: Apache-2.0
"""Commands with the engine before MPI: what they are given, and how two kinds are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait import _build
from plait._errors import PlaitError
from plait._preload import Target, is_launcher, preloading
from plait.commands import accelerate as command


@pytest.mark.parametrize(
    ("plain_s", "helped_s", "verdict"),
    [
        ([2.0, 2.2, 2.1], [1.0, 1.1, 1.0], "faster with the engine: 0.500 times"),
        ([1.0, 1.0, 1.0], [1.2, 1.3, 1.4], "slower with the engine: 1.300 times"),
        ([1.0, 1.0, 1.0], [0.9, 1.0, 1.1], "no difference that exceeds the spread: 1.000 times"),
    ],
)
def test_a_comparison_says_no_more_than_its_rounds_show(
    plain_s: list[float], helped_s: list[float], verdict: str
) -> None:
    assert command.comparison(plain_s, helped_s).startswith(verdict)


def test_a_comparison_names_medians_and_ranges() -> None:
    said = command.comparison([1.0, 4.0, 2.0], [1.0, 1.0, 1.0])
    assert "without 2 s (1 to 4), with 1 s (1 to 1)" in said


def test_launchers_are_told_from_programs() -> None:
    assert is_launcher("/usr/bin/mpirun.openmpi")
    assert is_launcher("mpiexec")
    assert is_launcher(["flux", "run"])
    assert not is_launcher(["flux", "jobs"])
    assert not is_launcher("mpi_program")


def test_an_earlier_preloaded_library_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/other.so")
    assert preloading(Path("/lib/ours.so")) == {"LD_PRELOAD": "/lib/ours.so:/lib/other.so"}


def test_a_missing_command_and_an_unknown_mpi_are_errors() -> None:
    with pytest.raises(PlaitError, match="there is no command"):
        Target.of(["no-such-command"], None)
    with pytest.raises(PlaitError, match="--mpi lam is unknown"):
        Target.of(["sh"], "lam")


def test_a_program_of_the_standard_abi_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ldd").write_text("#!/bin/sh\necho libmpi_abi.so.1\n")
    (tmp_path / "ldd").chmod(0o755)
    assert Target.of(["sh"], None).mpi != "abi"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert Target.of(["sh"], None).mpi == "abi"
    assert Target.of(["sh"], "mpich").mpi == "mpich"


def test_the_program_is_started_with_the_library_and_its_status_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    library = tmp_path / "libplait-accelerate.so"
    monkeypatch.setattr(_build, "library_for", lambda product, mpi: library)
    script = 'echo "$PLAIT_PROGRESS $PLAIT_ACCELERATE_QUIET $LD_PRELOAD"; exit 3'
    wishes = command.Wishes(mpi="openmpi", progress="idle", quiet=True, compare=None)
    assert command.accelerate(["sh", "-c", script], wishes) == 3
    assert capfd.readouterr().out.strip().startswith(f"idle 1 {library}")


def test_a_trace_has_the_recorder_before_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    files = {"record": tmp_path / "recorder.so", "accelerate": tmp_path / "engine.so"}
    monkeypatch.setattr(_build, "library_for", lambda product, mpi: files[product.name])
    wishes = command.Wishes(
        mpi="openmpi", progress=None, quiet=True, compare=None, trace=tmp_path / "run"
    )
    assert (
        command.accelerate(["sh", "-c", 'echo "$LD_PRELOAD $PLAIT_RECORD_FOLDER"; exit 3'], wishes) == 3
    )
    preloaded, folder = capfd.readouterr().out.split()[:2]
    assert preloaded.startswith(f"{tmp_path}/recorder.so:{tmp_path}/engine.so")
    assert folder == str(tmp_path / "run")
    both = command.Wishes(mpi="openmpi", progress=None, quiet=True, compare=2, trace=tmp_path / "run")
    with pytest.raises(PlaitError, match="give one of them"):
        command.accelerate(["true"], both)


def test_a_comparison_alternates_and_stops_at_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_build, "library_for", lambda product, mpi: tmp_path / "none.so")
    wishes = command.Wishes(mpi="openmpi", progress=None, quiet=False, compare=2)
    assert command.accelerate(["sh", "-c", 'echo "[$PLAIT_ACCELERATE_QUIET]"'], wishes) == 0
    heard = capfd.readouterr()
    assert heard.out.split() == ["[]", "[1]", "[]", "[1]"]
    assert "round 2 of 2" in heard.err
    assert command.accelerate(["sh", "-c", "exit 4"], wishes) == 4
