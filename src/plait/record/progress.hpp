// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "plait/base/clock.hpp"
#include "plait/record/own_thread.hpp"
#include "plait/record/pending.hpp"

namespace plait::record {

struct ProgressOptions {
  /// Pauses between polls: shortest after a poll that moved data, up to the longest after others.
  nanoseconds period_min = std::chrono::microseconds{500};
  nanoseconds period_max = std::chrono::microseconds{1000};
  /// Polls that move data follow each other without a pause for at most this time.
  nanoseconds burst_max = std::chrono::microseconds{500};
  /// The thread sleeps when no operation has been in flight for this time.
  nanoseconds linger = std::chrono::milliseconds{20};
};

/// A thread that polls the network while the program computes.
///
/// It polls periodically while an operation is in flight, unless a thread of the program has been inside MPI since the
/// last poll. A poll that takes long has moved data, and is followed by another at once. The thread sleeps while
/// nothing is in flight, and blocks all signals. Threads: created and stopped by one.
class Progress {
 public:
  /// The new thread calls `poll` until it returns false. `poll` is destroyed when thread and object have ended. Throws:
  /// std::system_error if the thread cannot be created.
  Progress(Pending& pending, std::function<bool()> poll, const ProgressOptions& options = {});
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// As `stop`.
  ~Progress();

  /// Ends the thread and waits for it, at most one second, as a poll may hang in a library that is shutting down.
  /// Returns whether the thread has ended. Does nothing in a forked child, which has no such thread.
  bool stop() noexcept;

 private:
  struct Shared;  ///< Of the thread, which may outlive the object.

  Pending& pending_;
  OwnThread thread_;
};

}  // namespace plait::record
