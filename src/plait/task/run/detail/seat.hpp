// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "plait/base/executor.hpp"

namespace plait::task::detail {

/// Which thread is worker 0. Only the thread in the seat touches what is worker 0's own.
///
/// Threads: any. Cost: a compare-and-swap to take a free seat.
class Seat {
 public:
  /// `executor`: of the rank's threads; null: the system.
  explicit Seat(Executor* executor = nullptr) noexcept : executor_{executor} {}

  [[nodiscard]] bool is_mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == thread_number(executor_);  // no other thread stores this
  }
  [[nodiscard]] bool try_take() noexcept {
    std::uint64_t none = 0;
    return holder_.compare_exchange_strong(none, thread_number(executor_), std::memory_order_acquire);  // with leave()
  }
  /// Waits until the thread in the seat leaves it, which it does between two tasks.
  void take() {
    if (try_take()) {
      return;
    }
    wishes_.fetch_add(1, std::memory_order_relaxed);  // a hint for the thread in the seat
    sleep_until_taken();
    wishes_.fetch_sub(1, std::memory_order_relaxed);
  }
  void leave() noexcept {
    holder_.store(0, std::memory_order_release);  // with try_take()
    left_.notify_all();                           // a hint: sleeps are short
    if (executor_ != nullptr && is_wished()) {
      executor_->notify();
    }
  }
  /// Whether another thread wants to be worker 0 for a moment. A hint.
  [[nodiscard]] bool is_wished() const noexcept { return wishes_.load(std::memory_order_relaxed) > 0; }
  /// Lets such a thread in, and returns after it.
  void lend() {
    leave();
    sleep_shortly();
    sleep_until_taken();
  }

 private:
  static constexpr std::chrono::microseconds sleep_max{200};

  void sleep_until_taken() {
    while (!try_take()) {
      sleep_shortly();
    }
  }
  void sleep_shortly() {
    if (executor_ != nullptr) {
      executor_->sleep(sleep_max);
      return;
    }
    std::unique_lock lock{mutex_};
    left_.wait_for(lock, sleep_max);
  }

  Executor* executor_;
  std::atomic<std::uint64_t> holder_ = 0;  ///< Its `thread_number`.
  std::atomic<std::uint32_t> wishes_ = 0;
  std::mutex mutex_;
  std::condition_variable left_;
};

}  // namespace plait::task::detail
