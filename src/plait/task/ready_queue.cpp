// SPDX-License-Identifier: Apache-2.0
#include "plait/task/ready_queue.hpp"

#include <algorithm>

namespace plait::task {

bool ReadyQueue::is_lighter(const Entry& left, const Entry& right) noexcept {
  return left.weight != right.weight ? left.weight < right.weight : left.order > right.order;
}

void ReadyQueue::push(detail::Node& node) {
  const std::lock_guard lock{mutex_};
  heap_.push_back({node.weight_ns, next_order_++, &node});
  std::ranges::push_heap(heap_, is_lighter);
  size_.store(heap_.size(), std::memory_order_relaxed);  // a hint; orders nothing
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
  while (found == nullptr && !heap_.empty()) {
    std::ranges::pop_heap(heap_, is_lighter);
    const Entry top = heap_.back();
    heap_.pop_back();
    if (top.node->resources.empty() || try_lock_all(top.node->resources)) {
      found = top.node;
    } else {
      set_aside_.push_back({top.weight / 2, top.order, top.node});
    }
  }
  for (const Entry& entry : set_aside_) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_, is_lighter);
  }
  set_aside_.clear();
  size_.store(heap_.size(), std::memory_order_relaxed);  // a hint; orders nothing
  return found;
}

}  // namespace plait::task
