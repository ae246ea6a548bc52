// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/progression.hpp"

#include <algorithm>
#include <array>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "plait/base/backoff.hpp"
#include "plait/base/error.hpp"
#include "plait/base/topology.hpp"

namespace plait::comm {

namespace {

using SystemClock = std::chrono::steady_clock;

/// A poll that took longer than this has moved data, even if nothing has completed: MPI does not report progress.
constexpr nanoseconds busy_poll_min{3000};
/// Between two polls of a thread on an idle core.
constexpr nanoseconds idle_core_pause{20'000};

/// By mode.
constexpr std::array<const char*, 4> mode_names{"none", "timer", "idle", "dedicated"};

/// Polls once; returns whether to poll again at once.
bool poll(Endpoint& endpoint) {
  const auto start = SystemClock::now();
  const std::size_t happened = endpoint.progress();
  return happened > 0 || SystemClock::now() - start > busy_poll_min;
}

}  // namespace

const char* to_string(ProgressionMode mode) noexcept {
  return mode_names[static_cast<std::size_t>(mode)];
}

std::optional<ProgressionMode> progression_mode(std::string_view name) noexcept {
  const auto found = std::ranges::find(mode_names, name);
  if (found == mode_names.end()) {
    return {};
  }
  return static_cast<ProgressionMode>(found - mode_names.begin());
}

Progression::Progression(Endpoint& endpoint, const ProgressionOptions& options)
    : endpoint_{endpoint}, options_{options} {
  require(options_.period_min > nanoseconds::zero() && options_.period_max >= options_.period_min,
          "the timer's period_min must be above 0 and not above period_max");
  const auto start = [this](auto run) {
    threads_.emplace_back([this, run] {
      if (options_.thread_start) {
        options_.thread_start();
      }
      run();
    });
  };
  switch (options_.mode) {
    case ProgressionMode::none:
      break;
    case ProgressionMode::timer:
      start([this] { run_timer(); });
      break;
    case ProgressionMode::idle_cores:
      for (const int core : usable_cores()) {
        start([this, core] { run_idle_core(core); });
      }
      break;
    case ProgressionMode::dedicated:
      start([this] { run_dedicated(); });
      break;
  }
}

Progression::~Progression() {
  is_ending_.store(true, std::memory_order_release);
  ring();
  threads_.clear();
  (void)endpoint_.arm(nullptr);
}

void Progression::ring() noexcept {
  rings_.fetch_add(1, std::memory_order_release);  // with sleep_until_needed()
  rings_.notify_all();
}

bool Progression::sleep_until_needed() {
  const std::uint32_t seen = rings_.load(std::memory_order_acquire);
  if (is_ending()) {
    return false;
  }
  if (endpoint_.activity().has_handlers() && options_.listen_period > nanoseconds::zero()) {
    std::this_thread::sleep_for(options_.listen_period);
    endpoint_.progress();
  } else if (endpoint_.arm(&doorbell_)) {
    rings_.wait(seen, std::memory_order_acquire);
  }
  return !is_ending();
}

/// Remembers when something was last in flight.
class Progression::Need {
 public:
  explicit Need(Progression& owner) : owner_{owner} {}

  enum class Answer : std::uint8_t { needed, not_now, ending };

  /// Whether to poll now. When nothing has been in flight for long, sleeps until something is.
  [[nodiscard]] Answer ask() {
    if (owner_.is_ending()) {
      return Answer::ending;
    }
    if (owner_.endpoint_.activity().needs_polls()) {
      last_ = SystemClock::now();
      return Answer::needed;
    }
    if (SystemClock::now() - last_ <= owner_.options_.linger) {
      return Answer::not_now;
    }
    if (!owner_.sleep_until_needed()) {
      return Answer::ending;
    }
    if (owner_.endpoint_.activity().needs_polls()) {
      last_ = SystemClock::now();
    }
    return Answer::not_now;
  }

 private:
  Progression& owner_;
  SystemClock::time_point last_ = SystemClock::now();
};

void Progression::run_timer() {
  prctl(PR_SET_TIMERSLACK, 1UL);  // Linux else adds 50 us to each sleep of this thread
  nanoseconds period = options_.period_min;
  std::uint64_t seen_polls = endpoint_.activity().poll_count();
  Need need{*this};
  for (Need::Answer answer = need.ask(); answer != Need::Answer::ending; answer = need.ask()) {
    if (answer == Need::Answer::not_now) {
      period = options_.period_min;
    }
    std::this_thread::sleep_for(period);
    if (endpoint_.activity().poll_count() != seen_polls) {  // another thread polls
      period = options_.period_min * 2;
    } else if (answer == Need::Answer::needed) {
      period = poll_until_still() ? options_.period_min : std::min(period * 2, options_.period_max);
    }
    seen_polls = endpoint_.activity().poll_count();
  }
}

/// Polls as long as data moves, up to a limit. False when nothing moved.
bool Progression::poll_until_still() {
  const auto start = SystemClock::now();
  if (!poll(endpoint_)) {
    return false;
  }
  while (SystemClock::now() - start < options_.burst_max && poll(endpoint_)) {
  }
  return true;
}

/// The system runs a thread of this class only when the core has nothing else to do.
void Progression::run_idle_core(int core) {
  const sched_param no_priority{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &no_priority);
  bind_to_core(core);
  prctl(PR_SET_TIMERSLACK, 1UL);
  Need need{*this};
  for (Need::Answer answer = need.ask(); answer != Need::Answer::ending; answer = need.ask()) {
    if (answer == Need::Answer::not_now) {
      std::this_thread::sleep_for(options_.period_min);
    } else if (!poll(endpoint_)) {
      std::this_thread::sleep_for(idle_core_pause);
    }
  }
}

void Progression::run_dedicated() {
  bind_to_core(options_.core >= 0 ? options_.core : usable_cores().back());
  Need need{*this};
  while (need.ask() != Need::Answer::ending) {
    endpoint_.progress();
  }
}

}  // namespace plait::comm
