# SPDX-License-Identifier: Apache-2.0
"""Real programs, and programs that make trouble, recorded from outside: their output stays, the recording is whole.

Called with RECORDER MPIEXEC PROGRAMS PLAIT_RING; PROGRAMS is where tests/record/programs was built.
The variable PLAIT_BUILD is where plait was.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import polars as pl
from plait._events import Run
from plait.readers.plait import read_run

RECORDER, MPIEXEC, BUILT, RING = (*sys.argv[1:5], "")[:4]
SOURCES = pathlib.Path(__file__).resolve().parent / "programs"
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/src"
SECONDS_MAX = 60

Done = subprocess.CompletedProcess[str]
#: The two ways to record; each program has to bear both.
WAYS = {"recorded": {}, "recorded with --progress": {"PLAIT_RECORD_PROGRESS": "1"}}


def start(*command: object, ranks: int = 2, **environment: str) -> Done:
    ready = ["env", *(f"{name}={value}" for name, value in environment.items()), *map(str, command)]
    return subprocess.run(
        [MPIEXEC, str(ranks), *ready], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )


def plait(*command: object) -> Done:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.run(
        [sys.executable, "-m", "plait", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env=environment,
        check=False,
    )


@functools.cache
def has_mpi4py() -> bool:
    """Whether it is there and finds this launcher's MPI."""
    show = "from mpi4py.MPI import COMM_WORLD as world; world.rank or print(world.size)"
    done = start(sys.executable, "-c", show)
    return done.returncode == 0 and done.stdout.split() == ["2"]


def functions_of(run: Run) -> set[str]:
    return {run.functions[index] for index in run.calls["function"].unique()}


def calls_of(run: Run, function: str) -> pl.DataFrame:
    return run.calls.filter(pl.col("function") == run.functions.index(function))


