// SPDX-License-Identifier: Apache-2.0
// Runs and the life of a worker; its tasks are in scheduler_tasks.cpp, their messages in scheduler_messages.cpp.
#include "plait/task/scheduler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/task/detail/node.hpp"
#include "plait/task/detail/worker.hpp"
#include "plait/task/waiting.hpp"

namespace plait::task {

namespace {

constexpr std::uint32_t looks_between_sums = 16;

}  // namespace

Scheduler::Scheduler(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options)
    : endpoint_{endpoint}, recorder_{recorder}, options_{std::move(options)} {
  if (options_.worker_count == 0) {
    throw Error{ErrorCode::bad_argument, "a run needs at least one worker: set workers to 1 or more"};
  }
  for (std::uint32_t index = 0; index < options_.worker_count; ++index) {
    const WorkerId id{static_cast<std::uint16_t>(index)};
    workers_.push_back(std::make_unique<Worker>(id, recorder.thread(id, fmt::format("worker {}", index))));
    workers_.back()->random = index * 2654435761U + 1;
  }
  for (std::uint32_t index = 1; index < options_.worker_count; ++index) {
    threads_.emplace_back([this, index] { serve(*workers_[index]); });
  }
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock{mutex_};
    is_ending_ = true;
  }
  wake_.notify_all();
}

std::vector<WorkerTimes> Scheduler::worker_times() const {
  std::vector<WorkerTimes> times;
  for (const auto& worker : workers_) {
    times.push_back(worker->times);
  }
  return times;
}

void Scheduler::reset_worker_times() {
  for (const auto& worker : workers_) {
    worker->times = {};
  }
}

// ---- a run ----

void Scheduler::run(Graph& graph, std::span<const Task> active) {
  if (active.empty()) {
    return;
  }
  graph.prepare(active.size());
  begin(&graph);
  graph_record_.begin_run(graph, {names_, epoch_ - 1, active.size(), workers_.front()->now}, workers_.front()->trace);
  activate(active);
  let_workers_in();
  work(*workers_.front());
  end();
}

/// Of a graph, or, without one, open.
void Scheduler::begin(Graph* graph) {
  if (const auto failure = endpoint_.failure()) {
    throw *failure;
  }
  if (graph != nullptr && recorder_.is_on() && (graph_ != graph || names_.size() != graph->kinds().size())) {
    names_.clear();
    for (const std::string& kind : graph->kinds()) {
      names_.push_back(recorder_.name(trace::Role::task, kind));
    }
  }
  graph_ = graph;
  active_ = {};
  are_all_active_ = false;
  ++epoch_;
  // Published, as all this, by the mutex in let_workers_in().
  next_number_.store(static_cast<std::uint32_t>(graph != nullptr ? graph->task_count() : 0), std::memory_order_relaxed);
  is_over_.store(false, std::memory_order_relaxed);
  for (const auto& worker : workers_) {
    worker->kind_cost_ns = graph != nullptr ? graph->kind_cost_ns_ : std::vector<float>{};
    worker->ended_seen = 0;
  }
  workers_.front()->now = recorder_.now();
  workers_.front()->is_now_fresh = true;
}

