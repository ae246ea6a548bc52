// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/comm/endpoint.hpp"

namespace plait::comm {

/// Threads that sleep, and can be woken to help an endpoint to copy segments of non-contiguous messages.
///
/// Threads that call `Endpoint::progress` help in any case. One at a time for an endpoint, which must outlive it.
/// Threads: constructed and destroyed by one.
class CopyHelpers {
 public:
  /// `wake` is called with a number of threads, by any thread, when so many could help by calling `Endpoint::progress`.
  /// It must be short.
  CopyHelpers(Endpoint& endpoint, std::function<void(std::uint32_t)> wake);
  CopyHelpers(const CopyHelpers&) = delete;
  CopyHelpers& operator=(const CopyHelpers&) = delete;
  /// Waits for a call that runs.
  ~CopyHelpers();

  /// Sets `EndpointOptions::copiers_max`, at least 1. Threads: any.
  static void set_copiers_max(Endpoint& endpoint, std::uint32_t count) noexcept;

 private:
  Endpoint& endpoint_;
  const std::function<void(std::uint32_t)> wake_;
};

}  // namespace plait::comm
