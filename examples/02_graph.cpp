// SPDX-License-Identifier: Apache-2.0
// A graph is built once and run repeatedly, as a whole or in part. Dependencies order tasks; locks exclude them.
// One rank in one process, without MPI.
#include <iostream>
#include <vector>

#include "plait/plait.hpp"

int main() {
  plait::net::LoopbackNetwork network{1};
  plait::Runtime runtime{network.driver(plait::Rank{0}), plait::Options{.worker_count = 2}};

  std::vector<int> squares(8);
  int total = 0;
  plait::Resource total_lock;

  plait::Graph graph;
  plait::Task report = graph.task("report", [&] { std::cout << "total " << total << '\n'; });
  std::vector<plait::Task> odd{report};
  for (int i = 0; i < 8; ++i) {
    plait::Task square = graph.task("square", [&squares, i] { squares[i] = i * i; });
    plait::Task add = graph.task("add", [&, i] { total += squares[i]; });
    add.after(square).before(report).locks(total_lock);  // in any order, but one at a time
    if (i % 2 == 1) {
      odd.insert(odd.end(), {square, add});
    }
  }

  runtime.run(graph);
  total = 0;
  runtime.run(graph, odd);  // waits for nothing that is not active
  std::cout << graph.task_count() << " tasks in all, " << odd.size() << " of them active in the second run\n";
}
