// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "plait/comm/request.hpp"

namespace plait::task {

class OpenRun;
class Scheduler;

namespace detail {
struct RunState;
}

/// A run under way on a scheduler: a handle, of which there is one.
///
/// The scheduler's workers execute the tasks of all runs by priority. Worker 0 is the thread that waits: on a scheduler
/// with one worker, tasks are executed only while a thread waits for some run or tests one. Threads: one at a time for
/// a handle; several threads may wait for different runs, of which one is worker 0 and the others sleep. Not from a
/// task's body or a completion, but for `request` and `is_over`: there use `TaskContext::wait_for(kind,
/// run.request())`.
class [[nodiscard]] Run {
 public:
  /// Of nothing: it is over.
  Run() = default;
  Run(Run&& other) noexcept = default;
  /// Waits for the run that this handle has had, as the destructor does.
  Run& operator=(Run&& other) noexcept;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// Waits until the run is over. An error is kept by the scheduler, which throws it at the next start or wait.
  ~Run();

  /// Whether all tasks have ended. Makes no progress.
  [[nodiscard]] bool is_over() const noexcept;

  /// Executes a few tasks of any run, and makes progress on the network. True when the run is over.
  ///
  /// Throws: as `wait`.
  [[nodiscard]] bool test();

  /// Executes tasks of any run until this one is over.
  ///
  /// Throws: the first `Error` of a task of any run on any rank (an exception that is no `Error` comes as `user_task`),
  /// or of the network, or `timeout` when nothing of this run moves. All runs of the scheduler end with that error.
  void wait();

  /// Completes when the run is over: for `then`, `co_await`, `TaskContext::wait_for` and completion queues. With an
  /// error when the run has failed. `Request::wait` executes no task: prefer `wait` of this class.
  [[nodiscard]] comm::Request request();
  /// Calls `callback` once when the run is over without error, or now when it is. It must be short. A worker may still
  /// be in it when another thread has returned from `wait`.
  void then(std::function<void()> callback);

 private:
  friend class OpenRun;
  friend class Scheduler;
  explicit Run(std::shared_ptr<detail::RunState> state) noexcept;

  std::shared_ptr<detail::RunState> state_;
};

}  // namespace plait::task
