// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "plait/base/clock.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/net/driver.hpp"

namespace plait::comm::detail {

/// The threads of a rank that sleep in its driver, and the one in the background that goes on where they leave.
/// Threads: any.
class Resting {
 public:
  /// Borrows `driver`.
  explicit Resting(net::Driver& driver) : driver_{driver} {}
  Resting(const Resting&) = delete;
  Resting& operator=(const Resting&) = delete;

  [[nodiscard]] Rank self() const noexcept { return driver_.self(); }

  /// Sleeps until a packet arrives, `wake` or `notify` is called, or for `longest`. Has the driver announce that, with
  /// the lock of `poll(announce)`, which then polls, so that nothing that came before is missed, and returns the number
  /// of events; with any, and when `is_over()`, it does not sleep. False, at once, where the driver cannot be woken.
  template <class Poll, class Over>
  [[nodiscard]] bool rest(nanoseconds longest, const Poll& poll, const Over& is_over) {
    bool can_be_woken = false;
    // seq_cst, as in notify(): that wakes this thread, or this one finds that it is over.
    count_.fetch_add(1);
    const bool has_events = poll([&] { return can_be_woken = driver_.announce_rest(); }) > 0;
    if (can_be_woken && !has_events && !is_over()) {
      driver_.rest(longest);
    }
    count_.fetch_sub(1);
    return can_be_woken;
  }
  /// Something is over that threads may wait for.
  void notify() noexcept {
    if (count_.load() > 0) {  // seq_cst: see rest()
      driver_.wake();
    }
  }
  void wake() noexcept { driver_.wake(); }

  /// What `call_helper` calls; borrowed, and short. Null: nothing.
  void set_helper(const std::function<void()>* helper) {
    const std::lock_guard lock{mutex_};
    helper_ = helper;
  }
  /// A thread ends its wait while messages of others are being forwarded here, which no thread waits for.
  void call_helper() {
    const std::lock_guard lock{mutex_};
    if (helper_ != nullptr) {
      (*helper_)();
    }
  }

 private:
  net::Driver& driver_;
  std::atomic<std::uint32_t> count_ = 0;  ///< Threads in `rest`.
  SpinLock mutex_;
  const std::function<void()>* helper_ = nullptr;
};

}  // namespace plait::comm::detail
