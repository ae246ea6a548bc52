# SPDX-License-Identifier: Apache-2.0
"""plait-balance as `plait balance` calls it: tables, files that read back, bad files. Called with PROGRAM MPIEXEC."""

from __future__ import annotations

import json
import pathlib
import re
import unittest

from program_case import ProgramCase, run


def write_run(folder: pathlib.Path, ranks: int = 4, side: int = 8) -> list[pathlib.Path]:
    """Elements of a square in rows on the ranks, the first row heaviest, which talk along rows and columns."""
    paths = []
    for rank in range(ranks):
        tasks, messages = [], []
        for i in range(rank * side * side // ranks, (rank + 1) * side * side // ranks):
            x, y = i % side, i // side
            entity = {"type": "object", "id": i, "home": rank, "migratable": True, "index": [x, y]}
            user = {"task_serialized_bytes": 100.0}
            times = {"node": rank, "resource": "cpu", "time": 1.0 / (1 + y)}
            tasks.append({**times, "entity": entity, "user_defined": user})
            for other in ([i + 1] if x + 1 < side else []) + ([i + side] if y + 1 < side else []):
                ends = {"from": {"type": "object", "id": i}, "to": {"type": "object", "id": other}}
                messages.append({"type": "SendRecv", "bytes": 8.0, "messages": 1, **ends})
        phases = [{"id": phase, "tasks": tasks, "communications": messages} for phase in (2, 3)]
        whole = {"type": "LBDatafile", "metadata": {"rank": rank}, "phases": phases}
        path = folder / f"stats.{rank}.json"
        path.write_text(json.dumps(whole))
        paths.append(path)
    return paths


class Program(ProgramCase):
    def test_a_table_has_a_line_for_each_balancer(self) -> None:
        files = write_run(self.folder)
        names = [line.split()[0] for line in self.good("--list", ranks=0).splitlines()]
        own = names[: names.index("zoltan_rcb")]  # Zoltan's balancers run by request only
        self.assertLessEqual({"greedy", "refine", "bisection", "two_level", "hypercube"}, set(own))
        text = self.good(*files, "--json", self.folder / "all.json", ranks=0)
        self.assertIn("phase 3 of 2 to 3: 64 objects on 4 ranks", text)
        results = json.loads((self.folder / "all.json").read_text())
        self.assertEqual([line["balancer"] for line in results["lines"]], ["as it is", *own])
        before = results["lines"][0]
        for line in results["lines"][1:]:
            with self.subTest(line["balancer"]):
                self.assertLess(line["imbalance"], before["imbalance"] / 3)
                self.assertAlmostEqual(sum(line["loads_s"]), sum(before["loads_s"]))
                self.assertGreaterEqual(max(line["loads_s"]), results["load_bound_s"] - 1e-12)
                self.assertEqual(line["objects_moved"] * 100, line["bytes_moved"])

    def test_the_placement_that_is_written_is_the_one_of_the_table(self) -> None:
        files = write_run(self.folder)
        first = self.good(*files, "--balancer", "refine", "--output", self.folder / "new" / "stats", ranks=0)
        self.assertIn("wrote the placement of refine", first)
        again = self.good(*sorted((self.folder / "new").iterdir()), "--balancer", "greedy", ranks=0)
        number = r" +(\d\.\d+) "
        then = re.search("refine" + number, first)
        now = re.search("as it is" + number, again)
        self.assertEqual(then[1], now[1])

    def test_other_ranks_weights_and_memory_are_taken(self) -> None:
        files = write_run(self.folder)
        text = self.good(*files, "--ranks", 16, "--phase", 2, "--balancer", "bisection", ranks=0)
        self.assertIn("64 objects on 16 ranks", text)
        options = ["--json", self.folder / "r.json", "--between-ranks", 0.01, "--memory", 1700]
        self.good(*files, *options, "--balancer", "greedy", "--ranks-per-node", 2, ranks=0)
        line = json.loads((self.folder / "r.json").read_text())["lines"][1]
        self.assertLessEqual(line["memory_max_bytes"], 1700)
        self.assertGreater(line["bytes_between_nodes"], 0)

    def test_trouble_is_told_with_the_file(self) -> None:
        files = write_run(self.folder)
        self.refused("the file of rank 2 is missing", files[0], files[1], files[3])
        self.refused("phase 9 is missing; 2 phases from 2 to 3", *files, "--phase", 9)
        self.refused("there is no balancer best; choose one of greedy, refine", *files, "--balancer", "best")
        self.refused("sweeps", *files, "--balancer", "hypercube:sweeps=-1")
        files[1].write_text(files[1].read_text()[:200])
        self.refused("stats.1.json: the file ends too early", *files)
        self.refused("there are no files")

    def test_a_recorded_run_is_balanced_by_all(self) -> None:
        files = sorted((pathlib.Path(__file__).parent / "recorded" / "plate").iterdir())
        self.good(*files, "--json", self.folder / "all.json", ranks=0)
        results = json.loads((self.folder / "all.json").read_text())
        lines = {line["balancer"]: line for line in results["lines"]}
        self.assertGreater(lines["as it is"]["imbalance"], 3)
        for name, line in lines.items():
            with self.subTest(name):
                self.assertLess(line["imbalance"], 0.3 if name != "as it is" else 4)
        self.assertLess(lines["refine"]["imbalance"], 0.12)
        self.assertLess(lines["refine"]["objects_moved"], lines["greedy"]["objects_moved"] / 3)

    def test_zoltan_balances_where_it_is_built_in(self) -> None:
        files = write_run(self.folder)
        names = ["zoltan_rcb", "zoltan-hsfc", "zoltan_graph"]
        words = [word for name in names for word in ("--balancer", name)]
        done = run(*files, *words, "--json", self.folder / "z.json", ranks=0)
        if "is not in this build" in done.stderr:
            self.assertNotEqual(done.returncode, 0)
            self.skipTest("Zoltan was not there when plait was built (libtrilinos-zoltan-dev)")
        self.assertEqual(done.returncode, 0, done.stderr)
        before, *lines = json.loads((self.folder / "z.json").read_text())["lines"]
        self.assertEqual([line["balancer"] for line in lines], [name.replace("-", "_") for name in names])
        for line in lines:
            self.assertLess(line["imbalance"], before["imbalance"] / 3, line["balancer"])

    def test_files_of_another_kind_are_refused(self) -> None:
        files = write_run(self.folder)
        for text in ("", "[1, 2", "[1, 2]", "{}", '{"type": "LBDatafile"}', '{"type": "other", "phases": []}'):
            with self.subTest(text):
                files[2].write_text(text)
                self.refused("stats.2.json", *files)


if __name__ == "__main__":
    unittest.main(argv=["program_test"])
