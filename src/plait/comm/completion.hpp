// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/status.hpp"

namespace plait::comm {

/// Is notified when an operation completes, and when its buffer is released.
///
/// `Request::then`, `wait`, `co_await`, `CompletionQueue` and tasks are built on it. One object may observe several
/// operations. Each function is called once for each operation, with no lock held, by the thread that makes progress.
/// It must be short, must not wait, and may post operations.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  virtual ~Completion() = default;

  /// The data may be read (receive), or the buffer reused (send).
  virtual void completed(const Status& status) noexcept = 0;

  /// The buffer of a receive may be written again. Called directly after `completed`, or when this rank has forwarded a
  /// multicast. The completion may end in it.
  virtual void released(const Status& /*status*/) noexcept {}
};

}  // namespace plait::comm