class Recorded(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def record(self, *command: object, way: str, ranks: int = 2) -> tuple[Done, pathlib.Path]:
        folder = self.folder / way.replace(" ", "")
        variables = {"LD_PRELOAD": RECORDER, "PLAIT_RECORD_FOLDER": str(folder), **WAYS[way]}
        return start(*command, ranks=ranks, **variables), folder

    def read_whole(self, folder: pathlib.Path, ranks: int = 2) -> Run:
        """A recording that ended in good order: nothing in it is complained of."""
        run = read_run(folder)
        self.assertEqual(run.notices, ())
        self.assertEqual(run.ranks_present, tuple(range(ranks)))
        return run


class RealPrograms(Recorded):
    def unchanged(self, *command: object, keep=str, ranks: int = 2, functions: set[str]) -> pathlib.Path:
        """Runs the program alone and recorded; `keep` takes from its output what does not depend on time."""
        alone = start(*command, ranks=ranks)
        self.assertEqual(alone.returncode, 0, alone.stdout + alone.stderr)
        folder = self.folder
        for way in WAYS:
            with self.subTest(way):
                done, folder = self.record(*command, way=way, ranks=ranks)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(keep(done.stdout), keep(alone.stdout))
                self.assertEqual(done.stderr, alone.stderr)
                self.assertLessEqual(functions, functions_of(self.read_whole(folder, ranks)))
        return folder

    def reported(self, folder: pathlib.Path, *names: str) -> None:
        """`plait report` makes a page of it that knows these names."""
        done = plait("report", folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        page = (folder / "report/report.html").read_text(encoding="utf-8")
        for name in names:
            self.assertIn(name, page)

    def replayed(self, folder: pathlib.Path) -> None:
        """`plait replay` sends its messages again, all of them."""
        sent = int((~read_run(folder).messages["received"]).sum())
        done = plait("replay", folder, "--compute", "drop")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{sent:,} messages, ", done.stdout)

    @unittest.skipIf(shutil.which("lmp") is None, "LAMMPS is not here: apt-get install lammps")
    def test_lammps_melts_as_it_does_alone(self) -> None:
        def thermodynamics(text: str) -> list[str]:
            lines = text.splitlines()
            first = next(i for i, line in enumerate(lines) if line.startswith("Step "))
            return [line for line in lines[first:] if re.match(r"\s*(Step|\d+ |N[a-z]+:|Total #)", line)]

        functions = {"MPI_Irecv", "MPI_Send", "MPI_Wait", "MPI_Allreduce"}
        melt = ("lmp", "-in", SOURCES / "melt.in", "-var", "n", 8, "-var", "steps", 100, "-log", "none")
        run = self.unchanged(*melt, keep=thermodynamics, functions=functions)
        self.reported(run, "MPI_Allreduce", "MPI_Wait")
        self.replayed(run)

    @unittest.skipUnless(has_mpi4py(), "no mpi4py here that fits this MPI: .venv/bin/pip install mpi4py")
    def test_python_with_mpi4py(self) -> None:
        functions = {"MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Startall", "MPI_Iallreduce", "MPI_Put"}
        run = self.unchanged(sys.executable, SOURCES / "everything.py", ranks=3, functions=functions)
        self.reported(run, "MPI_Iallreduce", "MPI_Put")
        self.replayed(run)

    def fortran(self, name: str, *packages: str) -> pathlib.Path:
        program = pathlib.Path(BUILT) / name
        if not program.exists():
            needs = " ".join(("gfortran", *packages))
            self.skipTest(f"no Fortran compiler for this MPI when it was built: apt-get install {needs}")
        return program

    def test_fortran_with_the_module_mpi(self) -> None:
        functions = {"MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast", "MPI_Sendrecv"}
        run = self.unchanged(self.fortran("halo"), functions=functions)
        self.reported(run, "MPI_Waitall", "MPI_Sendrecv")
        self.replayed(run)
        sends = calls_of(read_run(run), "MPI_Isend")
        self.assertEqual(sends["bytes_given"].to_list(), [64 * 8] * (2 * 2 * 20))  # the type of a row

    def test_fortran_with_the_module_mpi_f08(self) -> None:
        run = self.unchanged(
            self.fortran("halo_f08"), ranks=3, functions={"MPI_Irecv", "MPI_Isend", "MPI_Wait", "MPI_Comm_split"}
        )
        self.assertEqual(read_run(run).messages["size_bytes"].to_list(), [160_000] * (2 * 3 * 10))

    def test_coarray_fortran(self) -> None:
        program = self.fortran("coarrays", "libcoarrays-openmpi-dev")
        # By shared memory Open MPI makes no windows over memory of the program where tools/mpiexec starts it.
        command = ("env", "OMPI_MCA_osc=ucx", program)
        run = self.unchanged(*command, ranks=3, functions={"MPI_Get", "MPI_Win_create", "MPI_Reduce"})
        self.reported(run, "MPI_Get", "MPI_Win_lock")
        fetched = calls_of(read_run(run), "MPI_Get")
        self.assertEqual(fetched["bytes_got"].to_list(), [8] * (2 * 3 * 20))

    @unittest.skipUnless(RING, "plait-ring is not built here: it needs HDF5")
    def test_plaits_own_ring_over_mpi(self) -> None:
        snapshot = self.folder / "start.hdf5"
        made = subprocess.run(
            [RING, "init", "--n-azimuthal", "30", "--velocity-scatter", "1e-3", "-o", snapshot],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(made.returncode, 0, made.stderr)

        def positions(output: pathlib.Path) -> np.ndarray:
            with h5py.File(output / "ring-00000008.hdf5") as file:
                return file["PartType1/Coordinates"][:][np.argsort(file["PartType1/ParticleIDs"][:])]

        def ring(output: pathlib.Path) -> tuple[object, ...]:
            return "env", "PLAIT_NETWORK=mpi", RING, "run", snapshot, "--steps", 8, "--output", output

        alone = start(*ring(self.folder / "alone"))
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for way in WAYS:
            with self.subTest(way):
                output = self.folder / way.replace(" ", "-")
                done, run = self.record(*ring(output), way=way)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(np.array_equal(positions(output), positions(self.folder / "alone")))
                recorded = self.read_whole(run)
                self.assertIn("MPI_File_write_at_all", functions_of(recorded))
                self.assertGreater(recorded.tasks.height, 0)
        self.reported(run, "MPI_File_open")
        replay = plait("replay", run, "--compute", "drop")
        self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)
        self.assertRegex(replay.stdout, r"[1-9]\d* messages, .* on 2 ranks")
        self.assertNotIn("messages of plait's engine are left out", replay.stdout)


class Trouble(Recorded):
    def recorded(self, kind: str, says: str) -> list[tuple[Done, Run]]:
        """In both ways; the program ends as it does alone."""
        alone = start(pathlib.Path(BUILT) / "trouble", kind)
        results = []
        for way in WAYS:
            done, folder = self.record(pathlib.Path(BUILT) / "trouble", kind, way=way)
            self.assertEqual(done.returncode, alone.returncode, way + done.stderr)
            self.assertIn(says, done.stdout)
            results.append((done, read_run(folder)))
        return results

    def test_an_abort_keeps_what_came_before(self) -> None:
        for _, run in self.recorded("abort", "about to abort"):
            self.assertLessEqual({"MPI_Sendrecv", "MPI_Abort"}, functions_of(run))
            self.assertIsNone(run.meta["ended"])

    def test_calls_of_several_threads_are_all_there(self) -> None:
        for done, run in self.recorded("threads", ""):
            if "one thread only" in done.stdout:
                self.skipTest("this MPI allows one thread only")
            exchanges = calls_of(run, "MPI_Sendrecv")
            self.assertEqual(exchanges.height, 2 * 4 * 50)
            self.assertEqual(run.notices, ())

    def test_children_of_a_fork_write_nothing(self) -> None:
        for _, run in self.recorded("fork", "the children have ended"):
            self.assertEqual(calls_of(run, "MPI_Sendrecv").height, 2 * 2)
            self.assertEqual(run.notices, ())

    def test_thousands_of_communicators_and_requests(self) -> None:
        for _, run in self.recorded("handles", "thousands of handles"):
            self.assertEqual(calls_of(run, "MPI_Comm_dup").height, 2 * 3000)
            self.assertEqual(run.messages.height, 2 * 2 * (30 + 5000))

    def test_messages_that_nobody_receives_are_told(self) -> None:
        for _, run in self.recorded("unmatched", "one message each is lost"):
            self.assertIn("MPI_Request_free", functions_of(run))
            self.assertEqual(run.messages.filter(pl.col("tag") == 55).height, 2)

    def test_a_killed_rank_leaves_its_calls(self) -> None:
        for _, run in self.recorded("killed", "about to be killed"):
            of_the_killed = calls_of(run, "MPI_Sendrecv").filter(pl.col("rank") == 1)
            self.assertEqual(of_the_killed.height, 100)
            self.assertIsNone(run.meta["ended"])

    def test_a_program_without_a_finalize_is_recorded(self) -> None:
        for _, run in self.recorded("no-finalize", "leaving"):
            self.assertIn("MPI_Barrier", functions_of(run))
            self.assertIsNone(run.meta["ended"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
