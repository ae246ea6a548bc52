// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plait/task/detail/node.hpp"
#include "plait/task/detail/node_stack.hpp"

namespace plait::task::detail {

/// The tasks that one worker has spawned. They are reused when they have ended, so that memory is bounded by the tasks
/// that exist at once.
///
/// Threads: `give_back` from any, the rest from the worker.
class NodePool {
 public:
  explicit NodePool(std::uint32_t home) : home_{home} {}

  /// Takes a task that is not in use. Its body is empty; the rest of its state is that of its last use.
  [[nodiscard]] SpawnedNode& take() {
    if (free_ == nullptr) {
      refill();
    }
    Node* const node = std::exchange(free_, free_->next);
    return static_cast<SpawnedNode&>(*node);
  }

  /// Returns a task from the pool's own worker.
  void put(SpawnedNode& node) noexcept {
    node.next = free_;
    free_ = &node;
  }
  /// Returns a task from another worker.
  void give_back(SpawnedNode& node) noexcept { returned_.push(node); }

 private:
  static constexpr std::size_t nodes_at_once = 128;

  void refill() {
    free_ = returned_.take_all();
    if (free_ != nullptr) {
      return;
    }
    chunks_.push_back(std::make_unique<SpawnedNode[]>(nodes_at_once));
    for (std::size_t i = nodes_at_once; i-- > 0;) {
      chunks_.back()[i].home = home_;
      put(chunks_.back()[i]);
    }
  }

  std::uint32_t home_;
  Node* free_ = nullptr;  ///< Linked.
  alignas(64) NodeStack returned_;
  std::vector<std::unique_ptr<SpawnedNode[]>> chunks_;
};

}  // namespace plait::task::detail
