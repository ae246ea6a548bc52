// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "plait/base/clock.hpp"

namespace plait {

/// How a thread waits for something that it must look for itself.
struct WaitPolicy {
  /// Looks without a pause this long; 0 when threads outnumber cores, where spinning would steal from the work.
  nanoseconds spin = std::chrono::microseconds{10};
  /// Then sleeps between looks, from the first to the second length, doubling.
  nanoseconds sleep_min = std::chrono::microseconds{5};
  nanoseconds sleep_max = std::chrono::microseconds{100};
};

/// One wait under a policy: call `pause()` after each look that found nothing, `reset()` after one that found
/// something.
///
/// Sleeps follow the machine's clock: a wait never costs more than `spin` of processor time before the first sleep.
class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_{policy}, sleep_{policy.sleep_min} {}

  void reset() noexcept {
    looks_ = 0;
    is_spent_ = false;
    sleep_ = policy_.sleep_min;
  }

  /// Notes a look that found nothing. While `is_spinning()`, look again at once; else sleep for `next_sleep()` first.
  void count_look() noexcept {
    if (!is_spinning()) {
      sleep_ = std::min(sleep_ * 2, policy_.sleep_max);
    } else if (looks_++ == 0) {
      start_ = std::chrono::steady_clock::now();
    } else if (looks_ % looks_between_readings == 0) {
      is_spent_ = std::chrono::steady_clock::now() - start_ >= policy_.spin;
    }
  }

  /// Notes a look that found nothing; returns at once while spinning, else after a sleep. True when it slept.
  bool pause() {
    const bool sleeps = !is_spinning();
    if (sleeps) {
      std::this_thread::sleep_for(sleep_);
    }
    count_look();
    return sleeps;
  }

  [[nodiscard]] bool is_spinning() const noexcept { return !is_spent_ && policy_.spin > nanoseconds::zero(); }
  /// What the next sleep would last.
  [[nodiscard]] nanoseconds next_sleep() const noexcept { return sleep_; }

 private:
  static constexpr unsigned looks_between_readings = 8;

  WaitPolicy policy_;
  nanoseconds sleep_;
  unsigned looks_ = 0;
  bool is_spent_ = false;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plait
