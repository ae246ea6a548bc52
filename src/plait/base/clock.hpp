// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>

namespace plait {

using std::chrono::nanoseconds;

/// A source of time: the machine or a simulation. Times count from the clock's own origin and never decrease.
///
/// Threads: any for `now()`.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual nanoseconds now() const noexcept = 0;
};

/// The machine's monotonic clock. A reading costs about 25 ns.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds now() const noexcept override {
    return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
  }
};

/// The processor time that the calling thread has had, which other threads do not disturb. Cost: about 0.3 us.
[[nodiscard]] inline nanoseconds thread_processor_time() noexcept {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

/// A clock that advances only when it is set: virtual time for simulations and tests.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds now() const noexcept override {
    return nanoseconds{now_.load(std::memory_order_relaxed)};  // a value by itself; orders nothing
  }

  /// Expects: `time` is not before `now()`.
  void advance_to(nanoseconds time) noexcept { now_.store(time.count(), std::memory_order_relaxed); }

 private:
  std::atomic<nanoseconds::rep> now_ = 0;
};

}  // namespace plait
