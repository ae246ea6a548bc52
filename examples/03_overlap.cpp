// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// Two ranks exchange vectors, and compute during the transfer. Sends and receives are tasks; no task waits.
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include "plait/plait.hpp"

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  const plait::Rank other{1 - runtime.self().value()};
  const plait::Tag halo{1};

  const std::vector<double> mine(100'000, runtime.self().value() + 1.0);
  std::vector<double> theirs(mine.size());
  double inner = 0;
  double outer = 0;

  plait::Graph graph;
  graph.send("send", {other, halo}, [&] { return std::as_bytes(std::span{mine}); });
  plait::Task arrived = graph.receive("receive", {other, halo}, std::as_writable_bytes(std::span{theirs}));
  plait::Task near = graph.task("inner", [&] { inner = std::accumulate(mine.begin(), mine.end(), 0.0); });
  plait::Task far = graph.task("outer", [&] { outer = std::accumulate(theirs.begin(), theirs.end(), 0.0); });
  far.after(arrived);  // `inner` waits for nothing
  if (runtime.self() == plait::Rank{0}) {
    graph.task("print", [&] { std::cout << "mine " << inner << ", theirs " << outer << '\n'; }).after(near).after(far);
  }
  runtime.run(graph);
}
