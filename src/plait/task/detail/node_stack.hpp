// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "plait/task/detail/node.hpp"

namespace plait::task::detail {

/// A lock-free stack of tasks, linked through `Node::next`. Any thread pushes; one thread takes all at once, which
/// avoids the ABA problem.
///
/// Threads: any. Cost: one compare-and-swap for a push, without contention.
class NodeStack {
 public:
  void push(Node& node) noexcept {
    node.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(
        node.next, &node, std::memory_order_release, std::memory_order_relaxed)) {  // with take_all()
    }
  }

  /// Returns the newest task, linked to older ones; or null.
  [[nodiscard]] Node* take_all() noexcept {
    return first_.exchange(nullptr, std::memory_order_acquire);  // with push()
  }

  /// A hint: may be out of date when it returns.
  [[nodiscard]] bool is_empty() const noexcept { return first_.load(std::memory_order_relaxed) == nullptr; }

 private:
  std::atomic<Node*> first_ = nullptr;
};

}  // namespace plait::task::detail
