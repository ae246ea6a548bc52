// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/status.hpp"

namespace plait::comm {

/// Is notified when an operation completes, and when the library does not need its buffer any more.
///
/// The one mechanism of completion: `Request::then`, `wait`, `co_await`, `CompletionQueue` and tasks are built on it.
/// One object may be posted with several operations. Each function is called once an operation, with no lock held, by
/// the thread that made the progress; it must be short, must not wait, and may post further operations.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  virtual ~Completion() = default;

  /// The data may be read (receive), or the buffer reused (send).
  virtual void completed(const Status& status) noexcept = 0;

  /// The buffer of a receive may be written again: no forward of it is left. Directly after `completed`, except for a
  /// multicast that this rank forwards. The completion may end in it.
  virtual void released(const Status& /*status*/) noexcept {}
};

}  // namespace plait::comm
