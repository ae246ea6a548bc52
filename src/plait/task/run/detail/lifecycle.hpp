// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/task/run/detail/message_tasks.hpp"
#include "plait/task/run/detail/queues.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task {
class TaskContext;
}

namespace plait::task::detail {

/// Takes a task from ready to ended, and releases those that wait for it.
///
/// A worker enters the task's run (`SchedulerState::enter`) before it calls. Threads: the worker's own.
class Lifecycle {
 public:
  Lifecycle(SchedulerState& state, Queues& queues, MessageTasks& messages) noexcept
      : state_{state}, queues_{queues}, messages_{messages} {}

  /// Makes a task ready that no longer waits for anything.
  void make_ready(Worker& worker, Node& node);
  /// Executes the body of a task, and releases its successors.
  void execute(Worker& worker, Node& node);
  /// Ends a task: decrements the counts of its successors, its parent and its run. Iterative, as a long chain of joins
  /// may end at once.
  void finish(Worker& worker, Node& node);
  /// Calls the roles of tasks that threads have noted.
  void finish_noted(Worker& worker);

  // For roles:
  void execute_next(Worker& worker, Node& node) { queues_.offer(worker, node); }
  void execute_body_or_finish(Worker& worker, Node& node);
  void note(Node& node) noexcept { state_.note(node); }
  [[nodiscard]] MessageTasks& messages() noexcept { return messages_; }
  // For TaskContext:
  [[nodiscard]] SchedulerState& state() noexcept { return state_; }
  [[nodiscard]] Queues& queues() noexcept { return queues_; }

 private:
  struct Sink;

  void perform(Worker& worker, Node& node, TaskContext& context);
  [[nodiscard]] Node* count_off(Worker& worker, Node& node);
  void release_successors(Worker& worker, Node& node);
  void give_back(Worker& worker, SpawnedNode& node) noexcept;
  static void go_on(Worker& worker, Node& node);

  SchedulerState& state_;
  Queues& queues_;
  MessageTasks& messages_;
};

}  // namespace plait::task::detail
