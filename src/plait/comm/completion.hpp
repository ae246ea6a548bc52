// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/status.hpp"

namespace plait::comm {

/// Told when an operation completes, and when the library has done with its buffer. Each is called once, by whichever
/// thread made the progress, with no lock held; it must be short, must not wait, and may post further operations.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  Completion(Completion&&) = delete;
  Completion& operator=(Completion&&) = delete;
  virtual ~Completion() = default;

  /// The data may be read (receive), or the buffer reused (send).
  virtual void completed(const Status& status) noexcept = 0;

  /// The buffer of a receive may be written again: it is not passed on to others any more. For all but a multicast
  /// that this rank passes on, this is at once after `completed`. The completion may end in it.
  virtual void released(const Status& /*status*/) noexcept {}
};

}  // namespace plait::comm
