// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace plait::task::detail {

struct Node;

/// A lock-free deque of tasks whose order does not matter. Its owner takes the newest task, whose data is in cache;
/// thieves take the oldest.
///
/// After Chase and Lev, "Dynamic circular work-stealing deque" (2005), with the memory orders of Le, Pop, Cohen and
/// Zappa Nardelli, "Correct and efficient work-stealing for weak memory models" (2013). Threads: `push` and `pop` from
/// the owner, `steal` and `size` from any. Cost: a full fence for a `pop`, a compare-and-swap for a `steal`.
class WorkDeque {
 public:
  WorkDeque() { grow(first_capacity); }

  void push(Node& node);
  /// Takes the newest task; null when there is none.
  [[nodiscard]] Node* pop() noexcept;
  /// Takes the oldest task; null when there is none, or when another thread has just taken it.
  [[nodiscard]] Node* steal() noexcept;

  /// A hint: may be out of date when it returns.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::int64_t count = bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

 private:
  static constexpr std::int64_t first_capacity = 256;  // a power of two, as are all after it

  struct Ring {
    explicit Ring(std::int64_t its_capacity)
        : capacity{its_capacity}, slots{std::make_unique<std::atomic<Node*>[]>(its_capacity)} {}
    [[nodiscard]] std::atomic<Node*>& at(std::int64_t index) const { return slots[index & (capacity - 1)]; }

    std::int64_t capacity;
    std::unique_ptr<std::atomic<Node*>[]> slots;
  };

  void grow(std::int64_t capacity);

  alignas(64) std::atomic<std::int64_t> top_ = 0;     ///< The next to steal.
  alignas(64) std::atomic<std::int64_t> bottom_ = 0;  ///< Behind the last that was pushed.
  std::atomic<Ring*> ring_ = nullptr;
  std::vector<std::unique_ptr<Ring>> rings_;  ///< Earlier ones are kept: a thief may still read one.
};

}  // namespace plait::task::detail
