// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/virtual_time.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/simulate/fiber.hpp"

namespace plait::simulate {

namespace {

constexpr std::size_t ranks_named_max = 10;
constexpr std::uint64_t resumes_between_reports = 4096;

/// A thread of a rank.
struct Thread {
  std::uint64_t number = 0;
  Rank rank;
  std::unique_ptr<Fiber> fiber;
  std::optional<nanoseconds> measured_since;  ///< Of the machine's clock, in a task whose cost is measured.
  nanoseconds elsewhere{};                    ///< Of the machine's clock, while it was suspended in such a task.
  bool is_in_task = false;                    ///< What it computes is charged as a task.
  std::uint32_t clock_reads = 0;              ///< Since it went on.
  nanoseconds outside_since{};                ///< Of the machine's clock: what it has done since is not charged yet.
  std::uint64_t seen = 0;                     ///< Notifications of its rank before it went on from a wait.
};

/// When a thread goes on.
struct Alarm {
  nanoseconds time{};
  std::uint64_t number = 0;  ///< Of two at one time the lower number is first.
  Thread* thread = nullptr;
};

bool rings_later(const Alarm& a, const Alarm& b) noexcept {
  return std::pair{a.time, a.number} > std::pair{b.time, b.number};
}

/// The machine's clock without the time in which other threads ran.
class OwnClock final : public Clock {
 public:
  OwnClock(const Clock& machine, const Thread& thread) noexcept : machine_{machine}, thread_{thread} {}
  [[nodiscard]] nanoseconds now() const noexcept override { return machine_.now() - thread_.elsewhere; }

 private:
  const Clock& machine_;
  const Thread& thread_;
};

}  // namespace

/// The threads of all ranks, and which of them goes on next.
class VirtualTime::Loop {
 public:
  Loop(std::uint32_t rank_count, TaskCosts& its_costs, const Clock& its_machine, const VirtualTimeOptions& options);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    for (const auto* const all : {&threads_, &dead_}) {
      for (const auto& thread : *all) {
        thread->fiber->abandon();
      }
    }
  }

  void run(net::SimNetwork& network, const std::function<void(Rank)>& rank);
  void start(Rank rank, std::function<void()> life);
  void make_ready(Thread& thread) { ready_.push_back(&thread); }
  void sleep(nanoseconds length) {
    alarms_.push_back({network_->clock().now() + length + take_outside(), alarm_count_++, running_});
    std::ranges::push_heap(alarms_, rings_later);
    suspend();
  }
  /// Lets others go on until the running thread is made ready.
  void suspend() {
    Thread& self = *running_;
    const bool is_measured = self.measured_since.has_value();
    const nanoseconds left = is_measured ? machine.now() : nanoseconds{};
    self.fiber->suspend();
    if (is_measured) {
      const nanoseconds away = machine.now() - left;
      self.elsewhere += away;
      *self.measured_since += away;
    }
  }
  /// Lets what the running thread has computed outside of tasks take its time.
  void charge_outside() {
    if (options_.outside == OutsideCost::measured) {
      sleep(nanoseconds{0});
    }
  }
  /// A task's body is over, which is charged by itself.
  void begin_outside() noexcept { running_->outside_since = machine.now(); }
  [[nodiscard]] nanoseconds outside() const noexcept { return outside_; }
  void note_task() noexcept {
    ++task_count_;
    note_event();
  }
  /// By which the costs of a rank's tasks grow now.
  [[nodiscard]] double slowness(Rank rank) const {
    const auto slow = std::ranges::find(options_.slow_ranks, rank, &SlowRank::rank);
    return slow != options_.slow_ranks.end() && network_->clock().now() >= slow->since ? slow->factor : 1;
  }
  [[nodiscard]] static nanoseconds lengthened(nanoseconds took, double factor) {
    return nanoseconds{static_cast<nanoseconds::rep>(static_cast<double>(took.count()) * factor)};
  }
  [[nodiscard]] nanoseconds read_clock();
  [[nodiscard]] nanoseconds peek_clock() const;
  [[nodiscard]] Thread* running() const noexcept { return running_; }
  [[nodiscard]] std::uint64_t task_count() const noexcept { return task_count_; }
  [[nodiscard]] std::vector<Executor*> executors() const;

  TaskCosts& costs;
  const Clock& machine;

 private:
  void run_ready();
  /// Of the running thread, scaled: since it went on, or since the last task.
  [[nodiscard]] nanoseconds outside_of_running() const {
    if (options_.outside == OutsideCost::none || running_->is_in_task) {
      return nanoseconds{0};
    }
    return scaled(machine.now() - running_->outside_since);
  }
  nanoseconds take_outside() {
    const nanoseconds taken = outside_of_running();
    outside_ += taken;
    return taken;
  }
  [[nodiscard]] nanoseconds scaled(nanoseconds took) const { return lengthened(took, costs.scale()); }
  void note_event() noexcept {
    idle_rounds_ = 0;
    resumed_since_event_ = 0;
  }
  void remove_ended();
  [[nodiscard]] bool advance();
  void let_idle_time_pass();
  [[noreturn]] void end_as_stuck(std::string_view reason) const;

