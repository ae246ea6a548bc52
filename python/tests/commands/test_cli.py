# SPDX-License-Identifier: Apache-2.0
"""The command as a user meets it: a process, its output, its exit status."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trace_writer as w
from marks import needs_dot
from plait_command import assert_one_sentence, run_plait, script

import plait
from plait.report.analysis import analyse


def test_every_public_name_is_there() -> None:
    assert sorted(plait.__all__) == plait.__all__
    for name in plait.__all__:
        assert getattr(plait, name) is not None


@pytest.mark.parametrize("command", ["run", "report", "graph", "doctor", "bench"])
def test_help_teaches_with_examples(command: str) -> None:
    done = run_plait(command, "--help")
    assert done.returncode == 0
    assert "Examples" in done.stdout


#: What takes long to load, and what a command needs only when it works.
_HEAVY = {
    "numpy",
    "polars",
    "matplotlib",
    "h5py",
    "scipy",
    "plait.readers.plait",
    "plait.measures.calls",
}


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["bench", "--help"]])
def test_help_needs_none_of_the_heavy_packages(arguments: list[str]) -> None:
    code = f"import sys; sys.argv = ['plait', *{arguments}]; import plait.__main__ as m\n"
    code += "try: m.main()\nexcept SystemExit: pass\n"
    unread = {"pydantic"} if len(arguments) == 2 else set()
    code += f"print(sorted({_HEAVY | unread} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_to_import_plait_loads_next_to_nothing() -> None:
    code = "import sys; before = set(sys.modules); import plait\n"
    code += "print(sorted(name for name in set(sys.modules) - before if 'plait' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['plait']"


@pytest.mark.parametrize("command", ["report", "import", "completion"])
def test_a_command_has_the_same_help_beside_all_others(command: str) -> None:
    alone = run_plait(command, "--help")
    code = "import plait.__main__ as m; m.app(prog_name='plait')"
    done = subprocess.run(
        [sys.executable, "-c", code, command, "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},
        check=False,
    )
    assert alone.returncode == 0
    assert alone.stdout == done.stdout


def test_report_writes_only_into_its_folder(ring_copy: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in ring_copy.iterdir()}
    done = run_plait("report", ring_copy, "--output", tmp_path / "out" / "deep", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "% idle" in done.stdout
    assert {path: path.read_bytes() for path in ring_copy.iterdir()} == before
    assert (tmp_path / "out" / "deep" / "report.html").stat().st_size > 50_000
    assert not list((tmp_path / "out").rglob(".*"))


def test_report_of_one_step(ring_copy: Path) -> None:
    done = run_plait("report", ring_copy, "--step", 7)
    assert done.returncode == 0, done.stderr
    assert "1 step," in done.stdout
    assert_one_sentence(run_plait("report", ring_copy, "--step", 700), "steps 0 to 29")


def test_report_of_nothing_is_one_sentence(tmp_path: Path) -> None:
    assert_one_sentence(run_plait("report", tmp_path / "no"), "is no folder")
    assert_one_sentence(run_plait("report", tmp_path), "no readable rank-NNNN.plt")
    w.write_rank(tmp_path, 0, 1, {0: b""})
    assert_one_sentence(run_plait("report", tmp_path), "no events")


def test_report_into_a_file_is_one_sentence(ring_copy: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = run_plait("report", ring_copy, "--output", tmp_path / "file")
    assert_one_sentence(done, "cannot be made")
    assert (tmp_path / "file").read_text() == "mine"


def test_reports_of_damaged_runs_end_well_or_in_one_sentence(small_folder: Path, tmp_path: Path) -> None:
    reported = 0
    for seed in range(6):
        random_ = random.Random(seed)
        run = Path(shutil.copytree(small_folder, tmp_path / f"run{seed}"))
        path = run / f"rank-{random_.randrange(2):04d}.plt"
        content = bytearray(path.read_bytes())
        for _ in range(20):
            content[4096 + random_.randrange(64 * 100)] = random_.randrange(256)
        path.write_bytes(content)
        try:
            plait.write_report(analyse(plait.read_run(run), run, None), run / "report")
            reported += 1
        except plait.PlaitError as error:
            assert "\n" not in str(error)
    assert reported > 0


def test_run_sets_the_environment_and_passes_arguments_on(tmp_path: Path, fake_mpi: Path) -> None:
    program = script(
        tmp_path, 'echo "$PLAIT_TRACE|$PLAIT_WORKERS|$*"; touch "$PLAIT_TRACE/rank-0000.plt"'
    )
    done = run_plait(
        *("run", "--mpiexec", fake_mpi, "--workers", 3, "--name", "one", program, "--name", "x", "-n"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/runs/one|3|--name x -n\n"
    assert "plait report runs/one" in done.stderr


def test_run_finds_an_application_of_the_build_by_its_name(tmp_path: Path, fake_mpi: Path) -> None:
    applications = tmp_path / "build" / "apps" / "some"
    applications.mkdir(parents=True)
    script(applications, 'touch "$PLAIT_TRACE/rank-0000.plt"; echo found').rename(
        applications / "plait-some"
    )
    done = run_plait(
        *("run", "--mpiexec", fake_mpi, "--name", "one", "plait-some"),
        cwd=tmp_path,
        PLAIT_BUILD=str(tmp_path / "build"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "found\n"


@needs_dot
def test_graph_writes_what_its_name_says(ring_folder: Path, tmp_path: Path) -> None:
    done = run_plait("graph", ring_folder, "-o", tmp_path / "kinds.svg")
    assert done.returncode == 0, done.stderr
    assert "Kinds of tasks in 30 steps" in done.stdout
    assert "<svg" in (tmp_path / "kinds.svg").read_text()
    options = (
        "--by",
        "task",
        "--step",
        3,
        "--rank",
        1,
        "--between",
        "100us-1ms",
        "--each",
        "--most",
        20,
    )
    done = run_plait("graph", ring_folder, *options, "-o", tmp_path / "part.dot")
    assert done.returncode == 0, done.stderr
    assert "of the" in done.stdout
    assert "critical path of step 3" in done.stdout
    text = (tmp_path / "part.dot").read_text()
    assert "cluster_1" in text
    assert "cluster_0" not in text


@needs_dot
def test_graph_says_what_it_cannot_do(ring_folder: Path, tmp_path: Path) -> None:
    def refused(reason: str, *options: object) -> None:
        assert_one_sentence(run_plait("graph", ring_folder, *options, cwd=tmp_path), reason)

    refused("choose kind or task", "--by", "colour")
    refused("ends in .dot or .svg", "-o", "graph.png")
    refused("there is no step 99", "--step", 99)
    refused("two times since the step's start", "--by", "task", "--between", "soon")
    refused("give it with its unit", "--by", "task", "--between", "1-2")
    refused("no task is left", "--by", "task", "--rank", 7)
    refused("the number of a task there", "--by", "task", "--around", "here")
    assert not list(tmp_path.iterdir())


def test_run_leaves_how_to_make_progress_to_the_user(tmp_path: Path, fake_mpi: Path) -> None:
    program = script(tmp_path, 'echo "<$PLAIT_PROGRESS>"')
    options = ("run", "--mpiexec", fake_mpi, "--no-trace", program)
    assert run_plait(*options, PLAIT_PROGRESS="timer").stdout == "<timer>\n"
    assert run_plait(*options, PLAIT_PROGRESS="").stdout == "<>\n"


def test_run_keeps_what_is_in_a_folder_unless_forced(tmp_path: Path, fake_mpi: Path) -> None:
    program = script(tmp_path, "true")
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "rank-0000.plt").write_text("old")
    (folder / "thesis.txt").write_text("mine")
    options = ("run", "--mpiexec", fake_mpi, "--output", folder)
    assert_one_sentence(run_plait(*options, program), "already holds a run")
    assert (folder / "rank-0000.plt").read_text() == "old"
    assert run_plait(*options, "--force", program).returncode == 0
    assert not (folder / "rank-0000.plt").exists()
    assert (folder / "thesis.txt").read_text() == "mine"


def test_run_tells_how_a_program_failed(tmp_path: Path, fake_mpi: Path) -> None:
    program = script(tmp_path, 'touch "$PLAIT_TRACE/rank-0000.plt"; exit 5')
    done = run_plait("run", "--mpiexec", fake_mpi, "--name", "a", program, cwd=tmp_path)
    assert done.returncode == 5
    assert "failed with exit status 5" in done.stderr
    assert "can be reported with: plait report runs/a" in done.stderr
    done = run_plait("run", "--mpiexec", fake_mpi, "--no-trace", script(tmp_path, "kill -SEGV $$"))
    assert done.returncode == 139
    assert "killed by SIGSEGV" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_passes_signals_on(tmp_path: Path, fake_mpi: Path, number: signal.Signals) -> None:
    program = script(
        tmp_path,
        f"trap 'echo signalled; exit 0' {number.name[3:]}; echo up; while :; do sleep 0.1; done",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "plait", "run", "--mpiexec", fake_mpi, "--no-trace", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert out == "signalled\n"
    assert f"was stopped by {number.name}" in errors
    assert process.returncode == 128 + number


def test_run_kills_what_outlives_its_signal(
    tmp_path: Path, fake_mpi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = script(tmp_path, "trap '' INT TERM; echo $$ > pid; while :; do sleep 0.1; done")
    code = (
        "import sys, plait.commands.run as r; r.GRACE_S = 0.5\n"
        f"sys.argv = ['plait', 'run', '--mpiexec', '{fake_mpi}', '--no-trace', '{program}']\n"
        "import plait.__main__ as m; m.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert "killing it" in errors
    assert process.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


_RANK_1_DIES = r"""
#include <mpi.h>
#include <signal.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_run_ends_a_real_job_of_which_a_rank_was_killed(tmp_path: Path) -> None:
    if not shutil.which("mpicc") or not shutil.which("mpiexec"):
        pytest.skip("no MPI here: apt-get install libopenmpi-dev openmpi-bin")
    (tmp_path / "dies.c").write_text(_RANK_1_DIES)
    subprocess.run(["mpicc", "-o", "dies", "dies.c"], cwd=tmp_path, check=True)
    done = run_plait("run", "-n", 2, "--name", "x", "./dies", cwd=tmp_path)
    assert done.returncode != 0
    assert "plait: dies failed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("nowhere",), "there is no program nowhere", 127),
        (("--bind", "socket", "true"), "--bind socket is unknown", 2),
        (("--name", "../x", "true"), "is no name for a run", 2),
        (("--name", "a", "--output", "b", "true"), "give one", 2),
        (("--mpiexec", "/no/mpi", "true"), "no MPI launcher", 1),
    ],
)
def test_run_refuses_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], words: str, status: int
) -> None:
    assert_one_sentence(run_plait("run", *arguments, cwd=tmp_path), words, status)


