// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plait::accelerate {

/// What one process has sent and ended: counts without ordering. Threads: any.
class Tally {
 public:
  void count_message(std::size_t bytes) noexcept {
    messages_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// A non-blocking operation has ended, and whether the program had to wait for it.
  void count_ended(std::size_t bytes, bool was_awaited) noexcept {
    ended_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    awaited_bytes_.fetch_add(was_awaited ? bytes : 0, std::memory_order_relaxed);
  }

  /// Messages sent.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_.load(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }
  /// Of non-blocking operations that have ended.
  [[nodiscard]] std::uint64_t ended_bytes() const noexcept { return ended_bytes_.load(); }
  /// Of those that the program had to wait for.
  [[nodiscard]] std::uint64_t awaited_bytes() const noexcept { return awaited_bytes_.load(); }

 private:
  std::atomic<std::uint64_t> messages_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> ended_bytes_ = 0;
  std::atomic<std::uint64_t> awaited_bytes_ = 0;
};

}  // namespace plait::accelerate