  const VirtualTimeOptions options_;
  std::vector<std::unique_ptr<RankExecutor>> ranks_;
  net::SimNetwork* network_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Thread>> dead_;  ///< Of ranks that have failed; others may point to them.
  bool has_any_ended_ = false;
  std::uint32_t failures_ = 0;  ///< Of ranks, as of the last removal.
  std::deque<Thread*> ready_;
  std::vector<Alarm> alarms_;  ///< A heap.
  std::uint64_t alarm_count_ = 0;
  std::uint64_t thread_count_ = 0;
  std::uint64_t resumed_ = 0;
  std::uint64_t resumed_since_event_ = 0;
  std::uint64_t task_count_ = 0;
  std::uint32_t idle_rounds_ = 0;
  nanoseconds outside_{};
  Thread* running_ = nullptr;
  std::exception_ptr failure_;
};

/// The executor of one rank.
class VirtualTime::RankExecutor final : public Executor {
 public:
  RankExecutor(Loop& loop, Rank rank) noexcept : loop_{loop}, rank_{rank} {}

  std::uint64_t self() const noexcept override {
    return loop_.running() != nullptr ? loop_.running()->number : 1;  // of the thread that runs the loop
  }
  void start(std::function<void()> life) override { loop_.start(rank_, std::move(life)); }
  void wait() override {
    loop_.charge_outside();
    Thread& thread = *loop_.running();
    if (thread.seen == notifications_) {  // else it has not seen what has changed
      waiting_.push_back(&thread);
      loop_.suspend();
    }
    thread.seen = notifications_;
  }
  void notify() noexcept override {
    ++notifications_;
    for (Thread* const thread : waiting_) {
      loop_.make_ready(*thread);
    }
    waiting_.clear();
  }
  void sleep(nanoseconds length) override { loop_.sleep(length); }
  void execute(std::string_view kind, const std::function<void(BodyUse)>& body) override {
    loop_.charge_outside();
    Thread& thread = *loop_.running();
    if (!loop_.costs.is_known(kind)) {
      thread.measured_since = loop_.machine.now();
    }
    thread.is_in_task = true;
    nanoseconds cost{};
    try {
      cost = loop_.costs.execute(kind, body, OwnClock{loop_.machine, thread});
    } catch (...) {
      thread.is_in_task = false;
      thread.measured_since.reset();
      throw;
    }
    thread.is_in_task = false;
    thread.measured_since.reset();
    loop_.begin_outside();
    loop_.note_task();
    const double slowness = loop_.slowness(rank_);
    loop_.sleep(slowness == 1 ? cost : loop_.lengthened(cost, slowness));
    notify();  // the end of a task changes what other workers find
  }
  bool runs_bodies() const noexcept override { return loop_.costs.runs_bodies(); }

 private:
  Loop& loop_;
  const Rank rank_;
  std::vector<Thread*> waiting_;
  std::uint64_t notifications_ = 0;
};

VirtualTime::Loop::Loop(std::uint32_t rank_count,
                        TaskCosts& its_costs,
                        const Clock& its_machine,
                        const VirtualTimeOptions& options)
    : costs{its_costs}, machine{its_machine}, options_{options}, thread_count_{1} {
  require(rank_count > 0, "a simulated run needs at least one rank");
  require(options.stack_bytes >= std::size_t{16} * 1024, "the stack of a simulated rank takes at least 16 KiB");
  require(std::ranges::all_of(options.slow_ranks,
                              [&](const SlowRank& slow) { return slow.rank.value() < rank_count && slow.factor >= 1; }),
          "a slow rank is one of the run, and its factor at least 1");
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    ranks_.push_back(std::make_unique<RankExecutor>(*this, Rank{rank}));
  }
}

std::vector<Executor*> VirtualTime::Loop::executors() const {
  std::vector<Executor*> all;
  for (const auto& rank : ranks_) {
    all.push_back(rank.get());
  }
  return all;
}

void VirtualTime::Loop::start(Rank rank, std::function<void()> life) {
  Thread& thread = *threads_.emplace_back(std::make_unique<Thread>());
  thread.number = ++thread_count_;
  thread.rank = rank;
  thread.fiber = std::make_unique<Fiber>(options_.stack_bytes, std::move(life));
  make_ready(thread);
}

