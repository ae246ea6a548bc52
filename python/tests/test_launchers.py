# SPDX-License-Identifier: Apache-2.0
"""Launchers by their names and answers, and what each is given; all are scripts here."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait import _launcher, _launchers
from plait._errors import PlaitError
from plait._launcher import Placement
from plait._preload import Target

VARIABLES = {"LD_PRELOAD": "/lib/x.so", "PLAIT_RECORD_FOLDER": "/runs/a"}
SHOW = '#!/bin/sh\n[ "$1" != --version ] || echo "{answer}"\n'


def make_launcher(folder: Path, name: str, answer: str = "") -> str:
    path = folder / name
    path.write_text(SHOW.format(answer=answer))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder before all others on the path."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for rank, size in _launchers.RANKS:
        monkeypatch.delenv(rank, raising=False)
        monkeypatch.delenv(size, raising=False)
    monkeypatch.delenv("SLURM_EXPORT_ENV", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "answer", "family", "version"),
    [
        ("mpirun", "mpirun (Open MPI) 5.0.11", "Open MPI", "5.0.11"),
        ("prterun", "prterun (PRRTE) 3.0.7", "Open MPI", "3.0.7"),
        ("mpiexec.hydra", "HYDRA build details:\n    Version: 4.0.2", "MPICH", "4.0.2"),
        (
            "mpiexec",
            "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626",
            "Intel MPI",
            "2021.18.1",
        ),
        ("srun", "slurm 22.05.8", "SLURM", ""),
        ("flux", "", "Flux", ""),
        ("aprun", "", "ALPS", ""),
        ("jsrun", "", "JSM", ""),
        ("ibrun", "", "ibrun", ""),
        ("mpiexec.unheard-of", "something else 1.0", "unknown", "1.0"),
    ],
)
def test_a_launcher_is_recognised(path: Path, name: str, answer: str, family: str, version: str) -> None:
    found = _launcher.identify(make_launcher(path, name, answer))
    assert (found.family, found.version) == (family, version)


@pytest.mark.parametrize(
    ("name", "answer", "command", "expected"),
    [
        (
            *("mpirun", "Open MPI 4.1", "mpirun -n 2 ./a"),
            "mpirun -x LD_PRELOAD -x PLAIT_RECORD_FOLDER -n 2 ./a",
        ),
        (
            *("mpiexec", "Intel(R) MPI 2021.1", "mpiexec -n 2 ./a"),
            "mpiexec -genv LD_PRELOAD /lib/x.so -genv PLAIT_RECORD_FOLDER /runs/a -n 2 ./a",
        ),
        ("mpiexec.hydra", "HYDRA 4.0", "mpiexec.hydra -n 2 ./a", "mpiexec.hydra -n 2 ./a"),
        ("srun", "", "srun -n 2 ./a --export=b", "srun -n 2 ./a --export=b"),
        (
            *("srun", "", "srun --export=NONE -n 2 ./a"),
            "srun --export=LD_PRELOAD,PLAIT_RECORD_FOLDER -n 2 ./a",
        ),
        (
            *("srun", "", "srun --export HOME,A=1 -n 2 ./a"),
            "srun --export HOME,A=1,LD_PRELOAD,PLAIT_RECORD_FOLDER -n 2 ./a",
        ),
        (
            *("flux", "", "flux run -n 2 ./a"),
            "flux run --env=LD_PRELOAD --env=PLAIT_RECORD_FOLDER -n 2 ./a",
        ),
        (
            *("aprun", "", "aprun -n 2 ./a"),
            "aprun -e LD_PRELOAD=/lib/x.so -e PLAIT_RECORD_FOLDER=/runs/a -n 2 ./a",
        ),
        (
            *("jsrun", "", "jsrun -n 2 ./a"),
            "jsrun -E LD_PRELOAD=/lib/x.so -E PLAIT_RECORD_FOLDER=/runs/a -n 2 ./a",
        ),
        ("ibrun", "", "ibrun -n 2 ./a", "ibrun -n 2 ./a"),
    ],
)
def test_each_launcher_takes_the_variables_to_all_hosts(
    path: Path, name: str, answer: str, command: str, expected: str
) -> None:
    make_launcher(path, name, answer)
    target = Target.of(command.split(), "openmpi")
    assert target.with_exports(VARIABLES) == expected.split()


def test_what_a_batch_script_forbids_slurm_to_pass_is_passed_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_launcher(path, "srun")
    target = Target.of(["srun", "./a"], "openmpi")
    monkeypatch.setenv("SLURM_EXPORT_ENV", "NONE")
    names = "LD_PRELOAD,PLAIT_RECORD_FOLDER"
    assert target.with_exports(VARIABLES) == ["srun", f"--export={names}", "./a"]
    monkeypatch.setenv("SLURM_EXPORT_ENV", "ALL")
    assert target.with_exports(VARIABLES) == ["srun", "./a"]


def test_a_launcher_with_another_name_is_of_the_kind_that_is_given(path: Path) -> None:
    make_launcher(path, "site-run")
    command = ["site-run", "--export=NONE", "./a"]
    assert Target.of(command, "openmpi").with_exports({"A": "1"}) == command
    target = Target.of(command, "openmpi", "srun")
    assert target.with_exports({"A": "1"}) == ["site-run", "--export=A", "./a"]
    assert Target.of(command, "openmpi", "open mpi").starter is not None
    with pytest.raises(PlaitError, match="--launcher mpirun is unknown"):
        Target.of(command, "openmpi", "mpirun")  # of several kinds


def test_a_script_with_arguments_of_its_own_gets_no_options(path: Path) -> None:
    make_launcher(path, "mpiexec", "Open MPI 4.1")
    target = Target.of(["mpiexec", "2", "./a"], None)
    assert target.mpi == "openmpi"  # which it starts
    assert target.with_exports(VARIABLES) == ["mpiexec", "2", "./a"]
    assert target.notice().startswith("mpiexec takes arguments of its own, and gets no options")
    numbered = Target.of(["mpiexec", "-n", "2", "./a"], "openmpi")
    assert numbered.with_exports({"A": "1"}) == ["mpiexec", "-x", "A", "-n", "2", "./a"]
    assert numbered.notice() == ""


def test_ranks_are_counted_as_each_launcher_has_it(path: Path) -> None:
    one_each = Placement(ranks=2, workers=1, cores=4, bind="auto")
    crowded = Placement(ranks=8, workers=1, cores=4, bind="auto")

    def line(told: str, place: Placement) -> str:
        command, _ = _launcher.launch_command(_launcher.find_launcher(told), place, ["./a"])
        return " ".join([Path(command[0]).name, *command[1:]])

    for name in ("srun", "flux", "jsrun", "aprun", "site-run"):
        make_launcher(path, name)
    assert line("srun -p debug", one_each) == "srun -p debug --cpu-bind=cores -n 2 ./a"
    assert line("srun", crowded) == "srun --overcommit --cpu-bind=none -n 8 ./a"
    assert line("flux", crowded) == "flux run -o cpu-affinity=off -n 8 ./a"
    assert line("flux run -q debug", one_each) == "flux run -q debug -o cpu-affinity=per-task -n 2 ./a"
    assert line("jsrun", crowded) == "jsrun -b none --np 8 ./a"
    assert line("aprun", crowded) == "aprun -cc none -n 8 ./a"
    assert line("site-run", one_each) == "site-run -n 2 ./a"
    assert line("site-run --tasks {ranks}", one_each) == "site-run --tasks 2 ./a"


@pytest.mark.parametrize(("rank", "size"), _launchers.RANKS)
def test_plait_inside_of_its_launcher_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch, rank: str, size: str
) -> None:
    monkeypatch.setenv(rank, "1")
    Target.of(["true"], "openmpi")  # SLURM's rank alone: a batch script
    monkeypatch.setenv(size, "4")
    with pytest.raises(PlaitError, match="inside of the launcher here, as rank 1 of 4"):
        Target.of(["true"], "openmpi")


def test_a_missing_launcher_is_named_with_what_to_do(path: Path) -> None:
    with pytest.raises(PlaitError, match="no MPI launcher site-run found; load the module"):
        _launcher.find_launcher("site-run -q debug")
