// SPDX-License-Identifier: Apache-2.0
#include "plait/record/progress.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace plait::record {

namespace {

using SystemClock = std::chrono::steady_clock;

/// A poll that took longer than this has moved data, which MPI does not report.
constexpr nanoseconds busy_poll_min{3000};
constexpr std::time_t stop_seconds_max = 1;

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
  pthread_setname_np(pthread_self(), "plait-progress");
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
    : shared_{std::make_shared<Shared>(Shared{pending, std::move(poll), options})}, process_{getpid()} {
  auto own = std::make_unique<std::shared_ptr<Shared>>(shared_);
  const auto main = [](void* argument) -> void* {
    const std::unique_ptr<std::shared_ptr<Shared>> theirs{static_cast<std::shared_ptr<Shared>*>(argument)};
    (*theirs)->run();
    return nullptr;
  };
  sigset_t all;
  sigfillset(&all);  // signals are for threads of the program
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &all);
  const int error = pthread_create(&thread_, &attributes, main, own.get());
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    throw std::system_error{error, std::generic_category(), "the progress thread cannot be created"};
  }
  own.release();  // NOLINT(bugprone-unused-return-value): the thread has it
  is_running_ = true;
}

Progress::~Progress() {
  stop();
}

bool Progress::stop() noexcept {
  if (!is_running_ || getpid() != process_) {
    return true;
  }
  is_running_ = false;
  shared_->pending.finish();
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += stop_seconds_max;
  if (pthread_timedjoin_np(thread_, nullptr, &until) == 0) {
    return true;
  }
  pthread_detach(thread_);
  return false;
}

}  // namespace plait::record
