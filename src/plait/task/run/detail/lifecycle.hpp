// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/task/run/detail/message_tasks.hpp"
#include "plait/task/run/detail/queues.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"
#include "plait/task/run/detail/spawner.hpp"

namespace plait::task::detail {

/// What becomes of a task, from ready to ended, and of those that wait for it.
///
/// A worker enters the task's run (`SchedulerState::enter`) before it calls. Threads: the worker's own.
class Lifecycle {
 public:
  Lifecycle(SchedulerState& state, Queues& queues, MessageTasks& messages) noexcept
      : state_{state}, queues_{queues}, messages_{messages}, spawner_{state, queues, *this} {}

  /// `node` waits for nothing any more.
  void make_ready(Worker& worker, Node& node);
  /// Executes a task: its body, then what its end releases.
  void execute(Worker& worker, Node& node);
  /// Counts an ended task off: its parent, what waits for it, its run. Iterative, as a long chain of joins may end at
  /// once.
  void finish(Worker& worker, Node& node);
  /// Has the roles act on tasks that threads have noted.
  void finish_noted(Worker& worker);

  // For roles:
  void execute_next(Worker& worker, Node& node) { queues_.offer(worker, node); }
  void execute_body_or_finish(Worker& worker, Node& node);
  void note(Node& node) noexcept { state_.note(node); }
  [[nodiscard]] MessageTasks& messages() noexcept { return messages_; }

 private:
  struct Sink;

  [[nodiscard]] Node* count_off(Worker& worker, Node& node);
  void release_successors(Worker& worker, Node& node);
  void give_back(Worker& worker, SpawnedNode& node) noexcept;
  static void go_on(Worker& worker, Node& node);
  void fail_with_current_exception(const Worker& worker, const Node& node) noexcept;

  SchedulerState& state_;
  Queues& queues_;
  MessageTasks& messages_;
  Spawner spawner_;
};

}  // namespace plait::task::detail
