// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/progression.hpp"

#include <algorithm>
#include <array>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "plait/base/backoff.hpp"
#include "plait/base/error.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/topology.hpp"
#include "plait/comm/detail/background_times.hpp"
#include "plait/comm/detail/core.hpp"
#include "plait/comm/detail/core_share.hpp"

namespace plait::comm {

namespace {

using SystemClock = std::chrono::steady_clock;

/// A poll that took longer than this may have moved data, even if nothing has completed: MPI does not report progress.
constexpr nanoseconds busy_poll_min{3000};
/// How many wakes of no use the timer makes before it sleeps longer, at the start and at most; how many more for each
/// that moved something long; and how many of no use it remembers.
constexpr int credit_max = 64;
constexpr int credit_of_use = 4;
constexpr int credit_min = -16;
/// The longest sleep once they are spent: a program that overlaps loses it once, until a wake moves something.
constexpr nanoseconds useless_pause_max{8'000'000};
/// And how long threads then stay before they sleep until a ring, which is a wake as well.
constexpr nanoseconds useless_linger{20'000'000};
/// How long the timer watches whether another thread goes on polling.
constexpr nanoseconds second_look{50'000};
/// Between two polls of a thread on an idle core.
constexpr nanoseconds idle_core_pause{20'000};

/// By mode.
constexpr std::array<const char*, 5> mode_names{"none", "timer", "idle", "dedicated", "automatic"};

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
  endpoint_.core_->resting().set_helper(&helper_);
  const auto start = [this](auto run) {
    threads_.emplace_back([this, run] {
      if (options_.thread_start) {
        options_.thread_start();
      }
      run();
    });
  };
  if (Executor* const executor = endpoint_.executor()) {
    if (options_.mode != ProgressionMode::none) {
      is_carried_ = true;
      executor->start([this, executor] { run_carried(*executor); });
    }
    return;
  }
  switch (options_.mode) {
    case ProgressionMode::none:
      break;
    case ProgressionMode::automatic:
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
  wake();
  threads_.clear();
  if (is_carried_) {
    endpoint_.executor()->notify();  // once: a notification ends the next wait, also of this thread
  }
  while (is_carried_) {
    endpoint_.executor()->wait();
  }
  (void)arm(nullptr);
  endpoint_.core_->resting().set_helper(nullptr);
}

bool Progression::needs_polls() const noexcept {
  return endpoint_.activity().needs_polls() || (options_.beside != nullptr && options_.beside->needs_polls());
}

bool Progression::has_much_under_way() const noexcept {
  return endpoint_.activity().is_moving_bulk() || (options_.beside != nullptr && options_.beside->needs_polls());
}

Progression::Moved Progression::poll() {
  const auto start = SystemClock::now();
  const std::size_t happened = endpoint_.progress();
  if (options_.beside != nullptr && options_.beside->needs_polls()) {
    options_.beside->poll();
  }
  if (happened > 0) {
    return Moved::messages;
  }
  return SystemClock::now() - start > busy_poll_min ? Moved::perhaps : Moved::nothing;
}

bool Progression::arm(const std::function<void()>* doorbell) {
  const bool is_endpoint_still = endpoint_.arm(doorbell);
  return options_.beside == nullptr ? is_endpoint_still : options_.beside->arm(doorbell) && is_endpoint_still;
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
  if (endpoint_.activity().is_listening() && options_.listen_period > nanoseconds::zero()) {
    std::this_thread::sleep_for(options_.listen_period);
    endpoint_.progress();
  } else if (arm(&doorbell_)) {
    rings_.wait(seen, std::memory_order_acquire);
  }
  return !is_ending();
}

/// Remembers when something was last in flight, and whether polling in the background has been of use.
class Progression::Need {
 public:
  explicit Need(Progression& owner) : owner_{owner} {}

  enum class Answer : std::uint8_t { needed, not_now, rung, ending };

  /// Whether to poll now. When nothing has been in flight for long, sleeps until something is, which is to be `rung`.
  [[nodiscard]] Answer ask() {
    if (owner_.is_ending()) {
      return Answer::ending;
    }
    if (owner_.needs_polls()) {
      last_ = SystemClock::now();
      return Answer::needed;
    }
    const nanoseconds linger = owner_.options_.linger;
    if (SystemClock::now() - last_ <= (has_credit() ? linger : std::max(linger, useless_linger))) {
      return Answer::not_now;
    }
    if (!owner_.sleep_until_needed()) {
      return Answer::ending;
    }
    if (owner_.needs_polls()) {
      last_ = SystemClock::now();
    }
    return Answer::rung;
  }

  /// How long to sleep in place of `period`. A program that waits for its messages at once has nothing moved for it:
  /// each wake then only takes time from it, 10 to 50 us where timers and threads are virtual.
  [[nodiscard]] nanoseconds pause(nanoseconds period) const {
    return has_credit() ? period : std::min(period * (1 - credit_), useless_pause_max);
  }
  [[nodiscard]] bool has_credit() const noexcept { return credit_ > 0; }
  void note_wake(bool was_useful) {
    credit_ = std::clamp(credit_ + (was_useful ? credit_of_use : -1), credit_min, credit_max);
  }

 private:
  Progression& owner_;
  SystemClock::time_point last_ = SystemClock::now();
  int credit_ = credit_max;  ///< Wakes that may be of no use; below 0: that were.
};

void Progression::run_timer() {
  prctl(PR_SET_TIMERSLACK, 1UL);  // Linux else adds 50 us to each sleep of this thread
  nanoseconds period = options_.period_min;
  std::uint64_t seen_polls = endpoint_.activity().poll_count();
  Need need{*this};
  detail::BackgroundTimes times{options_.recorder};
  for (Need::Answer answer = need.ask(); answer != Need::Answer::ending; answer = need.ask()) {
    answer == Need::Answer::rung ? times.restart() : times.note();
    if (answer == Need::Answer::rung) {
      period = options_.period_min;
      rest(need, period);
    } else if (answer == Need::Answer::not_now ||
               (!endpoint_.activity().is_forwarding() && do_others_poll(seen_polls))) {
      period = options_.period_min;
      need.note_wake(false);
      seen_polls = endpoint_.activity().poll_count();
      rest(need, options_.period_max);
    } else {
      const bool had_much = has_much_under_way();
      const Moved moved = poll_until_still();
      if (moved != Moved::messages || had_much || has_much_under_way()) {  // an eager message alone decides nothing
        need.note_wake(moved != Moved::nothing && (had_much || has_much_under_way()));
      }
      if (moved == Moved::messages || moved == Moved::more) {
        period = options_.period_min;
      }
      seen_polls = endpoint_.activity().poll_count();
      rest(need, period);
      const nanoseconds period_max = moved == Moved::perhaps ? options_.period_bulk : options_.period_max;
      period = std::min(period * 2, std::max(period_max, options_.period_min));
    }
  }
}

void Progression::rest(const Need& need, nanoseconds period) {
  // No other thread waits for the request of a rank that messages are forwarded to, which ends this rest.
  if (endpoint_.activity().is_forwarding() && endpoint_.core_->rest(period, [this] { return is_ending(); })) {
    return;
  }
  std::unique_lock lock{rest_mutex_};
  is_hurried_ = false;
  is_resting_.store(need.has_credit() && period > options_.period_min, std::memory_order_relaxed);  // a hint
  rest_over_.wait_for(lock, need.pause(period), [this] { return is_hurried_ || is_ending(); });
  is_resting_.store(false, std::memory_order_relaxed);
}

void Progression::hurry() noexcept {
  if (is_resting_.load(std::memory_order_relaxed)) {
    wake();
  }
}

void Progression::wake() noexcept {
  {
    const std::lock_guard lock{rest_mutex_};
    is_hurried_ = true;
  }
  rest_over_.notify_one();
  endpoint_.core_->resting().wake();
}

/// An event of the network ends the wait, so that no poll is without one.
void Progression::run_carried(Executor& executor) {
  while (!is_ending()) {
    executor.wait();
    if (!is_ending() && needs_polls()) {
      executor.sleep(options_.period_min);
      endpoint_.progress();
    }
  }
  is_carried_ = false;
  executor.notify();
}

/// Whether another thread is polling, as the number of polls grows from `seen` on, and goes on growing.
bool Progression::do_others_poll(std::uint64_t seen) const {
  const std::uint64_t polls = endpoint_.activity().poll_count();
  if (polls == seen) {
    return false;
  }
  std::this_thread::sleep_for(second_look);
  return endpoint_.activity().poll_count() != polls;
}

/// Polls as long as data moves, up to a limit, where there is more. Returns the most that a poll moved.
Progression::Moved Progression::poll_until_still() {
  const auto start = SystemClock::now();
  Moved most = Moved::nothing;
  for (Moved moved = poll(); moved != Moved::nothing; moved = poll()) {
    most = std::max(most, moved);
    if (SystemClock::now() - start >= options_.burst_max) {
      return std::max(most, Moved::more);
    }
  }
  return most;
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
    } else if (poll() == Moved::nothing) {
      std::this_thread::sleep_for(idle_core_pause);
    }
  }
}

/// As long as the core is its own: else a thread that computes there loses more than its messages gain.
void Progression::run_dedicated() {
  const std::vector<int> cores = usable_cores();
  if (options_.core < 0 && cores.size() == 1) {
    run_timer();
    return;
  }
  bind_to_core(options_.core >= 0 ? options_.core : cores.back());
  Need need{*this};
  detail::CoreShare share;
  for (Need::Answer answer = need.ask(); answer != Need::Answer::ending; answer = need.ask()) {
    if (answer == Need::Answer::rung) {
      share.restart();
    }
    (void)poll();
    if (share.is_shared()) {
      bind_to_cores(cores);
      run_timer();
      return;
    }
  }
}

}  // namespace plait::comm
