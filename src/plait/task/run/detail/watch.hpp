// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plait/task/graph.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// Detects runs that are stuck: a thread waits for one, and nothing of it has moved for `stall_max`. Movement on the
/// network counts when no other run is open. Threads: worker 0, while no run is opened, closed or finished.
class Watch {
 public:
  explicit Watch(SchedulerState& state) noexcept : state_{state} {}

  /// Ends all runs with an error that describes a stuck one. `first` is worker 0.
  void check(const Worker& first);
  /// Returns whether it is time for a busy worker to check.
  [[nodiscard]] bool is_due(nanoseconds now) const noexcept {
    return now - last_check_ > state_.options.stall_max / checks_per_stall;
  }

 private:
  static constexpr int checks_per_stall = 8;

  [[nodiscard]] bool is_moving(RunState& run, const Worker& first) const noexcept;

  SchedulerState& state_;
  nanoseconds last_check_{};
};

/// Returns the tasks of a graph that are active in `run`.
[[nodiscard]] std::vector<Task> active_tasks(const RunState& run);

}  // namespace plait::task::detail
