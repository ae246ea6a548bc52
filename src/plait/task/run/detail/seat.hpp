// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace plait::task::detail {

/// Which thread is worker 0. Only the thread in the seat touches what is worker 0's own.
///
/// Threads: any. Cost: a compare-and-swap to take a free seat.
class Seat {
 public:
  [[nodiscard]] bool is_mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();  // no other thread stores this id
  }
  [[nodiscard]] bool try_take() noexcept {
    std::thread::id none{};
    return holder_.compare_exchange_strong(
        none, std::this_thread::get_id(), std::memory_order_acquire);  // with leave()
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
    holder_.store(std::thread::id{}, std::memory_order_release);  // with try_take()
    left_.notify_all();                                           // a hint: sleeps are short
  }
  /// Whether another thread wants to be worker 0 for a moment. A hint.
  [[nodiscard]] bool is_wished() const noexcept { return wishes_.load(std::memory_order_relaxed) > 0; }
  /// Lets such a thread in, and returns after it.
  void lend() {
    leave();
    {
      std::unique_lock lock{mutex_};
      left_.wait_for(lock, sleep_max);
    }
    sleep_until_taken();
  }

 private:
  static constexpr std::chrono::microseconds sleep_max{200};

  void sleep_until_taken() {
    std::unique_lock lock{mutex_};
    while (!try_take()) {
      left_.wait_for(lock, sleep_max);
    }
  }

  std::atomic<std::thread::id> holder_;
  std::atomic<std::uint32_t> wishes_ = 0;
  std::mutex mutex_;
  std::condition_variable left_;
};

}  // namespace plait::task::detail
