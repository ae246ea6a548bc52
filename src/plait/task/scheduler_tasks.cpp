// SPDX-License-Identifier: Apache-2.0
// Tasks: which comes next, its execution, and what its end sets free.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/task/detail/node.hpp"
#include "plait/task/detail/worker.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

namespace {

constexpr float cost_smoothing = 0.25F;
constexpr float kind_cost_smoothing = 0.125F;
/// How many times its kind's mean, or its own, a measurement may count at most.
constexpr float growth_max = 8;

/// Of those that are short.
constexpr std::uint32_t short_tasks_per_measured = 16;
/// A task whose data is not worth moving between caches runs where it became ready.
constexpr float homely_ns = 5'000;

}  // namespace

WorkerId TaskContext::worker() const noexcept {
  return worker_.id;
}

void TaskContext::then(Body body) {
  worker_.continuation = std::move(body);
  worker_.continues = true;
}

Scheduler::Node* Scheduler::next_task(Worker& worker) {
  if (worker.next != nullptr) {
    return std::exchange(worker.next, nullptr);
  }
  if (worker.batch_next < worker.batch_end) {
    prefetch(worker);
    return worker.batch[worker.batch_next++];
  }
  if (Node* const spawned = worker.deque.pop()) {
    return spawned;
  }
  worker.batch_end = static_cast<std::uint32_t>(worker.queue.take(worker.batch, detail::short_ns));
  if (worker.batch_end == 0 && workers_.size() > 1) {
    if (Node* const spawned = steal(worker)) {
      worker.batch_next = 0;
      return spawned;
    }
  }
  worker.batch_next = 1;
  for (std::uint32_t i = 0; i < worker.batch_end; ++i) {
    __builtin_prefetch(&worker.batch[i]->body);
    __builtin_prefetch(worker.batch[i]->successors);
  }
  return worker.batch_end > 0 ? worker.batch[0] : nullptr;
}

/// What the end of a task further down the batch will write. Short tasks take less time than a look into far memory.
void Scheduler::prefetch(const Worker& worker) noexcept {
  constexpr std::uint32_t ahead = 2;
  if (worker.batch_next + ahead < worker.batch_end) {
    const Node& later = *worker.batch[worker.batch_next + ahead];
    for (std::uint32_t i = 0; i < std::min(later.successor_count, 4U); ++i) {
      __builtin_prefetch(later.successors[i], 1);
    }
  }
}

/// A spawned task of another worker, or, in this worker's batch, others.
Scheduler::Node* Scheduler::steal(Worker& worker) {
  const auto count = static_cast<std::uint32_t>(workers_.size());
  worker.random = worker.random * 1664525U + 1013904223U;  // Numerical Recipes' generator: any start will do
  const std::uint32_t first = (worker.random >> 16U) % count;
  for (std::uint32_t step = 0; step < count; ++step) {
    Worker& victim = *workers_[(first + step) % count];
    if (&victim == &worker) {
      continue;
    }
    if (victim.deque.size() > 0) {
      if (Node* const spawned = victim.deque.steal()) {
        return spawned;
      }
    }
    if (victim.queue.is_worth_stealing()) {
      worker.batch_end = static_cast<std::uint32_t>(victim.queue.steal(worker.batch, detail::short_ns));
      if (worker.batch_end > 0) {
        return nullptr;
      }
    }
  }
  return nullptr;
}

// ---- a task ----

/// What is not known of a task is taken from its kind.
void Scheduler::suppose_cost(const Worker& worker, Node& node) noexcept {
  if (node.cost_ns == 0 && node.kind.value() < worker.kind_cost_ns.size()) {
    node.cost_ns = worker.kind_cost_ns[node.kind.value()];
  }
}

/// All that is long or not known yet, some of what is short, and everything when it is recorded.
bool Scheduler::must_measure(Worker& worker, Node& node) const noexcept {
  suppose_cost(worker, node);
  if (node.cost_ns > 0 && node.cost_ns < detail::short_ns && --worker.until_measured > 0 && !worker.trace.is_on()) {
    return false;
  }
  worker.until_measured = short_tasks_per_measured;
  return true;
}

void Scheduler::learn(Worker& worker, Node& node, nanoseconds took) const noexcept {
  auto cost = std::max(1.0F, static_cast<float>(took.count()));
  const bool is_first = node.cost_source != detail::CostSource::measured;
  if (node.kind.value() < worker.kind_cost_ns.size()) {
    float& mean = worker.kind_cost_ns[node.kind.value()];
    if (mean > 0) {  // a thread that was put to sleep would else count for a long task, run after run
      cost = std::min(cost, growth_max * std::max(mean, is_first ? 0 : node.cost_ns));
    }
    mean = mean > 0 ? mean + kind_cost_smoothing * (cost - mean) : cost;
  }
  node.cost_ns = is_first ? cost : node.cost_ns + cost_smoothing * (cost - node.cost_ns);
  node.cost_source = detail::CostSource::measured;
}