void VirtualTime::Loop::run(net::SimNetwork& network, const std::function<void(Rank)>& rank) {
  require(network_ == nullptr && network.rank_count() == ranks_.size(),
          "a virtual time runs its ranks once, on a network of as many");
  network_ = &network;
  for (std::uint32_t self = 0; self < ranks_.size(); ++self) {
    start(Rank{self}, [this, &rank, self] {
      try {
        rank(Rank{self});
        charge_outside();
      } catch (...) {
        failure_ = failure_ ? failure_ : std::current_exception();
      }
    });
  }
  do {
    run_ready();
    if (has_any_ended_ || failures_ != network_->failure_count()) {  // to ask all threads takes longer than an event
      remove_ended();
    }
  } while (!threads_.empty() && !failure_ && advance());
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void VirtualTime::Loop::remove_ended() {
  has_any_ended_ = false;
  failures_ = network_->failure_count();
  std::erase_if(threads_, [this](auto& thread) {
    if (!thread->fiber->has_ended() && !network_->is_alive(thread->rank)) {
      dead_.push_back(std::move(thread));
      return true;
    }
    return thread->fiber->has_ended();
  });
}

void VirtualTime::Loop::run_ready() {
  while (!ready_.empty() && !failure_) {
    running_ = ready_.front();
    ready_.pop_front();
    if (!network_->is_alive(running_->rank)) {
      running_ = nullptr;
      continue;
    }
    if (++resumed_since_event_ > options_.resumes_max) {
      end_as_stuck("threads only poll");
    }
    running_->clock_reads = 0;
    if (options_.outside == OutsideCost::measured) {
      begin_outside();
    }
    running_->fiber->resume();
    has_any_ended_ = has_any_ended_ || running_->fiber->has_ended();
    if (++resumed_ % resumes_between_reports == 0 && options_.on_progress) {
      options_.on_progress();
    }
    running_ = nullptr;
  }
}

nanoseconds VirtualTime::Loop::peek_clock() const {
  const nanoseconds in_task =
      running_->measured_since ? scaled(machine.now() - *running_->measured_since) : nanoseconds{0};
  return network_->clock().now() + in_task + outside_of_running();
}

nanoseconds VirtualTime::Loop::read_clock() {
  if (!running_->measured_since && ++running_->clock_reads > options_.reads_max) {
    sleep(options_.read_length);
    running_->clock_reads = options_.reads_max;  // it polls until it waits for something else
  }
  return peek_clock();
}

/// Moves the clock to the next event. Throws when there never is one.
bool VirtualTime::Loop::advance() {
  std::optional<nanoseconds> next = network_->next_event();
  if (!alarms_.empty()) {
    next = next ? std::min(*next, alarms_.front().time) : alarms_.front().time;
  }
  if (!next) {
    let_idle_time_pass();
    return true;
  }
  if (network_->next_event()) {
    note_event();  // a thread that only sleeps and polls again moves nothing
  }
  network_->advance_to(*next);
  while (!alarms_.empty() && alarms_.front().time <= *next) {
    std::ranges::pop_heap(alarms_, rings_later);
    make_ready(*alarms_.back().thread);
    alarms_.pop_back();
  }
  return true;
}

void VirtualTime::Loop::let_idle_time_pass() {
  if (++idle_rounds_ > options_.idle_rounds_max) {
    end_as_stuck("no message is under way");
  }
  network_->advance_to(network_->clock().now() + options_.idle_step);
  for (const auto& rank : ranks_) {
    rank->notify();
  }
}

void VirtualTime::Loop::end_as_stuck(std::string_view reason) const {
  std::set<std::uint32_t> waiting;
  for (const auto& thread : threads_) {
    waiting.insert(thread->rank.value());
  }
  std::string named;
  for (const std::uint32_t rank : waiting | std::views::take(ranks_named_max)) {
    const std::string what = options_.describe_wait ? options_.describe_wait(Rank{rank}) : std::string{};
    named += fmt::format("{}rank {}{}{}", named.empty() ? "" : ", ", rank, what.empty() ? "" : " for ", what);
  }
  throw Error{
      ErrorCode::timeout,
      fmt::format("the simulated run is stuck at {} s: {} ranks wait ({}{}), and {}. Does each message have its "
                  "partner?",
                  std::chrono::duration<double>(network_->clock().now()).count(),
                  waiting.size(),
                  named,
                  waiting.size() > ranks_named_max ? ", ..." : "",
                  reason)};
}

VirtualTime::VirtualTime(std::uint32_t rank_count,
                         TaskCosts& costs,
                         const Clock& machine,
                         const VirtualTimeOptions& options)
    : loop_{std::make_unique<Loop>(rank_count, costs, machine, options)} {}

VirtualTime::~VirtualTime() = default;

std::vector<Executor*> VirtualTime::executors() const {
  return loop_->executors();
}

void VirtualTime::run(net::SimNetwork& network, const std::function<void(Rank self)>& rank) {
  loop_->run(network, rank);
}

Rank VirtualTime::running() const noexcept {
  return loop_->running() != nullptr ? loop_->running()->rank : Rank{};
}

nanoseconds VirtualTime::read_clock() {
  return loop_->read_clock();
}

nanoseconds VirtualTime::peek_clock() const {
  return loop_->peek_clock();
}

void VirtualTime::wait_for(nanoseconds length) {
  loop_->sleep(length);
}

nanoseconds VirtualTime::outside() const noexcept {
  return loop_->outside();
}

std::uint64_t VirtualTime::task_count() const noexcept {
  return loop_->task_count();
}

}  // namespace plait::simulate
