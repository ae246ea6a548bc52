// SPDX-License-Identifier: Apache-2.0
// oneTBB beside plait, in an arena of as many threads as the first argument has.
#include <cstdlib>
#include <functional>
#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>
#include <vector>

#include "tasks/cases.hpp"

namespace {

using tasks::Pattern;
using tasks::Way;
using tasks::Witness;
using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

/// Chain or wavefront as nodes of a flow graph.
class FlowGraph {
 public:
  FlowGraph(Pattern pattern, Witness& witness) {
    nodes_.reserve(tasks::task_count(pattern));
    for (std::size_t i = 0; i < tasks::task_count(pattern); ++i) {
      nodes_.push_back(
          std::make_unique<Node>(graph_, [&witness, i](const tbb::flow::continue_msg&) { witness.ran(i); }));
      tasks::for_each_before(
          pattern, i, [&](std::size_t earlier) { tbb::flow::make_edge(*nodes_[earlier], *nodes_[i]); });
    }
  }
  void run() {
    nodes_.front()->try_put(tbb::flow::continue_msg{});
    graph_.wait_for_all();
  }

 private:
  tbb::flow::graph graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

void independent(Witness& witness) {
  tbb::task_group group;
  for (std::size_t i = 0; i < tasks::list_length; ++i) {
    group.run([&witness, i] { witness.ran(i); });
  }
  group.wait();
}

void link(tbb::task_group& group, Witness& witness, std::size_t i) {
  witness.ran(i);
  if (i + 1 < tasks::list_length) {
    group.run([&group, &witness, i] { link(group, witness, i + 1); });
  }
}

void chain(Witness& witness) {
  tbb::task_group group;
  group.run_and_wait([&] { link(group, witness, 0); });
}

class Wavefront {
 public:
  explicit Wavefront(Witness& witness) : witness_{&witness} {}
  void run() {
    counters_.reset();
    tbb::task_group group;
    group.run_and_wait([&] { cell(group, 0); });
  }

 private:
  void cell(tbb::task_group& group, std::size_t i) {
    witness_->ran(i);
    counters_.ended(i, [&](std::size_t next) { group.run([this, &group, next] { cell(group, next); }); });
  }

  Witness* witness_;
  tasks::WavefrontCounters counters_;
};

std::uint64_t fib(int n) {
  if (n < 2) {
    return static_cast<std::uint64_t>(n);
  }
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  tbb::task_group group;
  group.run([&left, n] { left = fib(n - 1); });
  group.run_and_wait([&right, n] { right = fib(n - 2); });
  return left + right;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const tbb::global_control limit{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)};
  tbb::task_arena arena{threads};
  Witness witness;
  std::vector<tasks::Case> cases;
  const auto add = [&](Pattern pattern, Way way, const char* means, std::function<void()> work) {
    cases.push_back({pattern, way, means, [&arena, work = std::move(work)] { arena.execute(work); }});
  };
  add(Pattern::independent, Way::either, "task_group", [&] { independent(witness); });
  add(Pattern::chain, Way::either, "task_group", [&] { chain(witness); });
  for (const Pattern pattern : {Pattern::chain, Pattern::wavefront}) {
    std::shared_ptr<FlowGraph> graph;  // made in the arena, where its tasks are to run
    arena.execute([&] { graph = std::make_shared<FlowGraph>(pattern, witness); });
    add(pattern, Way::rerun, "flow graph", [graph] { graph->run(); });
    add(pattern, Way::built, "flow graph", [pattern, &witness] { FlowGraph{pattern, witness}.run(); });
  }
  Wavefront wavefront{witness};
  add(Pattern::wavefront, Way::rerun, "task_group and counters", [&] { wavefront.run(); });
  add(Pattern::wavefront, Way::built, "task_group and counters", [&] { Wavefront{witness}.run(); });
  add(Pattern::fib, Way::either, "task_group", [&] { witness.result(fib(tasks::fib_argument)); });
  return tasks::serve(
      "oneTBB " + std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR), cases, witness);
}