const std::string& Scheduler::name_of(const Node& node) const {
  return node.its_label() != nullptr ? node.its_label()->name : graph_->kinds()[node.kind.value()];
}

trace::NameId Scheduler::trace_name_of(const Node& node) const {
  return node.its_label() != nullptr ? node.its_label()->trace_name : names_[node.kind.value()];
}

void Scheduler::execute(Worker& worker, Node& node) {
  const bool is_measured = must_measure(worker, node);
  if (is_measured && !worker.is_now_fresh) {
    worker.now = recorder_.now();
  }
  const nanoseconds start = worker.now;
  worker.running.store(&node, std::memory_order_relaxed);  // a hint for check_stall()
  node.continues = false;
  try {
    TaskContext context{*this, worker, node};
    node.body(context);
  } catch (...) {
    fail_with_current_exception(node);
  }
  worker.running.store(nullptr, std::memory_order_relaxed);
  worker.is_now_fresh = is_measured;
  if (is_measured) {
    worker.now = recorder_.now();
    learn(worker, node, worker.now - start);
    if (worker.trace.is_on()) {
      record(worker, node, start);
    }
  }
  node.last_worker = worker.id;
  if (node.has_claims) {
    unlock_all(*node.claims);
    if (workers_.size() > 1) {
      wake_one();  // what has waited for them may run now
    }
  }
  if (std::exchange(worker.continues, false)) {
    if (!node.is_spawned && !node.has_first_body) {
      node.first_body = std::make_unique<Body>(std::move(node.body));
      node.has_first_body = true;
      if (node.is_of_graph) {
        node.owner->has_gone_on_.store(true, std::memory_order_relaxed);  // read when the workers are out
      }
    }
    node.body = std::move(worker.continuation);
    node.continues = true;
  }
  finish(worker, node);
}

void Scheduler::record(Worker& worker, const Node& node, nanoseconds start) {
  worker.trace.task({.kind = trace_name_of(node),
                     .object = node.object,
                     .ready = node.ready,
                     .start = start,
                     .end = worker.now,
                     .task = id_of(node),
                     .caused_by = node.caused_by,
                     .step = epoch_ - 1,
                     .place = node.place()});
}

void Scheduler::fail_with_current_exception(const Node& node) noexcept {
  const auto user_error = [&](std::string_view what) {
    return Error{ErrorCode::user_task,
                 fmt::format("task '{}' on rank {} threw{}", name_of(node), endpoint_.self().value(), what)};
  };
  try {
    throw;
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(user_error(fmt::format(": {}", error.what())));
  } catch (...) {
    fail(user_error(" something that is no exception"));
  }
}

/// Hands tasks of no graph over to the worker that has ended another.
struct Scheduler::Sink final : detail::ReadySink {
  Sink(Scheduler& its_scheduler, Worker& its_worker, const Node& ended)
      : scheduler{its_scheduler}, worker{its_worker}, cause{scheduler.id_of(ended)} {}
  void ready(Node& node) override {
    node.caused_by = cause;
    scheduler.make_ready(worker, node);
  }
  void again(Node& node) override {
    node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue
    Worker::count(worker.made);
    scheduler.make_ready(worker, node);
  }

  Scheduler& scheduler;
  Worker& worker;
  std::uint64_t cause;
};

/// Counts an ended task off: its parent, what waits for it, the run. Iterative, as a long chain of joins may end at
/// once.
void Scheduler::finish(Worker& worker, Node& first) {
  if (std::exchange(worker.is_finishing, true)) {
    worker.finishing.push_back(&first);
    return;
  }
  Node* node = &first;
  while (node != nullptr) {
    node = count_off(worker, *node);
    if (node == nullptr && !worker.finishing.empty()) {
      node = worker.finishing.back();
      worker.finishing.pop_back();
    }
  }
  worker.is_finishing = false;
  if (!worker.sends.empty()) {
    post_sends(worker);
  }
}

/// Returns the parent of a task that has come to its end with all that it has spawned.
Scheduler::Node* Scheduler::count_off(Worker& worker, Node& node) {
  // Acquires what the children wrote, or releases what this task wrote to the last of them. Who finds the count at one
  // is the last: nobody is left to change it.
  if (node.unfinished.load(std::memory_order_acquire) != 1 &&
      node.unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return nullptr;
  }
  if (node.continues) {
    node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue, or not at all
    offer(worker, node);
    return nullptr;
  }
  node.unfinished.store(0, std::memory_order_relaxed);  // a hint for describe_waiting()
  if (node.has_first_body) {
    node.body = std::move(*node.first_body);
    node.first_body.reset();
    node.has_first_body = false;
  }
  if (!node.is_of_graph && !node.is_spawned) {
    Sink sink{*this, worker, node};
    node.ending->ended(node, sink);  // which may end its life
    Worker::count(worker.ended);
    return nullptr;
  }
  release_successors(worker, node);
  Node* parent = nullptr;
  if (node.is_spawned) {
    parent = node.parent;
    give_back(worker, static_cast<detail::SpawnedNode&>(node));
  }
  Worker::count(worker.ended);
  return parent;
}

