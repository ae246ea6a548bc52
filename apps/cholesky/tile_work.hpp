// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace cholesky {

/// What the workers of one rank have done on tiles. Threads: any.
class TileWork {
 public:
  using Clock = std::chrono::steady_clock;

  /// `on_task`, if there is one, is called after each task, by the worker that did it, with the tasks done so far.
  explicit TileWork(std::function<void(std::uint64_t)> on_task = {}) : on_task_{std::move(on_task)} {}

  /// Does `work`, and counts it.
  template <class Work>
  void measure(Work&& work) {
    const Clock::time_point begin = Clock::now();
    std::forward<Work>(work)();
    const std::chrono::nanoseconds took = Clock::now() - begin;
    busy_.fetch_add(took.count(), std::memory_order_relaxed);  // read when the workers rest
    const std::uint64_t done = tasks_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (on_task_) {
      on_task_(done);
    }
  }

  [[nodiscard]] std::uint64_t tasks() const noexcept { return tasks_.load(std::memory_order_relaxed); }
  /// Summed over workers.
  [[nodiscard]] std::chrono::nanoseconds busy() const noexcept {
    return std::chrono::nanoseconds{busy_.load(std::memory_order_relaxed)};
  }

 private:
  std::function<void(std::uint64_t)> on_task_;
  std::atomic<std::uint64_t> tasks_ = 0;
  std::atomic<std::int64_t> busy_ = 0;
};

}  // namespace cholesky