def test_doctor_tells_as_json_what_is_here() -> None:
    done = run_plait("doctor", "--json", "--quick")
    result = json.loads(done.stdout)
    assert done.returncode == (0 if result["ok"] else 1)
    assert {"machine", "CMake", "MPI launcher"} <= {f["part"] for f in result["findings"]}
    assert all(f["install"] for f in result["findings"] if f["state"] == "missing")


def test_doctor_tells_which_network_would_be_chosen() -> None:
    def details(**environment: str) -> dict[str, str]:
        done = run_plait("doctor", "--json", "--quick", **environment)
        return {f["part"]: f["detail"] for f in json.loads(done.stdout)["findings"]}

    automatic = details(PLAIT_NETWORK="")
    assert automatic["network, as chosen"].startswith("shm to ranks of this host, mpi to others")
    assert {"network, shm", "network, ofi"} <= set(automatic)
    assert details(PLAIT_NETWORK="ofi")["network, as chosen"].startswith(
        "ofi to ranks of this host, ofi to others"
    )


@pytest.fixture
def built(tmp_path: Path) -> Path:
    bench = tmp_path / "bench"
    bench.mkdir()
    result = {
        "bench": "copy",
        "commit": "",
        "machine": {},
        "network": "this host",
        "command": [],
        "seconds": 1,
        "results": [],
    }
    program = script(bench, f'echo "args $*"\n[ "$2" ] && echo \'{json.dumps(result)}\' > "$2"; exit 0')
    program.rename(bench / "bench_copy")
    script(bench, "exit 3").rename(bench / "bench_broken")
    script(bench, 'echo \'{"claim": "quick [as] can be", "ranks": 1}\'').rename(bench / "bench_quick")
    return tmp_path


def test_bench_lists_and_runs(built: Path, tmp_path: Path) -> None:
    listed = run_plait("bench", "--list", PLAIT_BUILD=str(built))
    assert [line.split()[0] for line in listed.stdout.splitlines()[:4]] == [
        "accelerate",
        "broken",
        "copy",
        "export",
    ]
    assert "quick [as] can be" in listed.stdout
    done = run_plait("bench", "copy", "--json", tmp_path / "r.json", PLAIT_BUILD=str(built))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["bench"] == "copy"
    assert "args --full" in run_plait("bench", "copy", "--full", PLAIT_BUILD=str(built)).stdout


def test_bench_fails_in_one_sentence(built: Path) -> None:
    assert_one_sentence(
        run_plait("bench", "none", PLAIT_BUILD=str(built)), "known are broken, copy, export, quick"
    )
    assert_one_sentence(run_plait("bench", "broken", PLAIT_BUILD=str(built)), "exit status 3", 3)


def test_benchmarks_in_python_need_no_build() -> None:
    listed = run_plait("bench", "--list", PLAIT_BUILD="/nowhere")
    assert listed.returncode == 0
    assert "build them with" in listed.stdout
    assert "10 million events" in listed.stdout
