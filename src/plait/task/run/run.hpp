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

/// The unique handle to a run of a scheduler.
///
/// The workers execute the tasks of all runs by priority. With one worker, tasks are executed only while a thread waits
/// for a run or tests one. Threads: one at a time for a handle; several may wait for different runs. A task's body or a
/// completion may only call `request` and `is_over`: it waits by `TaskContext::wait_for(kind, run.request())`.
class [[nodiscard]] Run {
 public:
  /// Creates an empty handle, which counts as over.
  Run() = default;
  Run(Run&& other) noexcept = default;
  /// Waits for the previous run, as the destructor does.
  Run& operator=(Run&& other) noexcept;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// Waits until the run is over. The scheduler keeps an error, and throws it at the next start or wait.
  ~Run();

  /// Returns whether all tasks have ended. Makes no progress.
  [[nodiscard]] bool is_over() const noexcept;

  /// Executes a few tasks of any run, and makes progress on the network. Returns whether the run is over.
  ///
  /// Throws: as `wait`.
  [[nodiscard]] bool test();

  /// Executes tasks of any run until this one is over.
  ///
  /// Throws: the first `Error` of a task of any run on any rank, where other exceptions become `user_task`; of the
  /// network; `timeout` when nothing of this run moves. All runs of the scheduler end with that error.
  void wait();

  /// Returns a request that completes when the run is over, with an error if it has failed. For `co_await`,
  /// `TaskContext::wait_for` and completion queues; `Request::wait` executes no task.
  [[nodiscard]] comm::Request request();
  /// Calls `callback` once when the run is over without error, at once if it is. It must be short, and may still run
  /// when another thread has returned from `wait`.
  void then(std::function<void()> callback);

 private:
  friend class OpenRun;
  friend class Scheduler;
  explicit Run(std::shared_ptr<detail::RunState> state) noexcept;

  std::shared_ptr<detail::RunState> state_;
};

}  // namespace plait::task
