# SPDX-License-Identifier: Apache-2.0
"""Programs with the engine before MPI: they do what they do without it, mistakes included.

Called with LIBRARY MPIEXEC PROGRAMS ENGINE RECORDER; PROGRAMS is where tests/accelerate/programs was built.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from plait.readers.plait import read_run

LIBRARY, MPIEXEC, BUILT, ENGINE, RECORDER = sys.argv[1:6]
SECONDS_MAX = 60
#: Of random_messages: the first seed, and how many.
SEEDS = (1, 120)
COLLECTIVE_SEEDS = (1, 40)
#: With several threads.
THREAD_SEEDS = 40

Done = subprocess.CompletedProcess[str]


def start(name: str, *arguments: object, ranks: int = 2, **environment: str) -> Done:
    ready = ["env", *(f"{name}={value}" for name, value in environment.items())]
    return subprocess.run(
        [MPIEXEC, str(ranks), *ready, f"{BUILT}/{name}", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def accelerated(name: str, *arguments: object, ranks: int = 2, **environment: str) -> Done:
    return start(name, *arguments, ranks=ranks, LD_PRELOAD=LIBRARY, **environment)


class RandomMessages(unittest.TestCase):
    def test_messages_are_what_mpi_guarantees(self) -> None:
        for ranks in (1, 2, 3, 5):
            for way in ({}, {"PLAIT_PROGRESS": "none"}, {"PLAIT_NETWORK": "mpi"}):
                with self.subTest(ranks=ranks, **way):
                    done = accelerated("random_messages", *SEEDS, ranks=ranks, **way)
                    self.assertEqual((done.returncode, done.stdout), (0, f"{SEEDS[1]} seeds\n"), done.stderr)
                    self.assertRegex(done.stderr, r"plait: \d{4,} messages with [\d.]+ MB went through the engine")

    def test_threads_may_send_and_receive_at_once(self) -> None:
        for way in ({}, {"PLAIT_NETWORK": "mpi"}):
            with self.subTest(**way):
                done = accelerated("random_messages", 1, THREAD_SEEDS, 3, ranks=2, **way)
                self.assertEqual((done.returncode, done.stdout), (0, f"{THREAD_SEEDS} seeds\n"), done.stderr)

    def test_they_are_without_the_engine(self) -> None:
        done = start("random_messages", *SEEDS, ranks=3)
        self.assertEqual((done.returncode, done.stdout), (0, f"{SEEDS[1]} seeds\n"), done.stderr)


class RandomCollectives(unittest.TestCase):
    def test_they_do_what_the_blocking_ones_do(self) -> None:
        for ranks in (1, 2, 3, 5):
            for way in ({}, {"PLAIT_NETWORK": "mpi"}, {"PLAIT_NETWORK": "mpi", "PLAIT_PROGRESS": "none"}):
                with self.subTest(ranks=ranks, **way):
                    done = accelerated("random_collectives", *COLLECTIVE_SEEDS, ranks=ranks, **way)
                    self.assertEqual((done.returncode, done.stdout), (0, f"{COLLECTIVE_SEEDS[1]} seeds\n"), done.stderr)
                    found = re.search(r"plait: (\d+) messages", done.stderr)
                    assert found is not None, done.stderr
                    # A seed has a message beside its collectives, which are the engine's between hosts only.
                    messages, own = int(found.group(1)), ranks * COLLECTIVE_SEEDS[1]
                    self.assertTrue(messages > own if way and ranks > 1 else messages == own, done.stderr)


class Partitioned(unittest.TestCase):
    def test_partitions_become_ready_in_any_order(self) -> None:
        if not (pathlib.Path(BUILT) / "partitioned").exists():
            self.skipTest("this MPI is older than MPI 4")
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                done = accelerated("partitioned", ranks=ranks)
                self.assertEqual((done.returncode, done.stdout), (0, "20 rounds\n"), done.stderr)
                self.assertIn(f"plait: {ranks * 60} messages", done.stderr)


class Fortran(unittest.TestCase):
    def check_same(self, name: str) -> None:
        if not (pathlib.Path(BUILT) / name).exists():
            self.skipTest("no Fortran compiler for this MPI when it was built: apt-get install gfortran")
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                plain, done = start(name, ranks=ranks), accelerated(name, ranks=ranks)
                self.assertEqual((plain.returncode, done.returncode), (0, 0), plain.stdout + done.stdout + done.stderr)
                self.assertRegex(plain.stdout, r"total +\d")
                self.assertEqual(done.stdout, plain.stdout)
                self.assertIn("went through the engine", done.stderr)

    def test_requests_with_the_module_mpi(self) -> None:
        self.check_same("requests")

    def test_requests_with_the_module_mpi_f08(self) -> None:
        self.check_same("requests_f08")


class Trouble(unittest.TestCase):
    def check_same(self, what: str, printed: str, ranks: int = 2) -> Done:
        plain, done = start("trouble", what, ranks=ranks), accelerated("trouble", what, ranks=ranks)
        self.assertEqual((plain.returncode, plain.stdout), (0, printed), plain.stderr)
        self.assertEqual((done.returncode, done.stdout), (0, printed), done.stderr)
        return done

    def test_a_message_that_is_too_long_is_an_error_of_its_receive(self) -> None:
        self.check_same("truncated", "MPI_ERR_TRUNCATE\n")

    def test_wrong_arguments_are_reported_by_the_mpi_library(self) -> None:
        self.check_same("wrong_rank", "MPI_ERR_RANK\n")

    def test_a_forked_child_does_not_disturb_messages(self) -> None:
        self.check_same("forks", "7 2\n")

    def test_a_communicator_may_be_freed_with_messages_under_way(self) -> None:
        self.check_same("freed", "2\n", ranks=3)

    def test_messages_between_groups_are_served_by_the_mpi_library(self) -> None:
        self.check_same("groups", "1 0\n")

    def test_a_program_without_mpi_is_left_alone(self) -> None:
        done = self.check_same("without_mpi", "nothing\nnothing\n")
        self.assertNotIn("plait", done.stderr)

    def test_messages_that_nobody_receives_do_not_keep_the_program(self) -> None:
        done = accelerated("trouble", "never_received")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_death_of_a_rank_ends_the_run(self) -> None:
        for what in ("killed", "aborts"):
            with self.subTest(what):
                self.assertNotEqual(accelerated("trouble", what).returncode, 0)


class Recorded(unittest.TestCase):
    def test_what_the_engine_did_is_beside_the_calls(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            done = start(
                "random_messages",
                *(1, 40),
                ranks=3,
                LD_PRELOAD=f"{RECORDER}:{LIBRARY}",
                PLAIT_RECORD_FOLDER=f"{place}/run",
            )
            self.assertEqual((done.returncode, done.stdout), (0, "40 seeds\n"), done.stderr)
            run = read_run(pathlib.Path(place) / "run")
        # Each message of the program is one of the engine, which has no others but those that agree on communicators.
        self.assertGreater(run.messages.height, 5000)
        self.assertEqual(set(run.messages["protocol"]), {0, 1})
        known = run.engine_messages.filter(run.engine_messages["number"] > 0)
        self.assertEqual(known.height, run.messages.height)
        self.assertEqual(known.select("rank", "number", "received").n_unique(), known.height)
        own = run.engine_messages.filter(run.engine_messages["number"] == 0)
        self.assertEqual((set(own["size_bytes"]), own.height % 2), ({4}, 0))
        self.assertGreater(run.gaps.height, 0)


class Wheel(unittest.TestCase):
    def test_mpi4py_as_it_comes_from_pypi_finds_its_mpi(self) -> None:
        script = (
            "from mpi4py import MPI; world = MPI.COMM_WORLD; "
            "print(world.sendrecv(world.rank, (world.rank + 1) % 2), flush=True)"
        )

        def run(*variables: str) -> Done:
            return subprocess.run(
                [MPIEXEC, "2", "env", *variables, sys.executable, "-c", script],
                capture_output=True,
                text=True,
                timeout=SECONDS_MAX,
                check=False,
            )

        if run().returncode != 0:
            self.skipTest("mpi4py is not here, or for another MPI")
        done = run(f"LD_PRELOAD={LIBRARY}")
        # The launcher may put a rank's number before the end of the other's line.
        self.assertEqual((done.returncode, sorted("".join(done.stdout.split()))), (0, ["0", "1"]), done.stderr)
        self.assertIn("went through the engine", done.stderr)


class SteppingAside(unittest.TestCase):
    def test_it_can_be_switched_off_and_kept_quiet(self) -> None:
        off = accelerated("trouble", "truncated", PLAIT_ACCELERATE="off")
        quiet = accelerated("trouble", "truncated", PLAIT_ACCELERATE_QUIET="1")
        for done in (off, quiet):
            self.assertEqual((done.returncode, done.stdout), (0, "MPI_ERR_TRUNCATE\n"), done.stderr)
            self.assertNotIn("plait", done.stderr)

    def test_without_its_engine_the_program_runs_on_its_mpi(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            alone = shutil.copy(LIBRARY, pathlib.Path(place))
            done = start("trouble", "truncated", LD_PRELOAD=str(alone))
        self.assertEqual((done.returncode, done.stdout), (0, "MPI_ERR_TRUNCATE\n"), done.stderr)
        self.assertIn("the program's messages are not accelerated", done.stderr)

    def test_with_the_handles_of_mpi_5_too(self) -> None:
        if shutil.which("cc") is None:
            self.skipTest("no cc")
        with tempfile.TemporaryDirectory() as place:
            other = f"{place}/libmpi_abi.so"  # of which only the name counts
            subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", other], check=True)
            done = start("trouble", "truncated", LD_PRELOAD=f"{LIBRARY}:{other}")
        self.assertEqual((done.returncode, done.stdout), (0, "MPI_ERR_TRUNCATE\n"), done.stderr)
        self.assertIn("the program uses another MPI", done.stderr)

    def test_with_a_network_that_cannot_be_made_too(self) -> None:
        done = accelerated("trouble", "truncated", PLAIT_NETWORK="carrier-pigeon")
        self.assertEqual((done.returncode, done.stdout), (0, "MPI_ERR_TRUNCATE\n"), done.stderr)
        self.assertIn("the program's messages are not accelerated", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
