// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "plait/base/clock.hpp"

namespace plait {

/// The pauses of a thread between two attempts to take what another thread holds.
///
/// Each attempt takes the lock's cache line from the holder, which then waits for it to unlock and to lock again. So
/// pauses double, to a time in which a holder can do some dozens of sections.
class ContentionPause {
 public:
  static constexpr nanoseconds shortest{800};
  static constexpr nanoseconds longest = 32 * shortest;

  /// Pauses, and yields the core from the second pause on: the holder may have been preempted. Ends early when
  /// `is_over()`, which must not read what the holder writes often.
  template <class Over>
  void pause(const Over& is_over) {
    if (length_ > shortest) {
      std::this_thread::yield();
    }
    const auto end = std::chrono::steady_clock::now() + length_;
    while (!is_over() && std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < relaxations; ++i) {
        relax();
      }
    }
    length_ = std::min(2 * length_, longest);
  }
  void pause() {
    pause([] { return false; });
  }

 private:
  static constexpr int relaxations = 8;

  /// Leaves the core's units to the other thread of the core, if there is one.
  static void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  nanoseconds length_ = shortest;
};

/// A lock for sections of well below a microsecond, for `std::unique_lock` and `std::lock_guard`.
///
/// Unlocking is a plain store: unlike a mutex, it does not wait until other cores have the writes of the section, which
/// takes longer than the section itself.
class SpinLock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]] {
      lock_when_free();
    }
  }

  [[nodiscard]] bool try_lock() noexcept {
    return !is_taken_.load(std::memory_order_relaxed) &&
           !is_taken_.exchange(true, std::memory_order_acquire);  // with release in unlock()
  }

  void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }  // with acquire in try_lock()

 private:
  [[gnu::noinline]] void lock_when_free() noexcept {
    ContentionPause contention;
    do {
      contention.pause();
    } while (!try_lock());
  }

  std::atomic<bool> is_taken_ = false;
};

}  // namespace plait
