// SPDX-License-Identifier: Apache-2.0
#include "plait/task/ready_queue.hpp"

#include <algorithm>
#include <mutex>

namespace plait::task {

bool ReadyQueue::is_lighter(const Entry& left, const Entry& right) noexcept {
  return left.weight != right.weight ? left.weight < right.weight : left.order > right.order;
}

void ReadyQueue::push(detail::Node& node) {
  const std::lock_guard lock{mutex_};
  const Entry entry{node.weight_ns, next_order_++, &node};
  if (falling_.empty() || entry.weight <= falling_.back().weight) {
    falling_.push_back(entry);
  } else {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, is_lighter);
  }
  size_.store(heap_.size() + falling_.size(), std::memory_order_relaxed);  // a hint; orders nothing
}

/// Expects: there is one.
ReadyQueue::Entry ReadyQueue::take_heaviest() {
  if (heap_.empty() || (!falling_.empty() && is_lighter(heap_.front(), falling_.front()))) {
    const Entry entry = falling_.front();
    falling_.pop_front();
    return entry;
  }
  std::ranges::pop_heap(heap_, is_lighter);
  const Entry entry = heap_.back();
  heap_.pop_back();
  return entry;
}

detail::Node* ReadyQueue::pop() {
  if (size() == 0) {
    return nullptr;
  }
  const std::lock_guard lock{mutex_};
  return pop_locked();
}

detail::Node* ReadyQueue::steal() {
  if (size() == 0) {
    return nullptr;
  }
  const std::unique_lock lock{mutex_, std::try_to_lock};
  return lock.owns_lock() ? pop_locked() : nullptr;
}

detail::Node* ReadyQueue::pop_locked() {
  detail::Node* found = nullptr;
  while (found == nullptr && !is_empty()) {
    const Entry heaviest = take_heaviest();
    if (heaviest.node->resources.empty() || try_lock_all(heaviest.node->resources)) {
      found = heaviest.node;
    } else {
      set_aside_.push_back({heaviest.weight / 2, heaviest.order, heaviest.node});
    }
  }
  for (const Entry& entry : set_aside_) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, is_lighter);
  }
  set_aside_.clear();
  size_.store(heap_.size() + falling_.size(), std::memory_order_relaxed);  // a hint; orders nothing
  return found;
}

}  // namespace plait::task
