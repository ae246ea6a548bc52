// SPDX-License-Identifier: Apache-2.0
// Taskflow beside plait, on as many threads as the first argument has.
#include <cstdlib>
#include <memory>
#include <taskflow/taskflow.hpp>

#include "tasks/cases.hpp"

namespace {

using tasks::Pattern;
using tasks::Way;
using tasks::Witness;

void fill(tf::Taskflow& graph, Pattern pattern, Witness& witness) {
  std::vector<tf::Task> all;
  all.reserve(tasks::task_count(pattern));
  for (std::size_t i = 0; i < tasks::task_count(pattern); ++i) {
    all.push_back(graph.emplace([&witness, i] { witness.ran(i); }));
    tasks::for_each_before(pattern, i, [&](std::size_t earlier) { all[earlier].precede(all[i]); });
  }
}

void fib(tf::Subflow& flow, int n, std::uint64_t& result) {
  if (n < 2) {
    result = static_cast<std::uint64_t>(n);
    return;
  }
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  flow.emplace([&left, n](tf::Subflow& child) { fib(child, n - 1, left); });
  flow.emplace([&right, n](tf::Subflow& child) { fib(child, n - 2, right); });
  flow.join();
  result = left + right;
}

}  // namespace

int main(int argc, char** argv) {
  tf::Executor executor{argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1};
  Witness witness;
  std::vector<tasks::Case> cases;
  for (const Pattern pattern : {Pattern::independent, Pattern::chain, Pattern::wavefront}) {
    const auto graph = std::make_shared<tf::Taskflow>();
    fill(*graph, pattern, witness);
    cases.push_back({pattern, Way::rerun, "", [&executor, graph] { executor.run(*graph).wait(); }});
    cases.push_back({pattern, Way::built, "", [&executor, &witness, pattern] {
                       tf::Taskflow built;
                       fill(built, pattern, witness);
                       executor.run(built).wait();
                     }});
  }
  std::uint64_t result = 0;
  tf::Taskflow recursive;
  recursive.emplace([&result](tf::Subflow& flow) { fib(flow, tasks::fib_argument, result); });
  cases.push_back({Pattern::fib, Way::rerun, "subflow", [&] {
                     executor.run(recursive).wait();
                     witness.result(result);
                   }});
  return tasks::serve(std::string{"Taskflow "} + tf::version(), cases, witness);
}
