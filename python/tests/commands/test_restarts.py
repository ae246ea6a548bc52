# SPDX-License-Identifier: Apache-2.0
"""`plait run --restart`: runs that fail are started again, also one of which ranks are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from plait_command import assert_one_sentence, run_plait, script

from plait import _build, _launcher, read_run

SECONDS_MAX = 120
#: Some seconds on one core.
PIC = (
    *("--problem", "uniform", "--cells", "20", "14", "--particles-per-cell", "4", "--steps", "600"),
    *("--way", "collection", "--patches", "4", "--balancer", "greedy", "--balance-every", "3"),
)


def failing(tmp_path: Path, times: int, how: str) -> Path:
    """A program that fails so many times, and leaves a trace each time."""
    lines = (
        "count=$(cat count 2>/dev/null || echo 0); count=$((count + 1)); echo $count >count",
        'echo $count >"$PLAIT_TRACE/rank-0000.plt"; echo mine >"$PLAIT_TRACE/result"',
        f"[ $count -gt {times} ] || {how}",
    )
    return script(tmp_path, "\n".join(lines))


@pytest.mark.parametrize("how", ["exit 1", "kill -KILL $$"])
def test_a_run_that_fails_is_started_again(tmp_path: Path, fake_mpi: Path, how: str) -> None:
    program = failing(tmp_path, 2, how)
    options = ("run", "--mpiexec", fake_mpi, "--name", "a", "--restart", 3)
    done = run_plait(*options, program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second, last = done.stderr.splitlines()
    assert "restart 1 of 3, on 1 rank" in first
    assert "restart 2 of 3" in second
    assert "after 2 restarts; see where the time went with: plait report runs/a" in last
    run = tmp_path / "runs" / "a"
    for folder, count in ((run / "attempt-1", 1), (run / "attempt-2", 2), (run, 3)):
        assert (folder / "rank-0000.plt").read_text() == f"{count}\n"
        assert (folder / "run.json").is_file()
    assert (run / "result").is_file()  # the program's own files stay where they are
    assert run_plait(*options, "--force", program, cwd=tmp_path).returncode == 0
    assert not (run / "attempt-1").exists()


def test_restarts_end_with_the_status_of_the_last(tmp_path: Path, fake_mpi: Path) -> None:
    program = failing(tmp_path, 9, "exit 5")
    done = run_plait("run", "--mpiexec", fake_mpi, "--restart", 2, "--name", "a", program, cwd=tmp_path)
    assert done.returncode == 5
    assert done.stderr.count("; restart ") == 2
    assert (tmp_path / "count").read_text() == "3\n"


@pytest.mark.parametrize("status", [2, 126, 127])
def test_what_would_fail_again_is_not_started_again(tmp_path: Path, fake_mpi: Path, status: int) -> None:
    program = failing(tmp_path, 9, f"exit {status}")
    done = run_plait("run", "--mpiexec", fake_mpi, "--restart", 2, "--name", "a", program, cwd=tmp_path)
    assert done.returncode == status
    assert (tmp_path / "count").read_text() == "1\n"


def test_a_run_that_is_stopped_is_not_started_again(tmp_path: Path, fake_mpi: Path) -> None:
    program = script(tmp_path, "echo up; exec sleep 100")
    command = ("run", "--mpiexec", fake_mpi, "--no-trace", "--restart", "3", program)
    with running(*command) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=SECONDS_MAX)
    assert out == ""
    assert "was stopped by SIGINT" in errors
    assert process.returncode == 128 + signal.SIGINT


def test_fewer_ranks_need_restarts(tmp_path: Path, fake_mpi: Path) -> None:
    done = run_plait("run", "--mpiexec", fake_mpi, "--fewer-ranks", "true", cwd=tmp_path)
    assert_one_sentence(done, "give --restart, too", 2)


def test_slurm_is_asked_to_end_all_ranks_with_one() -> None:
    srun = _launcher.Launcher("srun", "SLURM", "", ("-p", "debug"))
    assert srun.ending_together().words == ("-p", "debug", "--kill-on-bad-exit=1")
    mpiexec = _launcher.Launcher("mpiexec", "Open MPI", "")
    assert mpiexec.ending_together() == mpiexec


@contextmanager
def running(*arguments: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The command, killed if the test ends before it."""
    with subprocess.Popen(
        [sys.executable, "-m", "plait", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ranks_of(parent: int, program: Path) -> list[int]:
    """The processes of a program below another process, in order of their ids."""
    found = []
    for listed in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, listed.read_text().split()):
            if Path(f"/proc/{child}/exe").resolve() == program:
                found.append(child)
            found += ranks_of(child, program)
    return sorted(found)


def wait_for(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert process.poll() is None, "the run ended before a rank could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)


def newest(folder: Path) -> int:
    """The step of the newest checkpoint; -1 without any."""
    return max(
        (int(file.stem.rpartition("-")[2]) for file in folder.glob("checkpoint-*.h5")), default=-1
    )


def generation(copy: Path) -> int:
    return int(copy.name.split("-")[0])


def checksum(text: str) -> str:
    found = re.search(r"^checksum ([0-9a-f]{16})$", text, re.MULTILINE)
    assert found is not None, text
    return found.group(1)


@pytest.fixture(scope="module")
def pic() -> Path:
    found = _build.built_application("plait-pic")
    if found is None:
        pytest.skip("plait-pic is not built")
    return Path(found).resolve()


@pytest.fixture(scope="module")
def unbroken(pic: Path) -> str:
    """The checksum of the run of which no rank is killed."""
    done = run_plait("run", "--quiet", "--no-trace", pic, *PIC)
    assert done.returncode == 0, done.stderr
    return checksum(done.stdout)


@pytest.mark.parametrize("fewer", [False, True])
def test_ranks_of_a_real_run_are_killed(tmp_path: Path, pic: Path, unbroken: str, fewer: bool) -> None:
    """First between checkpoints or in one, as it comes; then while a checkpoint is being written."""
    folder, run = tmp_path / "checkpoints", tmp_path / "run"
    options = ["-n", 3, "--restart", 2, "--output", run, *(["--fewer-ranks"] if fewer else [])]
    keep = ("--checkpoint-every", 5, "--checkpoint-folder", folder, "--restart")
    with running("run", *options, pic, *PIC, *keep) as process:
        wait_for(process, lambda: newest(folder) >= 10)
        first = ranks_of(process.pid, pic)
        os.kill(first[1], signal.SIGKILL)
        wait_for(process, lambda: (run / "attempt-1").is_dir())
        reached = newest(folder)

        def is_written_again() -> bool:
            return newest(folder) > reached and any(folder.glob("*.partial"))

        wait_for(process, is_written_again)
        second = ranks_of(process.pid, pic)
        os.kill(second[-1], signal.SIGKILL)
        out, errors = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, errors
    assert (len(first), len(second)) == (3, 2 if fewer else 3)
    assert f"restart 2 of 2, on {'1 rank' if fewer else '3 ranks'}" in errors
    steps = [int(step) for step in re.findall(r"^restarted from step (\d+) of ", out, re.MULTILINE)]
    assert len(steps) == 2, out
    assert steps[0] >= 10
    assert steps[1] > reached  # what was written before the second kill counts
    assert checksum(out) == unbroken
    assert not list(folder.glob("*.partial"))
    assert read_run(run / "attempt-1").ranks == 3


@pytest.mark.parametrize("fewer", [False, True])
def test_a_killed_rank_comes_back_from_the_memory_of_others(
    tmp_path: Path, pic: Path, unbroken: str, fewer: bool
) -> None:
    """There are no checkpoint files: the elements are in files of the host's memory only."""
    copies = tmp_path / "copies"
    options = ["-n", 3, "--no-trace", "--restart", 1, *(["--fewer-ranks"] if fewer else [])]
    keep = ("--copy-every", 3, "--copy-folder", copies, "--checkpoint-folder", tmp_path / "none")
    with running("run", *options, pic, *PIC, *keep, "--restart") as process:
        wait_for(process, lambda: any(generation(file) >= 4 for file in copies.glob("*.copy")))
        os.kill(ranks_of(process.pid, pic)[2], signal.SIGKILL)
        out, errors = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, errors
    restarted = re.search(r"^restarted from step (\d+) of (\S+)$", out, re.MULTILINE)
    assert restarted is not None, out
    assert int(restarted.group(1)) >= 9
    assert restarted.group(2) == str(copies)
    assert checksum(out) == unbroken
    assert not list(copies.glob("*"))  # removed at the end


#: Gas at rest around an explosion; a second or two on one core.
SPH = ("run", "--problem", "sedov", "--resolution", "24", "--until", "0.03", "--snapshots", "4")


@pytest.fixture(scope="module")
def sph() -> Path:
    found = _build.built_application("plait-sph")
    if found is None:
        pytest.skip("plait-sph is not built")
    return Path(found).resolve()


@pytest.mark.parametrize("fewer", [False, True])
def test_gas_comes_back_from_the_memory_of_others(tmp_path: Path, sph: Path, fewer: bool) -> None:
    copies = tmp_path / "copies"
    keep = ("--copy-every", 4, "--copy-folder", copies)
    options = ["-n", 2, "--no-trace", "--restart", 1, *(["--fewer-ranks"] if fewer else [])]
    output = tmp_path / "snapshots"
    with running("run", *options, sph, *SPH, *keep, "--restart", "--output", output) as process:
        wait_for(process, lambda: any(generation(file) >= 3 for file in copies.glob("*.copy")))
        os.kill(ranks_of(process.pid, sph)[1], signal.SIGKILL)
        out, errors = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, errors
    restarted = re.search(r"^restarted from step (\d+) of (\S+)$", out, re.MULTILINE)
    assert restarted is not None, out
    assert int(restarted.group(1)) >= 8
    assert restarted.group(2) == str(copies)
    assert not list(copies.glob("*"))  # removed at the end
    files = sorted(file.name for file in output.glob("*.hdf5"))
    assert files == [f"sph-{number:04}.hdf5" for number in range(5)]
    if not fewer:  # fewer ranks begin new steps
        plain = ("run", "-n", 2, "--quiet", "--no-trace", sph)
        done = run_plait(*plain, *SPH, *keep, "--output", tmp_path / "unbroken")
        assert done.returncode == 0, done.stderr
        assert checksum(out) == checksum(done.stdout)
