// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "plait/base/clock.hpp"
#include "plait/base/executor.hpp"

namespace plait::task::detail {

/// How workers without tasks, and threads that wait beside them, sleep and are woken. Counts the workers that work, so
/// that a thread can wait until none does.
///
/// Threads: any. Notifications inside a run are hints: sleeps there are short.
class Sleep {
 public:
  /// `executor`: of the rank's threads; null: the system.
  explicit Sleep(Executor* executor = nullptr) noexcept : executor_{executor} {}

  // ---- workers ----
  /// Sleeps until `has_work()`, or `end` has been called: then returns false.
  template <class HasWork>
  [[nodiscard]] bool until(HasWork has_work) {
    std::unique_lock lock{mutex_};
    sleeping_.fetch_add(1, std::memory_order_relaxed);  // a hint for wake_one()
    if (executor_ != nullptr) {
      while (!is_ending_ && !has_work()) {
        give_way(lock);
      }
    } else {
      wake_.wait(lock, [&] { return is_ending_ || has_work(); });
    }
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
    return !is_ending_;
  }
  /// Sleeps for at most `length`, unless `is_needed()`.
  template <class IsNeeded>
  void shortly(nanoseconds length, IsNeeded is_needed) {
    std::unique_lock lock{mutex_};
    sleeping_.fetch_add(1, std::memory_order_relaxed);  // a hint for wake_one()
    if (!is_needed()) {
      if (executor_ != nullptr) {
        give_way(lock);
      } else {
        wake_.wait_for(lock, length);
      }
    }
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// A worker that was woken looks for tasks: the next may be woken.
  void looks_for_tasks() noexcept { is_waking_.store(false, std::memory_order_relaxed); }

  void wake_one() noexcept {
    if (sleeping() > 0 && (executor_ != nullptr || !is_waking_.exchange(true, std::memory_order_relaxed))) {
      notify(&std::condition_variable::notify_one, wake_);
    }
  }
  /// As `wake_one`, for news that is no task.
  void nudge() noexcept {
    if (sleeping() > 0) {
      notify(&std::condition_variable::notify_one, wake_);
    }
  }
  void wake_all() noexcept { notify(&std::condition_variable::notify_all, wake_); }
  /// As `wake_all`, and none misses it: a worker that has found no work sleeps by now, or searches again.
  void wake_all_surely() {
    {
      const std::lock_guard lock{mutex_};
    }
    wake_all();
  }
  void end() {
    {
      const std::lock_guard lock{mutex_};
      is_ending_ = true;
    }
    wake_all();
  }
  [[nodiscard]] std::uint32_t sleeping() const noexcept { return sleeping_.load(std::memory_order_relaxed); }  // a hint

  // ---- who works ----
  void begin_work() {
    const std::lock_guard lock{mutex_};
    ++working_;
  }
  void end_work() {
    const std::lock_guard lock{mutex_};
    if (--working_ == 0) {
      notify_outside();
    }
  }
  void wait_until_none_works() {
    std::unique_lock lock{mutex_};
    if (executor_ != nullptr) {
      while (working_ > 0) {
        give_way(lock);
      }
    } else {
      outside_.wait(lock, [this] { return working_ == 0; });
    }
  }

  // ---- threads that are no workers ----
  /// Sleeps for at most `length`, or until `notify_outside`, which may be missed.
  void outside(nanoseconds length) {
    std::unique_lock lock{mutex_};
    if (executor_ != nullptr) {
      give_way(lock);
    } else {
      outside_.wait_for(lock, length);
    }
  }
  void notify_outside() noexcept { notify(&std::condition_variable::notify_all, outside_); }

 private:
  /// As an executor's threads change only where they wait, none misses what changes between its check and its wait.
  void give_way(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    executor_->wait();
    lock.lock();
  }
  void notify(void (std::condition_variable::*some)() noexcept, std::condition_variable& threads) noexcept {
    if (executor_ != nullptr) {
      executor_->notify();
    } else {
      (threads.*some)();
    }
  }

  Executor* executor_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable outside_;
  std::atomic<std::uint32_t> sleeping_ = 0;
  std::atomic<bool> is_waking_ = false;  ///< A worker was woken and has not looked for tasks yet.
  std::uint32_t working_ = 0;
  bool is_ending_ = false;
};

}  // namespace plait::task::detail
