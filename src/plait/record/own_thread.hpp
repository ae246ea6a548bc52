// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <pthread.h>
#include <string>
#include <sys/types.h>

namespace plait::record {

/// A thread of the recorder inside the program. It blocks all signals, which are for threads of the program.
///
/// Threads: created and ended by one.
class OwnThread {
 public:
  /// The new thread calls `run`, which is destroyed when thread and caller no longer need it. `name`: for debuggers, at
  /// most 15 bytes; begins with "plait-". Throws: std::system_error if the thread cannot be created.
  OwnThread(std::string name, std::function<void()> run);
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
  /// Expects: `await_end` was called.
  ~OwnThread() = default;

  /// False once it has ended or was left, and in a forked child, which has no such thread.
  [[nodiscard]] bool is_running() const noexcept;
  /// Waits until `run` has returned; leaves the thread to itself after `time_max`. Returns false then.
  /// Does nothing unless `is_running`.
  bool await_end(std::chrono::seconds time_max) noexcept;

 private:
  pid_t process_;  ///< The process of the thread.
  pthread_t thread_ = 0;
  bool is_running_ = false;
};

}  // namespace plait::record
