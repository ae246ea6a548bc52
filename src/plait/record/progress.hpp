// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <pthread.h>
#include <sys/types.h>

#include "plait/base/clock.hpp"
#include "plait/record/pending.hpp"

namespace plait::record {

struct ProgressOptions {
  /// Pauses between polls: the shorter after a poll that moved something, the longer after those that did not.
  nanoseconds period_min = std::chrono::microseconds{500};
  nanoseconds period_max = std::chrono::microseconds{1000};
  /// A poll that moved something is followed by the next at once, up to this long: then the program gets the core.
  nanoseconds burst_max = std::chrono::microseconds{500};
  /// So long after the last operation was in flight the thread goes to sleep without a time limit.
  nanoseconds linger = std::chrono::milliseconds{20};
};

/// A thread that polls the network for a program that computes while its transfers are under way.
///
/// It polls periodically while something is in flight and no thread of the program is inside MPI, or has been since
/// the poll before. A poll that takes long has moved data, and is followed by the next. It sleeps while nothing is in
/// flight, and takes none of the program's signals. Threads: made and ended by one.
class Progress {
 public:
  /// `poll` is called on the new thread, which ends when it returns false, and is destroyed when the thread has ended
  /// and this object is gone. Throws std::system_error where the system gives no thread.
  Progress(Pending& pending, std::function<bool()> poll, const ProgressOptions& options = {});
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// As `stop`.
  ~Progress();

  /// Ends the thread and waits for it, up to a second: a poll may hang in a library that is shutting down. In a
  /// child that was forked, where there is no such thread, does nothing. Once it has returned true no thread polls any
  /// more.
  bool stop() noexcept;

 private:
  struct Shared;  ///< Owned by thread and object, whichever is there longer.

  std::shared_ptr<Shared> shared_;
  pid_t process_;  ///< That the thread is in.
  pthread_t thread_ = 0;
  bool is_running_ = false;
};

}  // namespace plait::record
