// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::task {

/// Tasks that are ready, the one with the longest way to the end first. A task whose resources are taken sinks: its
/// weight is halved each time, so that it is not tried over and over before others.
///
/// Tasks that come in falling order of weight, as those of a graph's activation and of a spawning task often do, wait
/// in a plain list; only the others pay for a heap. Threads: any. Cost: a short lock, and O(log n) at most.
class ReadyQueue {
 public:
  void push(detail::Node& node);

  /// The heaviest task whose resources could be locked, with them locked; or null.
  [[nodiscard]] detail::Node* pop();
  /// As `pop`, but null at once when another thread is at this queue.
  [[nodiscard]] detail::Node* steal();

  /// A hint: may be out of date when it returns.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    double weight;
    std::uint64_t order;  ///< Of equal weights the first that came.
    detail::Node* node;
  };
  static bool is_lighter(const Entry& left, const Entry& right) noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return heap_.empty() && falling_.empty(); }
  Entry take_heaviest();
  detail::Node* pop_locked();

  SpinLock mutex_;
  std::deque<Entry> falling_;  ///< Each at most as heavy as the one before it.
  std::vector<Entry> heap_;
  std::vector<Entry> set_aside_;  ///< During a pop: tasks that could not be locked.
  std::uint64_t next_order_ = 0;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace plait::task