/// To the pool that it is from.
void Scheduler::give_back(Worker& worker, detail::SpawnedNode& node) noexcept {
  node.body.reset();
  if (node.role != detail::Role::compute) {
    node.message.reset();
  }
  if (node.home == worker.id.value()) {
    worker.pool.put(node);
  } else {
    workers_[node.home]->pool.give_back(node);
  }
}

void Scheduler::release_successors(Worker& worker, Node& node) {
  for (std::uint32_t i = 0; i < node.successor_count; ++i) {
    Node& successor = *node.successors[i];
    if (!are_all_active_ && successor.epoch != epoch_) {
      continue;
    }
    // Acquires what all predecessors wrote for whoever runs the successor. Who finds the count at one is the last.
    if (successor.waits.load(std::memory_order_acquire) == 1 ||
        successor.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      successor.waits.store(detail::is_ready, std::memory_order_relaxed);
      if (worker.trace.is_on()) {
        // A join leaves no record: what comes after it was made ready by what the join waited for last.
        successor.caused_by = node.role == detail::Role::join ? node.caused_by : id_of(node);
      }
      make_ready(worker, successor);
    }
  }
}

void Scheduler::make_ready(Worker& worker, Node& node) {
  if (worker.trace.is_on()) {
    node.ready = worker.now;
  }
  switch (node.role) {
    case detail::Role::join:
      finish(worker, node);
      break;
    case detail::Role::send:
      worker.sends.push_back(node.message.get());
      break;
    case detail::Role::receive:
      post_receive(worker, node);
      break;
    case detail::Role::compute:
      offer(worker, node);
      break;
    case detail::Role::event:
    case detail::Role::wait:
      break;
  }
}

/// Keeps a task that is ready for this worker's next, or puts it into a queue.
void Scheduler::offer(Worker& worker, Node& node) {
  suppose_cost(worker, node);
  const bool has_home = node.last_worker && node.last_worker != worker.id && node.cost_ns >= homely_ns &&
                        node.last_worker.value() < workers_.size();
  if (has_home) {
    workers_[node.last_worker.value()]->queue.send(node);
    wake_one();
    return;
  }
  Node* rest = &node;
  if (!node.has_claims) {
    if (worker.next == nullptr) {
      if (node.urgency() >= worker.queue.urgency_max()) {
        worker.next = &node;
        return;
      }
    } else if (node.urgency() > worker.next->urgency()) {
      rest = std::exchange(worker.next, &node);
    }
  }
  worker.queue.push(*rest);
  if (workers_.size() > 1 && worker.queue.is_worth_stealing()) {
    wake_one();
  }
}

/// A task from the worker's pool, with nothing of its earlier life.
detail::SpawnedNode& Scheduler::make_spawned(Worker& worker, Node& parent, TaskKind kind) {
  detail::SpawnedNode& node = worker.pool.take();
  node.kind = kind;
  node.role = detail::Role::compute;
  node.leads_to_send = parent.leads_to_send;
  node.parent = &parent;
  node.label = parent.its_label();
  node.last_worker = {};
  node.has_claims = false;
  return node;
}

/// What waits for the parent waits for this one, too.
void Scheduler::count_spawned(Worker& worker, Node& parent, detail::SpawnedNode& node) {
  node.weight_ns = node.cost_ns + parent.weight_ns;
  node.unfinished.store(1, std::memory_order_relaxed);        // published by the queue
  parent.unfinished.fetch_add(1, std::memory_order_relaxed);  // the parent itself still counts
  Worker::count(worker.made);
  if (worker.trace.is_on()) {
    node.number = next_number_.fetch_add(1, std::memory_order_relaxed);
    node.caused_by = id_of(parent);
    worker.now = recorder_.now();
    node.ready = worker.now;
  }
}

void Scheduler::spawn(Worker& worker, Node& parent, Spawn&& wish) {
  detail::SpawnedNode& node = make_spawned(worker, parent, wish.kind);
  node.body = std::move(wish.body);
  node.object = wish.object;
  node.cost_ns = static_cast<float>(wish.cost.count());
  node.cost_source = wish.cost == nanoseconds::zero() ? detail::CostSource::kind : detail::CostSource::estimate;
  count_spawned(worker, parent, node);
  node.has_claims = !wish.resources.empty();
  if (node.has_claims) {
    node.claims = std::make_unique<std::vector<Claim>>(std::move(wish.resources));
  }
  if (!node.has_claims && wish.cost == nanoseconds::zero()) {
    worker.deque.push(node);
    if (workers_.size() > 1 && worker.deque.size() > 1) {
      wake_one();
    }
    return;
  }
  worker.queue.push(node);
  wake_one();
}

}  // namespace plait::task
