// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/lifecycle.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "plait/task/graph.hpp"
#include "plait/task/run/detail/costs.hpp"
#include "plait/task/task_context.hpp"

namespace plait::task::detail {

/// Hands tasks of no graph over to the worker that has ended another.
struct Lifecycle::Sink final : ReadySink {
  Sink(Lifecycle& its_lifecycle, Worker& its_worker, const Node& ended)
      : lifecycle{its_lifecycle}, worker{its_worker}, cause{worker.run->id_of(ended)}, epoch{worker.epoch} {}
  void ready(Node& node) override {
    node.caused_by = cause;
    lifecycle.make_ready(worker, node);
  }
  void again(Node& node) override {
    node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue
    if (node.epoch != epoch) {                            // its number is of an earlier run
      node.epoch = epoch;
      node.number = static_cast<std::uint32_t>(lifecycle.state_.next_id.fetch_add(1, std::memory_order_relaxed) -
                                               worker.run->first_id);
    }
    RunShare::count(worker.share->created);
    lifecycle.make_ready(worker, node);
  }

  Lifecycle& lifecycle;
  Worker& worker;
  std::uint64_t cause;
  std::uint32_t epoch;
};

void Lifecycle::execute(Worker& worker, Node& node) {
  state_.enter(worker, node.epoch);
  const bool is_measured = must_measure(worker, node) || state_.counts_tasks;
  if (is_measured && !worker.is_now_fresh) {
    worker.now = state_.recorder.now();
  }
  const nanoseconds start = worker.now;
  worker.running.store(node.epoch, std::memory_order_relaxed);  // a hint for watch()
  node.continues = false;
  if (state_.counts_tasks) [[unlikely]] {
    state_.recorder.begin_task();
  }
  try {
    TaskContext context{*this, worker, node};
    if (state_.executor == nullptr) [[likely]] {
      node.body(context);
    } else {
      perform(worker, node, context);
    }
  } catch (...) {
    state_.failure.fail(current_error(
        fmt::format("task '{}' on rank {} threw", worker.run->name_of(node), state_.endpoint.self().value())));
  }
  worker.running.store(0, std::memory_order_relaxed);
  worker.is_now_fresh = is_measured;
  if (is_measured) {
    worker.now = state_.recorder.now();
    if (state_.counts_tasks) [[unlikely]] {
      state_.recorder.end_task(worker.run->trace_name_of(node), worker.run->id_of(node), start, worker.now);
    }
    learn(worker, node, worker.now - start);
    if (worker.trace.is_on()) {
      record(worker, node, trace::TaskRole::compute, node.object, start);
    }
  }
  node.last_worker = worker.id;
  if (node.has_claims) {
    unlock_all(*node.claims);
    if (state_.has_several_workers()) {
      state_.sleep.wake_one();  // what has waited for them may run now
    }
  }
  if (std::exchange(worker.continues, false)) {
    go_on(worker, node);
  }
  finish(worker, node);
}

/// By the executor. What a front end keeps of its tasks happens in the body, which therefore runs: it asks the context
/// whether the kernel inside does.
void Lifecycle::perform(Worker& worker, Node& node, TaskContext& context) {
  const bool has_front_end = !node.is_of_graph && !node.is_spawned;
  state_.executor->execute(worker.run->name_of(node), [&](BodyUse use) {
    worker.body_use = use;
    if (use == BodyUse::runs || has_front_end) {
      node.body(context);
    }
  });
  worker.body_use = BodyUse::runs;
}

/// The rest of the task is what its body has given to `TaskContext::then`.
void Lifecycle::go_on(Worker& worker, Node& node) {
  if (!node.is_spawned && !node.has_first_body) {
    node.first_body = std::make_unique<Body>(std::move(node.body));
    node.has_first_body = true;
    if (node.is_of_graph) {
      node.owner->has_gone_on_.store(true, std::memory_order_relaxed);  // read when the run is over
    }
  }
  node.body = std::move(worker.continuation);
  node.continues = true;
}

void Lifecycle::finish(Worker& worker, Node& first) {
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
      state_.enter(worker, node->epoch);
    }
  }
  worker.is_finishing = false;
  if (!worker.sends.empty()) {
    messages_.post_sends(worker);
  }
}

/// Returns the parent of a task that has come to its end with all that it has spawned: a task of the same run, which
/// `worker` has entered.
Node* Lifecycle::count_off(Worker& worker, Node& node) {
  // Acquires what the children wrote, or releases what this task wrote to the last of them. Who finds the count at one
  // is the last: no other thread changes it.
  if (node.unfinished.load(std::memory_order_acquire) != 1 &&
      node.unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return nullptr;
  }
  if (node.continues) {
    node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue, or not at all
    queues_.offer(worker, node);
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
    RunShare::count(worker.share->ended);
    return nullptr;
  }
  release_successors(worker, node);
  Node* parent = nullptr;
  if (node.is_spawned) {
    parent = node.parent;
    give_back(worker, static_cast<SpawnedNode&>(node));
  }
  RunShare::count(worker.share->ended);
  return parent;
}

/// To the pool that it is from.
void Lifecycle::give_back(Worker& worker, SpawnedNode& node) noexcept {
  node.body.reset();
  if (node.role != Role::compute) {
    node.message.reset();
  }
  if (node.home == worker.id.value()) {
    worker.pool.put(node);
  } else {
    state_.workers[node.home]->pool.give_back(node);
  }
}

void Lifecycle::release_successors(Worker& worker, Node& node) {
  for (std::uint32_t i = 0; i < node.successor_count; ++i) {
    Node& successor = *node.successors[i];
    if (!worker.run->are_all_active && successor.epoch != worker.epoch) {
      continue;
    }
    // Acquires what all predecessors wrote for the worker that runs the successor. Who finds the count at one is the
    // last.
    if (successor.waits.load(std::memory_order_acquire) == 1 ||
        successor.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      successor.waits.store(is_ready, std::memory_order_relaxed);
      if (worker.trace.is_on()) {
        // A join leaves no record: what comes after it was made ready by what the join waited for last.
        successor.caused_by = node.role->leaves_record ? worker.run->id_of(node) : node.caused_by;
      }
      make_ready(worker, successor);
    }
  }
}

void Lifecycle::make_ready(Worker& worker, Node& node) {
  if (worker.trace.is_on()) {
    node.ready = worker.now;
  }
  if (node.role == Role::compute) {  // most, and no call
    queues_.offer(worker, node);
  } else {
    node.role->ready(*this, worker, node);
  }
}

void Lifecycle::execute_body_or_finish(Worker& worker, Node& node) {
  if (node.body) {
    queues_.offer(worker, node);
  } else {
    finish(worker, node);
  }
}

void Lifecycle::finish_noted(Worker& worker) {
  Node* node = state_.noted.take_all();
  if (node == nullptr) {
    return;
  }
  worker.now = state_.recorder.now();
  worker.is_now_fresh = true;
  while (node != nullptr) {
    Node* const next = node->next;
    state_.enter(worker, node->epoch);
    if (node->is_starting) {
      node->is_starting = false;
      make_ready(worker, *node);
    } else {
      node->role->noted(*this, worker, *node);
    }
    node = next;
  }
  messages_.post_sends(worker);
}

}  // namespace plait::task::detail
