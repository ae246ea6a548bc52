// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// Which ready task a worker executes next: its own, or one that it takes from another.
///
/// A worker takes, in this order, the task that the last one has made ready, what it has taken from its queue, the
/// spawned task that came last, its queue's most urgent, and another worker's. Threads: the worker's own.
class Queues {
 public:
  explicit Queues(SchedulerState& state) noexcept : state_{state} {}

  /// Null when no task can be had.
  [[nodiscard]] Node* next(Worker& worker);
  /// Keeps a task that is ready for this worker's next, or puts it into a queue: that of the worker that ran it last,
  /// if its data is worth it.
  void offer(Worker& worker, Node& node);
  /// A spawned task whose order matters, or not.
  void offer_spawned(Worker& worker, Node& node, bool is_ordered);
  /// Tasks that the worker has taken out of its queue and not executed, with their locks.
  static void put_back(Worker& worker);

 private:
  [[nodiscard]] Node* steal(Worker& worker);

  SchedulerState& state_;
};

}  // namespace plait::task::detail
