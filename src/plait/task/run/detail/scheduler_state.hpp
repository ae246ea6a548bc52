// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/base/executor.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/detail/node_stack.hpp"
#include "plait/task/detail/worker.hpp"
#include "plait/task/run/detail/failure.hpp"
#include "plait/task/run/detail/run_table.hpp"
#include "plait/task/run/detail/sleep.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task::detail {

/// The state that the members of a scheduler share: workers, open runs, and tasks that threads note for workers.
struct SchedulerState {
  SchedulerState(comm::Endpoint& its_endpoint, trace::Recorder& its_recorder, SchedulerOptions its_options);

  /// Has a worker call the role of `node`, whose operation is complete, or which is to start. Threads: any.
  void note(Node& node) noexcept {
    noted.push(node);
    sleep.nudge();
  }
  /// Makes the run of a task that has not ended the worker's current one.
  void enter(Worker& worker, std::uint32_t epoch) const noexcept {
    if (worker.epoch != epoch) {
      worker.epoch = epoch;
      worker.run = &runs.find(epoch);
      worker.share = &worker.run->shares[worker.id.value()];
    }
  }
  [[nodiscard]] bool has_several_workers() const noexcept { return workers.size() > 1; }

  comm::Endpoint& endpoint;
  trace::Recorder& recorder;
  Executor* const executor;  ///< Of the workers; null: the system.
  const SchedulerOptions options;
  const bool counts_tasks;  ///< Whether the trace has what counters count in tasks.
  std::vector<std::unique_ptr<Worker>> workers;
  RunTable runs;
  Failure failure;
  Sleep sleep{executor};
  NodeStack noted;
  std::atomic<std::uint64_t> next_id = 1;  ///< Of tasks in the trace.
};

}  // namespace plait::task::detail
