// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "plait/base/spin_lock.hpp"

namespace plait::accelerate {

/// What one process has sent and ended.
struct Counts {
  std::uint64_t messages = 0;  ///< Sent.
  std::uint64_t bytes = 0;
  std::uint64_t ended_bytes = 0;    ///< Of non-blocking operations that have ended.
  std::uint64_t awaited_bytes = 0;  ///< Of those that the program had to wait for.
};

/// Counts that. Threads: any.
class Tally {
 public:
  void count_message(std::size_t bytes) noexcept {
    const std::lock_guard lock{mutex_};  // one atomic operation for two counts
    counts_.messages += 1;
    counts_.bytes += bytes;
  }
  /// A non-blocking operation has ended, and whether the program had to wait for it.
  void count_ended(std::size_t bytes, bool was_awaited) noexcept {
    const std::lock_guard lock{mutex_};
    counts_.ended_bytes += bytes;
    counts_.awaited_bytes += was_awaited ? bytes : 0;
  }

  [[nodiscard]] Counts counts() const noexcept {
    const std::lock_guard lock{mutex_};
    return counts_;
  }

 private:
  mutable SpinLock mutex_;
  Counts counts_;
};

}  // namespace plait::accelerate
