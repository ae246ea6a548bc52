// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "plait/task/detail/node.hpp"

namespace plait::task::detail {

/// Tasks that any thread adds to, and one thread takes whole: linked through `Node::next`, the last that came first.
///
/// Threads: any. Cost: one compare-and-swap for a push, without contention. Taking all at once is what makes
/// this safe: a task that comes back cannot be mistaken for one that never left.
class NodeStack {
 public:
  void push(Node& node) noexcept {
    node.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(
        node.next, &node, std::memory_order_release, std::memory_order_relaxed)) {  // with take_all()
    }
  }

  /// The last that came, linked to those before it; or null.
  [[nodiscard]] Node* take_all() noexcept {
    return first_.exchange(nullptr, std::memory_order_acquire);  // with push()
  }

  /// A hint: may be out of date when it returns.
  [[nodiscard]] bool is_empty() const noexcept { return first_.load(std::memory_order_relaxed) == nullptr; }

 private:
  std::atomic<Node*> first_ = nullptr;
};

}  // namespace plait::task::detail
