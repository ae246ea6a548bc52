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

/// A look that took longer than this has moved data: an MPI says nothing of that.
constexpr nanoseconds busy_look_min{3000};
constexpr std::time_t stop_seconds_max = 1;

/// The program's signals are for the program's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  SignalsBlocked(SignalsBlocked&&) = delete;
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

struct Progress::Shared {
  Pending& pending;
  std::function<bool()> look;
  ProgressOptions options;

  void run() const;

 private:
  enum class Found : std::uint8_t { nothing, something, refusal };

  /// Looks as long as that moves something, up to a limit.
  [[nodiscard]] Found look_until_still() const {
    const auto start = SystemClock::now();
    for (auto before = start;;) {
      if (!look()) {
        return Found::refusal;
      }
      const auto after = SystemClock::now();
      if (after - before < busy_look_min) {
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
  prctl(PR_SET_TIMERSLACK, 1UL);  // Linux else adds 50 us to each sleep of this thread
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
    const bool has_program_looked = pending.is_any_inside() || pending.entry_count() != entries;
    entries = pending.entry_count();
    if (has_program_looked || !pending.is_any_in_flight() || pending.is_over()) {
      period = options.period_max;
      continue;
    }
    const Found found = look_until_still();
    if (found == Found::refusal) {
      return;
    }
    period = found == Found::something ? options.period_min : std::min(period * 2, options.period_max);
  }
}

Progress::Progress(Pending& pending, std::function<bool()> look, const ProgressOptions& options)
    : shared_{std::make_shared<Shared>(Shared{pending, std::move(look), options})}, process_{getpid()} {
  const SignalsBlocked for_the_new_thread;
  auto own = std::make_unique<std::shared_ptr<Shared>>(shared_);
  const auto main = [](void* argument) -> void* {
    const std::unique_ptr<std::shared_ptr<Shared>> theirs{static_cast<std::shared_ptr<Shared>*>(argument)};
    (*theirs)->run();
    return nullptr;
  };
  if (const int error = pthread_create(&thread_, nullptr, main, own.get()); error != 0) {
    throw std::system_error{error, std::generic_category(), "a thread for progress in the background"};
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
