// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <sys/prctl.h>
#include <thread>

#include "plait/base/clock.hpp"

namespace plait {

/// How a thread waits while it polls.
struct WaitPolicy {
  /// Time of polling without a pause; 0 if threads outnumber cores.
  nanoseconds spin = std::chrono::microseconds{10};
  /// Then yields between polls, for so long. Without it, two ranks that answer each other would each find the other
  /// asleep once one is late.
  nanoseconds yield = std::chrono::microseconds{100};
  /// Then sleeps between polls, for times that double from `sleep_min` to `sleep_max`.
  nanoseconds sleep_min = std::chrono::microseconds{5};
  nanoseconds sleep_max = std::chrono::microseconds{100};
};

/// Returns `policy` for more threads than cores: none spins, which would take cores from working threads.
[[nodiscard]] constexpr WaitPolicy crowded(WaitPolicy policy) noexcept {
  policy.spin = nanoseconds::zero();
  return policy;
}

/// Sleeps for `time` and not much longer.
inline void nap(nanoseconds time) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // Linux else adds 50 us to each sleep of this thread
  std::this_thread::sleep_for(time);
}

/// Detects oversubscribed cores: a thread that yielded was resumed late. For some time, waiting threads then sleep
/// instead of yielding: the system resumes a sleeping thread before computing ones, but a yielding one after them,
/// which takes milliseconds. Threads: any.
class Crowding {
 public:
  /// Lets other threads run, for the shortest possible time.
  void give_way() {
    if (!yield()) {
      nap(shortest);
    }
  }
  /// Lets other threads run. False, and nothing, when the caller should sleep instead.
  [[nodiscard]] bool yield() {
    const auto start = std::chrono::steady_clock::now();
    if (start.time_since_epoch().count() < until_.load(std::memory_order_relaxed)) {  // a hint; orders nothing
      return false;
    }
    std::this_thread::yield();
    const auto now = std::chrono::steady_clock::now();
    if (now - start > late) {
      until_.store((now + memory).time_since_epoch().count(), std::memory_order_relaxed);  // a hint; orders nothing
    }
    return true;
  }

 private:
  static constexpr std::chrono::microseconds shortest{10};
  /// Longer than several threads that poll take before they yield in turn, shorter than a computing one keeps a core.
  static constexpr std::chrono::microseconds late{1000};
  static constexpr std::chrono::milliseconds memory{200};

  std::atomic<std::chrono::steady_clock::rep> until_ = 0;
};

/// One wait under a policy: call `pause()` after each poll without an event, `reset()` after one with events. Sleeps
/// follow the machine's clock.
class Backoff {
 public:
  /// Borrows `crowding` for its lifetime.
  Backoff(const WaitPolicy& policy, Crowding& crowding)
      : policy_{policy}, crowding_{crowding}, phase_{first_phase()}, sleep_{policy.sleep_min} {}

  void reset() noexcept {
    looks_ = 0;
    phase_ = first_phase();
    sleep_ = policy_.sleep_min;
  }

  /// Counts a poll without an event, after which the caller has slept for `next_sleep()` if `must_sleep()`.
  void count_look() noexcept {
    if (phase_ == Phase::sleep) {
      sleep_ = std::min(sleep_ * 2, policy_.sleep_max);
    } else if (++looks_ ==
               looks_between_readings) {  // not before: most waits are over by then, and reading takes longer
      start_ = std::chrono::steady_clock::now();
    } else if (looks_ % looks_between_readings == 0) {
      const auto waited = std::chrono::steady_clock::now() - start_;
      phase_ = waited < policy_.spin                   ? Phase::spin
               : waited < policy_.spin + policy_.yield ? Phase::yield
                                                       : Phase::sleep;
    }
  }

  /// Counts a poll without an event; yields or sleeps unless spinning. Returns whether it slept.
  bool pause() { return pause(nap); }
  /// The same with `sleep(nanoseconds)` where the caller has a better way to sleep.
  template <class Sleep>
  bool pause(const Sleep& sleep) {
    if (phase_ == Phase::yield && !crowding_.yield()) {
      phase_ = Phase::sleep;
    }
    const bool sleeps = must_sleep();
    if (sleeps) {
      sleep(sleep_);
    }
    count_look();
    return sleeps;
  }

  [[nodiscard]] bool must_sleep() const noexcept { return phase_ == Phase::sleep; }

  /// Duration of the next sleep.
  [[nodiscard]] nanoseconds next_sleep() const noexcept { return sleep_; }

 private:
  enum class Phase : std::uint8_t { spin, yield, sleep };

  static constexpr unsigned looks_between_readings = 8;

  [[nodiscard]] Phase first_phase() const noexcept {
    return policy_.spin > nanoseconds::zero()    ? Phase::spin
           : policy_.yield > nanoseconds::zero() ? Phase::yield
                                                 : Phase::sleep;
  }

  WaitPolicy policy_;
  Crowding& crowding_;
  Phase phase_;
  nanoseconds sleep_;
  unsigned looks_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plait
