// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/task/run/detail/queues.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// Takes a task from ready to ended, posts its message if it has one, and releases those that wait for it.
///
/// A worker enters the task's run (`SchedulerState::enter`) before it calls. Threads: the worker's own.
class Lifecycle {
 public:
  Lifecycle(SchedulerState& state, Queues& queues) noexcept : state_{state}, queues_{queues} {}

  /// Makes a task ready that no longer waits for anything.
  void make_ready(Worker& worker, Node& node);
  /// Executes the body of a task, and releases its successors.
  void execute(Worker& worker, Node& node);
  /// Ends a task: decrements the counts of its successors, its parent and its run. Iterative, as a long chain of joins
  /// may end at once.
  void finish(Worker& worker, Node& node);
  /// Posts the sends that have become ready together. Those of equal data with the same tag are one multicast.
  void post_sends(Worker& worker);
  /// Calls the roles of tasks that threads have noted.
  void finish_noted(Worker& worker);

  // For roles:
  void execute_next(Worker& worker, Node& node) { queues_.offer(worker, node); }
  void execute_body_or_finish(Worker& worker, Node& node);
  void note(Node& node) noexcept { state_.note(node); }
  void post_receive(const Worker& worker, Node& node) noexcept;
  /// Records a message that is complete. A truncated message ends all runs.
  void check_message(const Worker& worker, const Node& node) noexcept;
  // For TaskContext:
  [[nodiscard]] SchedulerState& state() noexcept { return state_; }
  [[nodiscard]] Queues& queues() noexcept { return queues_; }

 private:
  struct Sink;

  [[nodiscard]] Node* count_off(Worker& worker, Node& node);
  void release_successors(Worker& worker, Node& node);
  void give_back(Worker& worker, SpawnedNode& node) noexcept;
  void post(std::span<NodeMessage* const> same);
  static void go_on(Worker& worker, Node& node);

  SchedulerState& state_;
  Queues& queues_;
};

}  // namespace plait::task::detail
