// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace plait {

/// A lock for sections of well below a microsecond, for `std::unique_lock` and `std::lock_guard`.
///
/// Giving it back is a plain store: unlike a mutex it does not wait until what was written inside has reached other
/// cores, which between two cores that exchange messages takes longer than the section itself. Who finds it taken looks
/// again a few times, then gives way to other threads, so that a holder that was put to sleep can go on.
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
