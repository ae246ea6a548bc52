// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/detail/operation.hpp"

namespace plait::comm::detail {

/// A thread that sleeps until its operation is over, or until it is asked to poll.
struct Waiter {
  static constexpr std::uint32_t asleep = 0;
  static constexpr std::uint32_t look_again = 1;
  static constexpr std::uint32_t please_poll = 2;

  explicit Waiter(Operation& what) : operation{what} {}

  Operation& operation;
  std::atomic<std::uint32_t> signal = asleep;
  Waiter* previous = nullptr;
  Waiter* next = nullptr;
  Waiter* next_of_operation = nullptr;
};

/// The sleeping threads of an endpoint, the one that came first first.
///
/// Threads: any. Who has added a waiter removes it, after which nobody touches it any more.
class Waiters {
 public:
  void add(Waiter& waiter);
  void remove(Waiter& waiter);
  /// Wakes those that wait for `operation`. Cost: a system call for each.
  void wake(Operation& operation);
  /// Asks the one that came first to poll, if any is there.
  void wake_one();

 private:
  static void signal(Waiter& waiter, std::uint32_t what);

  SpinLock mutex_;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace plait::comm::detail
