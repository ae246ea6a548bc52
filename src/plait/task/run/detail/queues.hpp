// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// Selects the task that a worker executes next.
///
/// The order is: the task that the last one has made ready, the batch taken from the queue, the newest spawned task,
/// the most urgent of the queue, a stolen task. Threads: the worker's own.
class Queues {
 public:
  explicit Queues(SchedulerState& state) noexcept : state_{state} {}

  /// Returns the next task, or null.
  [[nodiscard]] Node* next(Worker& worker);
  /// Makes a ready task this worker's next one, or queues it: a long one with the worker that ran it last.
  void offer(Worker& worker, Node& node);
  /// Queues a spawned task. `is_ordered`: its order matters.
  void offer_spawned(Worker& worker, Node& node, bool is_ordered);
  /// Returns tasks to the queue that the worker has taken and not executed, and unlocks them.
  static void put_back(Worker& worker);

 private:
  [[nodiscard]] Node* steal(Worker& worker);

  SchedulerState& state_;
};

}  // namespace plait::task::detail
