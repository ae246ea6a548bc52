// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plait/task/graph.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// Finds runs that are stuck: a thread waits for one, and nothing of it has moved for `stall_max`. Movement on the
/// network counts when no other run is open, which it could be of. Threads: worker 0, while it settles runs.
class Watch {
 public:
  explicit Watch(SchedulerState& state) noexcept : state_{state} {}

  /// Fails when a run is stuck.
  void look(const Worker& first);
  /// Whether it is time for a busy worker to check.
  [[nodiscard]] bool is_due(nanoseconds now) const noexcept {
    return now - last_look_ > state_.options.stall_max / looks_per_stall;
  }

 private:
  static constexpr int looks_per_stall = 8;

  [[nodiscard]] bool is_moving(RunState& run, const Worker& first) const noexcept;

  SchedulerState& state_;
  nanoseconds last_look_{};
};

/// The tasks of a graph that take part in `run`.
[[nodiscard]] std::vector<Task> active_tasks(const RunState& run);

/// What waits in `run`, in words.
[[nodiscard]] std::string describe(const RunState& run);

}  // namespace plait::task::detail
