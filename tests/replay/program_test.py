# SPDX-License-Identifier: Apache-2.0
"""plait-replay as its users run it: its own logs, options, bad logs. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import json
import os
import pathlib
import re
import struct
import unittest
import unittest.mock

from program_case import ProgramCase, run
from trace_blocks import seal

EXCHANGE = "pattern=random,ranks=4,pairs=200,mean=2KiB,distribution=exponential,steps=2,seed=3"
RECORD_BYTES, HEADER_BYTES, MESSAGE = 64, 4096, 4


def messages_of(folder: pathlib.Path) -> list[tuple[int, ...]]:
    """(rank, received, peer, communicator, tag, bytes), sorted; read as in docs/reference/trace-format.md."""
    found = []
    for file in sorted(folder.glob("rank-*.plt")):
        data = file.read_bytes()
        (rank,) = struct.unpack_from("<I", data, 12)
        for at in range(HEADER_BYTES, len(data), RECORD_BYTES):
            if data[at] == MESSAGE:
                peer, communicator = struct.unpack_from("<II", data, at + 4)
                tag, size = struct.unpack_from("<QQ", data, at + 16)
                found.append((rank, data[at + 1], peer, communicator, tag, size))
    return sorted(found)


class Program(ProgramCase):
    def test_a_replayed_log_has_the_messages_of_the_log(self) -> None:
        first, second = self.folder / "first", self.folder / "second"
        self.good("--synthetic", EXCHANGE, "--check", "-o", first, ranks=4)
        text = self.good(first, "--check", "-o", second, "--repeat", 2, ranks=4)
        self.assertIn("400 messages", text)
        self.assertEqual(len(messages_of(first)), 800)
        self.assertEqual(messages_of(first), messages_of(second))
        meta = json.loads((second / "meta.json").read_text())
        self.assertEqual((meta["recorder"], meta["ranks"]), ("replay", 4))
        figures = json.loads((second / "replay.json").read_text())
        self.assertEqual(len(figures["repetitions"]), 2)
        self.assertEqual(figures["messages"], 400)

    def test_calls_are_told_with_their_times(self) -> None:
        text = self.good("--synthetic", EXCHANGE, ranks=4)
        self.assertRegex(text, r"MPI_Isend +400 ")
        self.assertRegex(text, r"MPI_Waitall +\d+ +[\d.]+ [num]?s ")

    def test_sizes_ranks_and_steps_can_be_changed(self) -> None:
        log = self.folder / "log"
        self.good("--synthetic", EXCHANGE, "-o", log, ranks=4)
        whole = self.good(log, ranks=4)
        half = self.good(log, "--scale", 0.5, ranks=4)
        size = re.compile(r"messages, ([\d.]+) MB")
        self.assertAlmostEqual(float(size.search(half)[1]), float(size.search(whole)[1]) / 2, delta=0.002)
        self.assertIn("400 messages", self.good(log, "--ranks", 2, "--check", ranks=2))

    def test_threads_may_share_the_work(self) -> None:
        for threads in ("inject,sends,receives", "streams", "inject+receives,sends"):
            self.assertIn(
                "400 messages",
                self.good("--synthetic", EXCHANGE, "--check", "--threads", threads, ranks=4),
            )

    def test_each_backend_moves_every_message(self) -> None:
        for backend, name in (("mpi", "mpi:"), ("plait", "plait ("), ("rma", "rma (MPI):")):
            text = self.good("--synthetic", EXCHANGE, "--check", "--backend", backend, ranks=4)
            self.assertIn("400 messages, ", text)
            self.assertIn(f" 4 ranks, {name}", text)

    def test_a_flag_goes_on_its_way_while_its_sender_waits_for_others(self) -> None:
        # These windows keep small writes back until they are pushed; each rank waits for its receives first.
        with unittest.mock.patch.dict(os.environ, {"OMPI_MCA_osc": "pt2pt"}):
            halo = "pattern=halo,ranks=2,pairs=50,mean=6KiB"
            done = run("--synthetic", halo, "--check", "--backend", "rma", "--stall-seconds", 10, ranks=2)
        if "no memory that other ranks can write into" in done.stderr:
            self.skipTest("this MPI has no such windows")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("50 messages", done.stdout)

    def test_libfabric_moves_every_message_where_it_is_there(self) -> None:
        done = run("--synthetic", EXCHANGE, "--check", "--backend", "ofi", ranks=4)
        if "built without libfabric" in done.stderr:
            self.skipTest("plait is built without libfabric")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" 4 ranks, ofi (", done.stdout)
        self.assertRegex(done.stdout, r"fi_writemsg and flag +400 ")

    def test_what_cannot_be_is_refused(self) -> None:
        log = self.folder / "log"
        self.good("--synthetic", EXCHANGE, "-o", log, ranks=4)
        self.refused("the exchange has 4 ranks, and this replay has 2 processes", log, ranks=2)
        self.refused("there is no role 'poll'", log, "--threads", "poll", ranks=4)
        self.refused("--rate fast: give max, logged", log, "--rate", "fast", ranks=4)
        self.refused("give the folder of a recorded run", ranks=2)
        self.refused("none is no folder", self.folder / "none", ranks=2)

    def test_a_log_whose_sends_are_lost_is_told_of_and_does_not_hang(self) -> None:
        log = self.folder / "log"
        self.good("--synthetic", EXCHANGE, "-o", log, ranks=4)
        data = bytearray((log / "rank-0000.plt").read_bytes())
        lost = 0
        for at in range(HEADER_BYTES, len(data), RECORD_BYTES):
            if data[at] == MESSAGE and data[at + 1] == 0 and lost < 3:
                data[at] = 200  # a kind that there is not
                lost += 1
        seal(data)
        (log / "rank-0000.plt").write_bytes(data)
        done = run(log, "--check", "--stall-seconds", 10, ranks=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("397 messages", done.stdout)
        self.assertIn("from rank 0", done.stderr)

    def test_help_tells_of_every_option(self) -> None:
        done = run("--help", ranks=0)
        for option in (
            "--backend",
            "--threads",
            "--scale",
            "--rate",
            "--compute",
            "--synthetic",
            "--stall-seconds",
        ):
            self.assertIn(option, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=["program_test"])
