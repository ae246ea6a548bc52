// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/waiters.hpp"

#include <mutex>

namespace plait::comm::detail {

void Waiters::add(Waiter& waiter) {
  const std::lock_guard lock{mutex_};
  waiter.previous = last_;
  (last_ == nullptr ? first_ : last_->next) = &waiter;
  last_ = &waiter;
  waiter.next_of_operation = waiter.operation.waiters;
  waiter.operation.waiters = &waiter;
}

void Waiters::remove(Waiter& waiter) {
  const std::lock_guard lock{mutex_};
  (waiter.previous == nullptr ? first_ : waiter.previous->next) = waiter.next;
  (waiter.next == nullptr ? last_ : waiter.next->previous) = waiter.previous;
  Waiter** link = &waiter.operation.waiters;
  while (*link != &waiter) {
    link = &(*link)->next_of_operation;
  }
  *link = waiter.next_of_operation;
}

void Waiters::signal(Waiter& waiter, std::uint32_t what) {
  waiter.signal.store(what, std::memory_order_release);  // with the acquire in the waiter's wait
  waiter.signal.notify_one();
}

void Waiters::wake(Operation& operation) {
  const std::lock_guard lock{mutex_};
  for (Waiter* waiter = operation.waiters; waiter != nullptr; waiter = waiter->next_of_operation) {
    signal(*waiter, Waiter::look_again);
  }
}

void Waiters::wake_one() {
  const std::lock_guard lock{mutex_};
  if (first_ != nullptr) {
    signal(*first_, Waiter::please_poll);
  }
}

}  // namespace plait::comm::detail
