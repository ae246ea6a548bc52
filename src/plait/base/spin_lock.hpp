// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
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
///
/// A thread that has waited for long is served before those that lock anew. Otherwise a thread that polls under the
/// lock and yields its core there, as MPI does, keeps others out for ever: they run only while it has the lock.
class SpinLock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]] {
      lock_when_free();
    }
  }

  /// False also if another thread has waited for long.
  [[nodiscard]] bool try_lock() noexcept { return served_first_.load(std::memory_order_relaxed) == 0 && take(); }

  void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }  // with acquire in try_lock()

 private:
  /// After so many attempts, some 50 us, a thread is served first.
  static constexpr int attempts_max = 6;

  [[nodiscard]] bool take() noexcept {
    return !is_taken_.load(std::memory_order_relaxed) &&
           !is_taken_.exchange(true, std::memory_order_acquire);  // with release in unlock()
  }

  [[gnu::noinline]] void lock_when_free() noexcept {
    ContentionPause contention;
    for (int attempts = 0; attempts < attempts_max; ++attempts) {
      contention.pause();
      if (try_lock()) {
        return;
      }
    }
    served_first_.fetch_add(1, std::memory_order_relaxed);
    do {
      contention.pause();
    } while (!take());
    served_first_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<bool> is_taken_ = false;
  std::atomic<std::uint16_t> served_first_ = 0;  ///< Threads that have waited for long.
};

}  // namespace plait
