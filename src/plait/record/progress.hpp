// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <pthread.h>
#include <sys/types.h>

#include "plait/base/clock.hpp"
#include "plait/record/pending.hpp"

namespace plait::record {

struct ProgressOptions {
  /// Pauses between looks: the shorter after a look that moved something, the longer after those that did not.
  nanoseconds period_min = std::chrono::microseconds{500};
  nanoseconds period_max = std::chrono::microseconds{1000};
  /// A look that moved something is followed by the next at once, up to this long: then the program gets the core.
  nanoseconds burst_max = std::chrono::microseconds{500};
  /// So long after the last operation was in flight the thread goes to sleep without a time limit.
  nanoseconds linger = std::chrono::milliseconds{20};
};

/// A thread that looks at the network for a program that computes while its transfers are under way.
///
/// It looks now and then while something is in flight and no thread of the program is inside MPI, or has been since
/// the look before. A look that lasts has moved data, and is followed by the next. It sleeps while nothing is in
/// flight, and takes none of the program's signals. Threads: made and ended by one.
class Progress {
 public:
  /// `look` is called on the new thread, which ends when it returns false, and is destroyed when the thread has ended
  /// and this object is gone. Throws std::system_error where the system gives no thread.
  Progress(Pending& pending, std::function<bool()> look, const ProgressOptions& options = {});
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;
  /// As `stop`.
  ~Progress();

  /// Ends the thread and waits for it, up to a second: a look may hang in a library that is falling to pieces. In a
  /// child that was forked, where there is no such thread, does nothing. Once it has returned true nobody looks any
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
