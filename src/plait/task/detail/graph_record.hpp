// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {
class Graph;
}

namespace plait::task::detail {

/// Writes graphs into a trace, for pictures with all dependencies: each once, at its first run and after a change. One
/// a scheduler.
class GraphRecord {
 public:
  struct Run {
    std::span<const trace::NameId> names;  ///< By kind.
    std::uint32_t step = 0;
    std::size_t active_count = 0;
    nanoseconds start{};
  };

  /// Cost: a record for the run; for a graph that the trace does not have yet, one a task (two if more than twelve come
  /// after it, and so on). Nothing when `trace` is off.
  void begin_run(Graph& graph, const Run& run, trace::ThreadRecorder& trace) {
    if (trace.is_on()) {
      write(graph, run, trace);
    }
  }

 private:
  void write(Graph& graph, const Run& run, trace::ThreadRecorder& trace);

  std::uint32_t graph_count_ = 0;
  std::vector<std::uint32_t> later_;  ///< Kept for its memory.
};

}  // namespace plait::task::detail
