// SPDX-License-Identifier: Apache-2.0
#include "plait/task/detail/graph_record.hpp"

#include "plait/task/detail/node.hpp"
#include "plait/task/graph.hpp"

namespace plait::task::detail {

void GraphRecord::write(Graph& graph, const Run& run, trace::ThreadRecorder& trace) {
  if (graph.number_in_trace_ == 0) {
    graph.number_in_trace_ = ++graph_count_;
    for (const Task& task : graph.all()) {
      const Node& node = task.node();
      later_.clear();
      for (const Node* const successor : std::span{node.successors, node.successor_count}) {
        later_.push_back(successor->number + 1);
      }
      trace.graph_task({.graph = graph.number_in_trace_,
                        .place = node.number + 1,
                        .role = node.role->in_trace,
                        .kind = run.names[node.kind.value()],
                        .later = later_});
    }
  }
  trace.graph_run({.graph = graph.number_in_trace_,
                   .step = run.step,
                   .start = run.start,
                   .active = static_cast<std::uint32_t>(run.active_count)});
}

}  // namespace plait::task::detail
