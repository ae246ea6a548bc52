// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/queues.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace plait::task::detail {

namespace {

/// A task whose data is not worth moving between caches runs where it became ready.
constexpr float homely_ns = 5'000;

/// What the end of a task further down the batch will write. Short tasks take less time than a read of far memory.
void prefetch(const Worker& worker) noexcept {
  constexpr std::uint32_t ahead = 2;
  if (worker.batch_next + ahead < worker.batch_end) {
    const Node& later = *worker.batch[worker.batch_next + ahead];
    for (std::uint32_t i = 0; i < std::min(later.successor_count, 4U); ++i) {
      __builtin_prefetch(later.successors[i], 1);
    }
  }
}

}  // namespace

Node* Queues::next(Worker& worker) {
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
  worker.batch_end = static_cast<std::uint32_t>(worker.queue.take(worker.batch, short_ns));
  if (worker.batch_end == 0 && state_.has_several_workers()) {
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

/// A spawned task of another worker, or, in this worker's batch, others.
Node* Queues::steal(Worker& worker) {
  const auto count = static_cast<std::uint32_t>(state_.workers.size());
  worker.random = worker.random * 1664525U + 1013904223U;  // Numerical Recipes' generator: any start will do
  const std::uint32_t first = (worker.random >> 16U) % count;
  for (std::uint32_t step = 0; step < count; ++step) {
    Worker& victim = *state_.workers[(first + step) % count];
    if (&victim == &worker) {
      continue;
    }
    if (victim.deque.size() > 0) {
      if (Node* const spawned = victim.deque.steal()) {
        return spawned;
      }
    }
    if (victim.queue.is_worth_stealing()) {
      worker.batch_end = static_cast<std::uint32_t>(victim.queue.steal(worker.batch, short_ns));
      if (worker.batch_end > 0) {
        return nullptr;
      }
    }
  }
  return nullptr;
}

void Queues::offer(Worker& worker, Node& node) {
  worker.suppose_cost(node);
  const bool has_home = node.last_worker && node.last_worker != worker.id && node.cost_ns >= homely_ns &&
                        node.last_worker.value() < state_.workers.size();
  if (has_home) {
    state_.workers[node.last_worker.value()]->queue.send(node);
    state_.sleep.wake_one();
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
  if (state_.has_several_workers() && worker.queue.is_worth_stealing()) {
    state_.sleep.wake_one();
  }
}

void Queues::offer_spawned(Worker& worker, Node& node, bool is_ordered) {
  if (is_ordered) {
    worker.queue.push(node);
    state_.sleep.wake_one();
    return;
  }
  worker.deque.push(node);
  if (state_.has_several_workers() && worker.deque.size() > 1) {
    state_.sleep.wake_one();
  }
}

void Queues::put_back(Worker& worker) {
  if (Node* const next = std::exchange(worker.next, nullptr)) {
    worker.queue.push(*next);
  }
  while (worker.batch_next < worker.batch_end) {
    Node& node = *worker.batch[worker.batch_next++];
    if (node.has_claims) {
      unlock_all(*node.claims);
    }
    worker.queue.push(node);
  }
}

}  // namespace plait::task::detail