/// Counts what each task waits for, and makes those ready that wait for nothing. No other worker is in yet, so that
/// nothing can start while the counting is under way.
void Scheduler::activate(std::span<const Task> active) {
  active_ = active;
  are_all_active_ = active.data() == graph_->all().data() && active.size() == graph_->task_count();
  Worker& self = *workers_.front();
  Worker::count(self.made, active.size());
  constexpr std::size_t ahead = 8;  // tasks of a small part are scattered in memory
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (i + ahead < active.size()) {
      __builtin_prefetch(&active[i + ahead].node(), 1);
    }
    Node& node = active[i].node();
    expect(node.epoch != epoch_, "a task is active once in a run");
    node.epoch = epoch_;
    node.waits.store(are_all_active_ ? node.earlier_count : 0, std::memory_order_relaxed);
    node.unfinished.store(1, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < active.size() && !are_all_active_; ++i) {
    if (i + ahead < active.size()) {
      const Node& later = active[i + ahead].node();
      __builtin_prefetch(later.successors);
      for (std::uint32_t s = 0; s < active[i + ahead / 2].node().successor_count; ++s) {
        __builtin_prefetch(active[i + ahead / 2].node().successors[s], 1);
      }
    }
    for (Node* const successor : std::span{active[i].node().successors, active[i].node().successor_count}) {
      if (successor->epoch == epoch_) {
        successor->waits.store(successor->waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
  }
  for (const Task& task : active) {
    if (task.node().waits.load(std::memory_order_relaxed) == 0) {  // those that a join has made ready here are marked
      if (self.trace.is_on()) {
        task.node().caused_by = 0;
      }
      make_ready(self, task.node());
    }
  }
  post_sends(self);
}

void Scheduler::let_workers_in() {
  {
    const std::lock_guard lock{mutex_};  // publishes the run to the workers
    expect(!is_open_, "one run at a time");
    ++generation_;
    is_open_ = true;
    workers_inside_ = 1;
  }
  if (workers_.front()->queue.is_worth_stealing()) {
    wake_.notify_all();
  }
}

/// Waits until the others have gone. Throws what has gone wrong.
void Scheduler::end() {
  {
    std::unique_lock lock{mutex_};
    is_open_ = false;  // a worker that has slept through the run stays out
    left_.wait(lock, [this] { return workers_inside_ == 0; });
  }
  if (has_failed_.load(std::memory_order_relaxed)) {  // nobody else is in
    const Error failure = failure_ ? *failure_ : endpoint_.failure().value();
    if (graph_ != nullptr && is_stall(failure) && !options_.stall_folder.empty()) {  // found here or by another rank
      write_waiting_graph(options_.stall_folder, endpoint_.self(), active_, graph_->kinds());
    }
    throw failure;
  }
  first_id_ += next_number_.load(std::memory_order_relaxed);  // nobody else is in
  if (graph_ != nullptr) {
    teach(*graph_);
  }
}

/// Tells a graph what its kinds of tasks have cost.
void Scheduler::teach(Graph& graph) {
  for (std::size_t kind = 0; kind < graph.kind_cost_ns_.size(); ++kind) {
    float sum = 0;
    int count = 0;
    for (const auto& worker : workers_) {
      if (kind < worker->kind_cost_ns.size() && worker->kind_cost_ns[kind] > 0) {
        sum += worker->kind_cost_ns[kind];
        ++count;
      }
    }
    if (count > 0) {
      graph.kind_cost_ns_[kind] = sum / static_cast<float>(count);
    }
  }
}

// ---- an open run ----

void Scheduler::open(std::function<std::string()> describe) {
  begin(nullptr);
  describe_ = std::move(describe);
  Worker::count(workers_.front()->made);  // until it is closed
  let_workers_in();
}

void Scheduler::close() {
  Worker::count(workers_.front()->ended);
  work(*workers_.front());
  describe_ = nullptr;
  end();
}

void Scheduler::count_in(Node& node) noexcept {
  node.unfinished.store(1, std::memory_order_relaxed);  // published by whoever hands the task over
  node.number = next_number_.fetch_add(1, std::memory_order_relaxed);
  made_outside_.fetch_add(1, std::memory_order_release);  // with open_tasks()
}

void Scheduler::start(Node& node) {
  Worker& self = *workers_.front();
  self.is_now_fresh = false;
  if (self.trace.is_on()) {
    self.now = recorder_.now();
  }
  make_ready(self, node);
  post_sends(self);
}

/// Worker 0, in a run that is open for more.
void Scheduler::help_until(const std::function<bool()>& is_done) {
  Worker& worker = *workers_.front();
  worker.now = recorder_.now();
  work_until(worker, [&](bool /*looks_closely*/) { return is_done(); });
}

/// The life of a worker's thread.
void Scheduler::serve(Worker& worker) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock{mutex_};
      sleeping_.fetch_add(1, std::memory_order_relaxed);  // a hint for wake_one()
      wake_.wait(lock, [&] { return is_ending_ || (is_open_ && generation_ != seen); });
      sleeping_.fetch_sub(1, std::memory_order_relaxed);
      if (is_ending_) {
        return;
      }
      seen = generation_;
      ++workers_inside_;
    }
    worker.now = recorder_.now();
    work(worker);
  }
}

/// How many tasks were made and have not ended; 0 only when it is so. What has ended is added up first: a task is
/// counted as made before it can end, and by whoever makes it before that one ends; so if a task is missing from the
/// second sum, one that has not ended (it, or the one that made it) is missing from the first.
std::uint64_t Scheduler::open_tasks() const noexcept {
  std::uint64_t ended = 0;
  for (const auto& worker : workers_) {
    ended += worker->ended.load(std::memory_order_acquire);  // with Worker::count()
  }
  std::uint64_t made = made_outside_.load(std::memory_order_acquire);  // with count_in()
  for (const auto& worker : workers_) {
    made += worker->made.load(std::memory_order_acquire);  // with Worker::count()
  }
  return made - ended;
}

/// Asks now and then only: the workers that have tasks write what is added up. That one look in some is enough; whoever
/// ends the last task mostly sees it at once.
bool Scheduler::is_over(bool looks_closely) noexcept {
  if (looks_closely && open_tasks() == 0) {
    is_over_.store(true, std::memory_order_release);  // with the last line
    if (workers_.size() > 1) {
      wake_.notify_all();
    }
  }
  return is_over_.load(std::memory_order_acquire);  // with the store above
}

void Scheduler::work(Worker& worker) {
  work_until(worker, [this](bool looks_closely) { return is_over(looks_closely); });
  const std::lock_guard lock{mutex_};
  if (--workers_inside_ == 0) {
    left_.notify_all();
  }
}

