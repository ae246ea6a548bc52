// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/detail/node_stack.hpp"

namespace plait::task::detail {

/// The ready tasks of one worker, by longest path to the end. The weight of a task whose locks are taken is halved at
/// each try, so that others come first.
///
/// Tasks that arrive in falling order of weight, which is frequent, are stored in a list; only the others need a heap.
/// Other workers send tasks through a lock-free inbox. Threads: any. Cost: a short lock, and O(log n) at most.
class ReadyQueue {
 public:
  void push(Node& node);
  /// As `push`, from another worker.
  void send(Node& node) noexcept { inbox_.push(node); }

  /// Takes and locks the heaviest tasks whose locks are free, heaviest first: one, or as many as `room` has while they
  /// are known to be shorter than `short_max_ns`. Returns their number.
  std::size_t take(std::span<Node*> room, float short_max_ns);
  /// As `take`, at most half of the tasks rounded up; none if another thread accesses this queue.
  std::size_t steal(std::span<Node*> room, float short_max_ns);

  /// Sets whether the owner is away, so that any task here is worth stealing.
  void set_unattended(bool is_unattended);

  /// A hint: may be out of date when it returns.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_empty() const noexcept { return size() == 0 && inbox_.is_empty(); }
  /// A hint: whether the tasks take so long that another worker should steal some.
  [[nodiscard]] bool is_worth_stealing() const noexcept {
    return is_worth_stealing_.load(std::memory_order_relaxed) || !inbox_.is_empty();
  }
  /// A hint: the urgency of the heaviest task.
  [[nodiscard]] float urgency_max() const noexcept { return urgency_max_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    float weight;
    std::uint32_t order;  ///< Of equal weights the first that came; comes round after 4e9, which may swap two.
    Node* node;
  };
  static bool is_lighter(const Entry& left, const Entry& right) noexcept;
  [[nodiscard]] bool has_falling() const noexcept { return first_falling_ < falling_.size(); }
  void insert(Node& node);
  void empty_inbox();
  Entry take_heaviest();
  std::size_t take_locked(std::span<Node*> room, float short_max_ns);
  void tell_size() noexcept;
  static std::uint64_t expected_ns(const Node& node) noexcept;

  /// Written only when it changes, and on a cache line of its own: others poll it.
  alignas(64) std::atomic<bool> is_worth_stealing_ = false;
  alignas(64) std::atomic<std::size_t> size_ = 0;
  std::atomic<float> urgency_max_ = 0;
  SpinLock mutex_;
  bool is_unattended_ = false;
  std::uint64_t work_ns_ = 0;  ///< What the tasks here are expected to take.
  std::uint32_t next_order_ = 0;
  std::vector<Entry> falling_;  ///< Each at most as heavy as the one before it.
  std::size_t first_falling_ = 0;
  std::vector<Entry> heap_;
  std::vector<Entry> set_aside_;  ///< During a take: tasks that could not be locked.
  alignas(64) NodeStack inbox_;
};

}  // namespace plait::task::detail
