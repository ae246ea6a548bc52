// SPDX-License-Identifier: Apache-2.0
#include "plait/record/progress.hpp"

#include <algorithm>
#include <sys/prctl.h>
#include <thread>
#include <utility>

namespace plait::record {

namespace {

using SystemClock = std::chrono::steady_clock;

/// A poll that took longer than this has moved data, which MPI does not report.
constexpr nanoseconds busy_poll_min{3000};
constexpr std::chrono::seconds stop_time_max{1};

}  // namespace

struct Progress::Shared {
  Pending& pending;
  std::function<bool()> poll;
  ProgressOptions options;

  void run() const;

 private:
  enum class Found : std::uint8_t { nothing, something, refusal };

  /// Polls while that moves data, up to a limit.
  [[nodiscard]] Found poll_until_still() const {
    const auto start = SystemClock::now();
    for (auto before = start;;) {
      if (!poll()) {
        return Found::refusal;
      }
      const auto after = SystemClock::now();
      if (after - before < busy_poll_min) {
        return before == start ? Found::nothing : Found::something;
      }
      if (after - start >= options.burst_max || pending.is_over() || pending.is_any_inside()) {
        return Found::something;
      }
      before = after;
    }
  }
};

void Progress::Shared::run() const {
  prctl(PR_SET_TIMERSLACK, 1UL);  // else Linux adds 50 us to each sleep
  nanoseconds period = options.period_min;
  std::uint64_t entries = pending.entry_count();
  for (auto last = SystemClock::now(); !pending.is_over();) {
    if (pending.is_any_in_flight()) {
      last = SystemClock::now();
    } else if (SystemClock::now() - last > options.linger) {
      pending.await_first();
      last = SystemClock::now();
      continue;
    }
    std::this_thread::sleep_for(period);
    const bool has_program_polled = pending.is_any_inside() || pending.entry_count() != entries;
    entries = pending.entry_count();
    if (has_program_polled || !pending.is_any_in_flight() || pending.is_over()) {
      period = options.period_max;
      continue;
    }
    const Found found = poll_until_still();
    if (found == Found::refusal) {
      return;
    }
    period = found == Found::something ? options.period_min : std::min(period * 2, options.period_max);
  }
}

Progress::Progress(Pending& pending, std::function<bool()> poll, const ProgressOptions& options)
    : pending_{pending},
      thread_{"plait-progress", [shared = Shared{pending, std::move(poll), options}] { shared.run(); }} {}

Progress::~Progress() {
  stop();
}

bool Progress::stop() noexcept {
  if (!thread_.is_running()) {
    return true;
  }
  pending_.finish();
  return thread_.await_end(stop_time_max);
}

}  // namespace plait::record
