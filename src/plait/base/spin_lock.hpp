// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace plait {

/// A lock for sections of well below a microsecond, for `std::unique_lock` and `std::lock_guard`.
///
/// Unlocking is a plain store: unlike a mutex, it does not wait until other cores have the writes of the section, which
/// takes longer than the section itself. A thread that finds it locked polls a few times, then yields, so that a
/// preempted holder can continue.
class SpinLock {
 public:
  void lock() noexcept {
    while (!try_lock()) {
      wait_until_free();
    }
  }

  [[nodiscard]] bool try_lock() noexcept {
    return !is_taken_.load(std::memory_order_relaxed) &&
           !is_taken_.exchange(true, std::memory_order_acquire);  // with release in unlock()
  }

  void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }  // with acquire in try_lock()

 private:
  static constexpr unsigned looks_between_yields = 64;

  void wait_until_free() const noexcept {
    for (unsigned looks = 1; is_taken_.load(std::memory_order_relaxed); ++looks) {  // a hint; try_lock() acquires
      if (looks % looks_between_yields == 0) {
        std::this_thread::yield();
      }
    }
  }

  std::atomic<bool> is_taken_ = false;
};

}  // namespace plait
