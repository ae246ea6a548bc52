// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/runs.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/promise.hpp"
#include "plait/task/waiting.hpp"

namespace plait::task::detail {

namespace {

constexpr int test_tasks_max = 16;
/// Bounds a sleep whose notification may have been missed.
constexpr std::chrono::microseconds outside_sleep_max{200};

/// The run that worker 0 has entered, for a scope in which another is.
class Entered {
 public:
  Entered(const SchedulerState& state, Worker& worker, std::uint32_t epoch)
      : worker_{worker}, run_{worker.run}, share_{worker.share}, epoch_{worker.epoch} {
    state.enter(worker, epoch);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { std::tie(worker_.run, worker_.share, worker_.epoch) = std::tuple{run_, share_, epoch_}; }

 private:
  Worker& worker_;
  RunState* run_;
  RunShare* share_;
  std::uint32_t epoch_;
};

void complete_all(RunState& run, const comm::Status& status) noexcept {
  std::vector<comm::Promise> promises;
  {
    const std::lock_guard lock{run.lock};
    promises = std::move(run.promises);
  }
  for (comm::Promise& promise : promises) {
    promise.complete(status);
  }
}

/// Counts what each of `active` waits for, and makes those ready that wait for nothing. `worker` has entered their run.
///
/// Cost: two passes over the tasks, and one over the dependencies unless all tasks of the graph are active.
void activate(Lifecycle& lifecycle, Worker& worker, std::span<const Task> active) {
  const RunState& run = *worker.run;
  RunShare::count(worker.share->created, active.size());
  constexpr std::size_t ahead = 8;  // tasks of a small part are scattered in memory
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (i + ahead < active.size()) {
      __builtin_prefetch(&active[i + ahead].node(), 1);
    }
    Node& node = active[i].node();
    expect(node.epoch != run.epoch, "a task is active once in a run");
    node.epoch = run.epoch;
    node.waits.store(run.are_all_active ? node.earlier_count : 0, std::memory_order_relaxed);
    node.unfinished.store(1, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < active.size() && !run.are_all_active; ++i) {
    if (i + ahead < active.size()) {
      const Node& later = active[i + ahead].node();
      __builtin_prefetch(later.successors);
      for (std::uint32_t s = 0; s < active[i + ahead / 2].node().successor_count; ++s) {
        __builtin_prefetch(active[i + ahead / 2].node().successors[s], 1);
      }
    }
    for (Node* const successor : std::span{active[i].node().successors, active[i].node().successor_count}) {
      if (successor->epoch == run.epoch) {
        successor->waits.store(successor->waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
  }
  const auto start = [&](Node& node) {
    if (worker.trace.is_on()) {
      node.caused_by = 0;
    }
    lifecycle.make_ready(worker, node);
  };
  if (run.are_all_active) {
    for (const Task& task : active) {
      if (task.node().earlier_count == 0) {
        start(task.node());
      }
    }
  } else {
    // Listed before the first starts: from then on, workers that other runs have let in change the counts.
    Node* first = nullptr;
    Node** last = &first;
    for (const Task& task : active) {
      if (task.node().waits.load(std::memory_order_relaxed) == 0) {
        *last = &task.node();
        last = &task.node().next;
      }
    }
    *last = nullptr;
    while (first != nullptr) {
      start(*std::exchange(first, first->next));
    }
  }
  lifecycle.messages().post_sends(worker);
}

/// The claims of a task, as in a trace; `numbers` has those of the resources that are known.
std::vector<std::uint32_t> claims_in_trace(const Node& node,
                                           std::unordered_map<const Resource*, std::uint32_t>& numbers) {
  enum : std::uint32_t { locks, shares, is_above };
  std::vector<std::uint32_t> claims;
  const auto add = [&](const Resource* resource, std::uint32_t how) {
    const auto number = numbers.try_emplace(resource, static_cast<std::uint32_t>(numbers.size())).first->second;
    claims.push_back(number << 2U | how);
  };
  for (const Claim& claim : *node.claims) {
    add(claim.resource, claim.access == Access::shared ? shares : locks);
    for (const Resource* above = claim.resource->parent(); above != nullptr; above = above->parent()) {
      add(above, is_above);
    }
  }
  return claims;
}

/// The state of the last graph's run, when it is over and no other thread has it; else null. A short run would spend
/// most of its time in allocations.
std::shared_ptr<RunState> reused(const std::shared_ptr<RunState>& spare) {
  if (spare == nullptr || spare.use_count() > 1 || !spare->is_over.load(std::memory_order_acquire)) {  // with finish()
    return nullptr;
  }
  std::shared_ptr<RunState>{spare};  // ends: acquires what the last other owner wrote, which use_count() does not
  spare->reset();
  return spare;
}

}  // namespace

/// That this thread is worker 0, for a scope.
class Runs::Seated {
 public:
  enum class If : std::uint8_t { free, ever };

  Seated(Runs& runs, If wish) : runs_{runs} {
    if (runs.seat_.is_mine()) {
      is_seated_ = true;
      return;
    }
    if (wish == If::ever) {
      runs.seat_.take();
      is_first_ = true;
    } else {
      is_first_ = runs.seat_.try_take();
    }
    is_seated_ = is_first_;
  }
  Seated(const Seated&) = delete;
  Seated& operator=(const Seated&) = delete;
  ~Seated() {
    if (is_first_) {
      hand_over();
      runs_.seat_.leave();
    }
  }
  explicit operator bool() const noexcept { return is_seated_; }
  [[nodiscard]] Worker& worker() const noexcept { return *runs_.state_.workers.front(); }

 private:
  /// Runs that go on must not wait for this thread to come back.
  void hand_over() const {
    SchedulerState& state = runs_.state_;
    if (!state.has_several_workers() || runs_.lone_runs_.load(std::memory_order_relaxed) == 0 ||
        state.failure.has_failed()) {  // of this thread's doing, or hints
      return;
    }
    Queues::put_back(worker());
    if (!std::exchange(worker().is_unattended, true)) {
      worker().queue.set_unattended(true);
    }
    if (worker().queue.is_worth_stealing()) {
      state.sleep.wake_one();
    }
  }

  Runs& runs_;
  bool is_seated_ = false;
  bool is_first_ = false;
};

// ---- graphs ----

void Runs::run(Graph& graph, std::span<const Task> active) {
  throw_if_in_task();
  const Seated seat{*this, Seated::If::ever};
  const std::shared_ptr<RunState> run = launch(graph, active);
  if (state_.has_several_workers() && seat.worker().queue.is_worth_stealing()) {
    state_.sleep.wake_all_surely();
  }
  wait(*run);
}

std::shared_ptr<RunState> Runs::start(Graph& graph, std::span<const Task> active) {
  const Seated seat{*this, Seated::If::ever};
  std::shared_ptr<RunState> run = launch(graph, active);
  state_.sleep.wake_all_surely();
  return run;
}

std::shared_ptr<RunState> Runs::launch(Graph& graph, std::span<const Task> active) {
  if (graph.is_running_.load(std::memory_order_acquire)) {  // with finish()
    throw Error{ErrorCode::bad_argument, "this graph runs already: wait for that run before the next"};
  }
  graph.prepare(active.size());
  std::shared_ptr<RunState> run = open(&graph, {});
  graph.is_running_.store(true, std::memory_order_relaxed);  // published by the queue
  run->are_all_active = active.data() == graph.all().data() && active.size() == graph.task_count();
  Worker& worker = *state_.workers.front();
  worker.now = state_.recorder.now();
  worker.is_now_fresh = true;
  if (worker.trace.is_on()) {
    record_start(graph, *run, active.size());
  }
  const Entered entered{state_, worker, run->epoch};
  activate(lifecycle_, worker, active);
  state_.runs.let_in(*run);
  close(*run);
  return run;
}

/// Writes a graph into the trace at its first run and after a change, and a record of each run.
void Runs::record_start(Graph& graph, const RunState& run, std::size_t active_count) {
  const Worker& worker = *state_.workers.front();
  if (graph.number_in_trace_ == 0) {
    graph.number_in_trace_ = ++graphs_in_trace_;
    std::vector<std::uint32_t> later;
    std::unordered_map<const Resource*, std::uint32_t> resources;
    for (const Task& task : graph.all()) {
      const Node& node = task.node();
      later.clear();
      for (const Node* const successor : std::span{node.successors, node.successor_count}) {
        later.push_back(successor->number + 1);
      }
      worker.trace.graph_task({.graph = graph.number_in_trace_,
                               .place = node.number + 1,
                               .role = node.role->in_trace,
                               .kind = run.names[node.kind.value()],
                               .later = later});
      if (node.has_claims) {
        worker.trace.graph_claims(
            {.graph = graph.number_in_trace_, .place = node.number + 1, .claims = claims_in_trace(node, resources)});
      }
    }
  }
  worker.trace.graph_run({.graph = graph.number_in_trace_,
                          .step = run.step,
                          .start = worker.now,
                          .active = static_cast<std::uint32_t>(active_count)});
}

// ---- all runs ----

std::shared_ptr<RunState> Runs::open(Graph* graph, std::function<std::string()> describe) {
  if (const auto failure = state_.endpoint.failure()) {
    throw Error{*failure};
  }
  const Seated seat{*this, Seated::If::ever};
  std::shared_ptr<RunState> run = graph != nullptr ? reused(spare_) : nullptr;
  if (run == nullptr) {
    run = std::make_shared<RunState>(*this, state_.workers.size());
    if (graph != nullptr) {
      spare_ = run;
    }
  }
  run->graph = graph;
  run->describe = std::move(describe);
  run->step = step_count_++;
  run->created_outside.store(1, std::memory_order_relaxed);  // published by the table
  run->first_id = state_.next_id.fetch_add(graph != nullptr ? graph->task_count() : 0, std::memory_order_relaxed);
  if (graph != nullptr) {
    for (RunShare& share : run->shares) {
      share.kind_cost_ns = graph->kinds_.cost_ns;
    }
    if (state_.recorder.is_on()) {
      for (const std::string& kind : graph->kinds()) {
        run->names.push_back(state_.recorder.name(trace::Role::task, kind));
      }
    }
  }
  state_.runs.add(run);
  if (graph == nullptr) {
    state_.runs.let_in(*run);
  }
  return run;
}

void Runs::close(RunState& run) noexcept {
  count_lone(run);
  run.is_closed.store(true, std::memory_order_relaxed);         // a hint
  run.created_outside.fetch_sub(1, std::memory_order_release);  // with RunState::open_tasks()
}

void Runs::close_when(RunState& run, std::function<bool()> is_done) {
  while (is_settling_.exchange(true, std::memory_order_acquire)) {  // with the release below
    std::this_thread::yield();
  }
  run.closes_when = std::move(is_done);
  is_settling_.store(false, std::memory_order_release);  // with the exchange above
  count_lone(run);
  const Seated seat{*this, Seated::If::ever};
  state_.sleep.wake_all_surely();
}

void Runs::count_lone(RunState& run) noexcept {
  if (!run.is_lone.exchange(true, std::memory_order_relaxed)) {  // a hint for the thread that leaves the seat
    lone_runs_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Runs::count_in(RunState& run, Node& node) noexcept {
  node.epoch = run.epoch;
  node.unfinished.store(1, std::memory_order_relaxed);  // published when the task is handed over
  node.number = static_cast<std::uint32_t>(state_.next_id.fetch_add(1, std::memory_order_relaxed) - run.first_id);
  run.created_outside.fetch_add(1, std::memory_order_release);  // with RunState::open_tasks()
}

void Runs::make_ready(Node& node) noexcept {
  const Seated seat{*this, Seated::If::free};
  if (!seat) {
    node.is_starting = true;
    state_.note(node);
    return;
  }
  Worker& worker = seat.worker();
  const Entered entered{state_, worker, node.epoch};  // a task of another run may be the caller
  worker.is_now_fresh = false;
  if (worker.trace.is_on()) {
    worker.now = state_.recorder.now();
  }
  lifecycle_.make_ready(worker, node);
  lifecycle_.messages().post_sends(worker);
}

// ---- the end of a run ----

void Runs::settle() noexcept {
  if (is_settling_.exchange(true, std::memory_order_acquire)) {  // with the release below
    return;
  }
  state_.runs.for_each([this](RunState& run) {
    if (run.closes_when && !run.is_closed.load(std::memory_order_relaxed) && run.closes_when()) {
      close(run);
    }
    if (run.open_tasks() == 0 && !state_.failure.has_failed()) {  // a task that threw has ended, too
      finish(run);
    }
  });
  is_settling_.store(false, std::memory_order_release);  // with the exchange above
}

/// Its tasks have all ended.
void Runs::finish(RunState& run) noexcept {
  if (run.graph != nullptr) {
    teach(run);
    run.graph->is_running_.store(false, std::memory_order_release);  // with launch()
  }
  for (const auto& worker : state_.workers) {
    worker->tasks.fetch_add(run.shares[worker->id.value()].ended.load(std::memory_order_relaxed),
                            std::memory_order_relaxed);  // a statistic
  }
  lone_runs_.fetch_sub(1, std::memory_order_relaxed);  // a hint
  const std::shared_ptr<RunState> kept = state_.runs.remove(run);
  {
    const std::lock_guard lock{run.lock};                // with request()
    run.is_over.store(true, std::memory_order_release);  // with Run::is_over() and Until
  }
  if (state_.has_several_workers()) {
    state_.sleep.wake_all();
  }
  if (run.waiting_threads.load(std::memory_order_relaxed) > 0) {  // a hint: sleeps are short
    state_.sleep.notify_outside();
  }
  complete_all(run, {});
}

/// Reports to a graph what its kinds of tasks have cost.
void Runs::teach(const RunState& run) noexcept {
  for (std::size_t kind = 0; kind < run.graph->kinds_.cost_ns.size(); ++kind) {
    float sum = 0;
    int count = 0;
    for (const RunShare& share : run.shares) {
      if (kind < share.kind_cost_ns.size() && share.kind_cost_ns[kind] > 0) {
        sum += share.kind_cost_ns[kind];
        ++count;
      }
    }
    if (count > 0) {
      run.graph->kinds_.cost_ns[kind] = sum / static_cast<float>(count);
    }
  }
}

// ---- threads that wait ----

void Runs::throw_if_in_task() const {
  const std::uint64_t self = thread_number(state_.executor);
  if ((seat_.is_mine() && state_.workers.front()->is_inside) ||
      std::ranges::any_of(state_.workers, [&](const auto& worker) {
        return worker->thread.load(std::memory_order_relaxed) == self;  // no other thread stores this
      })) {
    throw Error{ErrorCode::bad_argument,
                "a task or a callback waits for a run, which keeps its worker from the run's tasks: use "
                "TaskContext::wait_for(kind, run.request())"};
  }
}

void Runs::wait(RunState& run) {
  help(run, {.flag = &run.is_over});
  if (!run.is_over.load(std::memory_order_acquire)) {  // with finish()
    throw_failure(run);
  }
}

bool Runs::test(RunState& run) {
  int left = test_tasks_max;
  const std::function<bool()> is_enough = [&] {
    return run.is_over.load(std::memory_order_acquire) || --left < 0;  // with finish()
  };
  help(run, {.is_done = &is_enough});
  if (run.is_over.load(std::memory_order_acquire)) {  // as above
    return true;
  }
  if (has_failed()) {
    throw_failure(run);
  }
  return false;
}

void Runs::help(RunState& run, Until until) {
  if (until()) {
    return;
  }
  throw_if_in_task();
  run.is_watch_new.store(true, std::memory_order_relaxed);  // hints for the watch, as is the next
  run.waiting_threads.fetch_add(1, std::memory_order_relaxed);
  do {
    if (const Seated seat{*this, Seated::If::free}) {
      loop_.help(seat.worker(), until);
    } else {
      state_.sleep.outside(outside_sleep_max);
    }
  } while (!has_failed() && !until());
  run.waiting_threads.fetch_sub(1, std::memory_order_relaxed);
}

void Runs::watch(const Worker& worker, Watching when) {
  if (worker.id != WorkerId{0} || state_.options.stall_max == nanoseconds::zero() ||
      (when == Watching::if_due && !watch_.is_due(worker.now)) ||
      is_settling_.exchange(true, std::memory_order_acquire)) {  // with the release below
    return;
  }
  watch_.check(worker);
  is_settling_.store(false, std::memory_order_release);  // with the exchange above
}

void Runs::throw_failure(RunState& run) {
  state_.sleep.wait_until_none_works();
  const Error failure = state_.failure.error();
  if (run.graph != nullptr) {
    if (is_stall(failure) && !state_.options.stall_folder.empty()) {  // found here or by another rank
      write_waiting_graph(state_.options.stall_folder, state_.endpoint.self(), active_tasks(run), run.graph->kinds());
    }
    run.graph->is_running_.store(false, std::memory_order_release);  // with launch()
  }
  complete_all(run, {.error = failure.code()});
  throw Error{failure};
}

comm::Request Runs::request(RunState& run) {
  comm::Promise promise{state_.endpoint};
  comm::Request request = promise.request();
  {
    const std::lock_guard lock{run.lock};  // with finish()
    if (!run.is_over.load(std::memory_order_relaxed)) {
      run.promises.push_back(std::move(promise));
      return request;
    }
  }
  promise.complete({});
  return request;
}

}  // namespace plait::task::detail