/// Asks `is_done` when there is nothing to do: closely when that is news. For a run that is open for more, see
/// help_until(), after each task as well.
template <class IsDone>
void Scheduler::work_until(Worker& worker, IsDone is_done) {
  const nanoseconds start = worker.now;
  worker.last_move = start;
  worker.last_poll = start;
  worker.is_busy = false;
  const std::uint64_t ended_before = worker.ended.load(std::memory_order_relaxed);
  Backoff backoff{options_.wait, crowding_};
  std::uint32_t looks = 0;
  while (!has_failed_.load(std::memory_order_acquire)) {  // with fail()
    if (!noted_.is_empty()) {
      finish_noted(worker);
    }
    if (Node* const node = next_task(worker)) {
      if (!std::exchange(worker.is_busy, true)) {
        begin_to_work(worker);
        backoff.reset();
      }
      execute(worker, *node);
      if (worker.is_now_fresh && worker.now - worker.last_poll > options_.poll_interval) {
        poll(worker);
      }
      if (graph_ == nullptr && worker.id == WorkerId{0} && is_done(false)) {
        break;
      }
      continue;
    }
    const bool was_busy = std::exchange(worker.is_busy, false);
    if (was_busy) {
      worker.times.busy += recorder_.now() - worker.busy_since;
    }
    is_waking_.store(false, std::memory_order_relaxed);  // a hint
    if (is_done(was_busy || backoff.must_sleep() || ++looks % looks_between_sums == 0)) {
      break;
    }
    worker.is_now_fresh = false;
    if (endpoint_.progress() > 0) {
      backoff.reset();
      worker.now = recorder_.now();
      worker.last_poll = worker.now;
    } else {
      idle(worker, backoff);
    }
  }
  worker.now = recorder_.now();
  if (worker.is_busy) {
    worker.times.busy += worker.now - worker.busy_since;
  }
  worker.times.tasks += worker.ended.load(std::memory_order_relaxed) - ended_before;
  worker.times.total += worker.now - start;
}

void Scheduler::begin_to_work(Worker& worker) {
  worker.now = recorder_.now();
  worker.is_now_fresh = true;
  worker.busy_since = worker.now;
  is_waking_.store(false, std::memory_order_relaxed);  // a hint: this one looks around
}

// ---- waiting, trouble ----

/// Between two tasks.
void Scheduler::poll(Worker& worker) {
  worker.times.busy += worker.now - worker.busy_since;
  endpoint_.progress();
  worker.now = recorder_.now();
  worker.is_now_fresh = true;
  worker.last_poll = worker.now;
  worker.busy_since = worker.now;
}

void Scheduler::idle(Worker& worker, Backoff& backoff) {
  if (endpoint_.failure()) {
    has_failed_.store(true, std::memory_order_release);  // with work(); run() throws what the endpoint knows
    return;
  }
  if (endpoint_.is_moving_bulk()) {
    crowding_.give_way();
    return;
  }
  // The only worker has nobody to be woken by: it looks at the network again after a short sleep.
  if (workers_.size() == 1) {
    if (backoff.pause()) {
      check_stall(worker);
    }
    return;
  }
  if (backoff.must_sleep()) {
    check_stall(worker);
    std::unique_lock lock{mutex_};
    sleeping_.fetch_add(1, std::memory_order_relaxed);  // a hint for wake_one()
    if (!is_over_.load(std::memory_order_relaxed) && !has_failed_.load(std::memory_order_relaxed)) {
      wake_.wait_for(lock, backoff.next_sleep());
    }
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
    backoff.count_look();
  } else {
    backoff.pause();
  }
}

void Scheduler::wake_one() noexcept {
  if (sleeping_.load(std::memory_order_relaxed) > 0 && !is_waking_.exchange(true, std::memory_order_relaxed)) {
    wake_.notify_one();  // hints all: sleeps in a run are short
  }
}

void Scheduler::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (!failure_) {
      failure_ = error;
    }
  }
  endpoint_.stop_all(error);
  has_failed_.store(true, std::memory_order_release);  // with work()
}

/// Only worker 0 watches, and only when it has slept.
void Scheduler::check_stall(Worker& worker) {
  if (worker.id != WorkerId{0} || options_.stall_max == nanoseconds::zero()) {
    return;
  }
  worker.now = recorder_.now();
  std::uint64_t ended = 0;
  bool is_running = false;
  for (const auto& each : workers_) {
    ended += each->ended.load(std::memory_order_relaxed);  // hints, as is the next
    is_running = is_running || each->running.load(std::memory_order_relaxed) != nullptr;
  }
  if (ended != worker.ended_seen || is_running || worker.last_poll > worker.last_move) {
    worker.ended_seen = ended;
    worker.last_move = worker.now;
  } else if (worker.now - worker.last_move > options_.stall_max) {
    fail(Error{ErrorCode::timeout,
               fmt::format("{} for {} s on rank {}; waiting are {}. Does each message have its partner?",
                           stall_sentence,
                           std::chrono::duration_cast<std::chrono::seconds>(options_.stall_max).count(),
                           endpoint_.self().value(),
                           graph_ != nullptr ? describe_waiting(active_, graph_->kinds())
                           : describe_       ? describe_()
                                             : "")});
  }
}

}  // namespace plait::task
