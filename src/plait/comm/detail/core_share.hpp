// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "plait/base/clock.hpp"

namespace plait::comm::detail {

/// Whether others use the core of a thread that never sleeps, from the processor time that the thread gets. Threads:
/// that one.
class CoreShare {
 public:
  /// The thread has slept: that was no use by others.
  void restart() noexcept { since_.reset(); }

  /// To be called again and again. True when others had a quarter of the core for some 20 ms. Cost: a reading of the
  /// clock, and a system call every 20 ms.
  [[nodiscard]] bool is_shared() noexcept {
    const auto now = std::chrono::steady_clock::now();
    if (since_ && now - *since_ < window) {
      return false;
    }
    const nanoseconds used = thread_processor_time();
    const bool is_shared = since_ && static_cast<double>((used - used_before_).count()) <
                                         own_share_min * static_cast<double>(nanoseconds{now - *since_}.count());
    since_ = now;
    used_before_ = used;
    return is_shared;
  }

 private:
  static constexpr std::chrono::milliseconds window{20};
  static constexpr double own_share_min = 0.75;

  std::optional<std::chrono::steady_clock::time_point> since_;
  nanoseconds used_before_{};
};

}  // namespace plait::comm::detail
