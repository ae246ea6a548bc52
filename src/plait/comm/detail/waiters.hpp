// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/completion.hpp"

namespace plait::comm::detail {

/// A thread that sleeps until its operation is over, or until it is asked to poll.
class Sleeper {
 public:
  [[nodiscard]] bool is_over() const noexcept { return (state_.load() & over) != 0; }

 private:
  friend class Waiters;
  friend class WakeUp;
  static constexpr std::uint32_t over = 1;
  static constexpr std::uint32_t please_poll = 2;

  void signal(std::uint32_t what) noexcept {
    state_.fetch_or(what);
    state_.notify_one();
  }

  std::atomic<std::uint32_t> state_ = 0;
  Sleeper* previous_ = nullptr;
  Sleeper* next_ = nullptr;
};

/// Wakes a sleeper when the operation that it is attached to completes.
class WakeUp final : public Completion {
 public:
  explicit WakeUp(std::shared_ptr<Sleeper> sleeper) : sleeper_{std::move(sleeper)} {}
  void completed(const Status& /*status*/) noexcept override { sleeper_->signal(Sleeper::over); }

 private:
  std::shared_ptr<Sleeper> sleeper_;  // the thread may be gone before the signal returns
};

/// The threads that wait on an endpoint: one polls, the others sleep; the first of them polls next. Threads: any.
class Waiters {
 public:
  /// The role of the one that polls, until the end of scope; then the next sleeper is asked to poll.
  class Role {
   public:
    explicit Role(Waiters& waiters) : waiters_{waiters}, is_taken_{!waiters.has_poller_.exchange(true)} {}
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;
    ~Role() {
      if (is_taken_) {
        waiters_.has_poller_.store(false);
        waiters_.wake_one();
      }
    }
    explicit operator bool() const noexcept { return is_taken_; }

   private:
    Waiters& waiters_;
    const bool is_taken_;
  };

  /// Sleeps until `self` is over or should take the role.
  void wait(Sleeper& self) {
    {
      const std::lock_guard lock{mutex_};
      self.next_ = nullptr;
      self.previous_ = last_;
      (last_ == nullptr ? first_ : last_->next_) = &self;
      last_ = &self;
    }
    while (has_poller_.load() && self.state_.load() == 0) {
      self.state_.wait(0);
    }
    {
      const std::lock_guard lock{mutex_};
      (self.previous_ == nullptr ? first_ : self.previous_->next_) = self.next_;
      (self.next_ == nullptr ? last_ : self.next_->previous_) = self.previous_;
    }
    const std::uint32_t woken = self.state_.fetch_and(~Sleeper::please_poll);
    if (woken == (Sleeper::over | Sleeper::please_poll)) {  // it does not need the role: another one may
      wake_one();
    }
  }

 private:
  void wake_one() {
    const std::lock_guard lock{mutex_};
    if (first_ != nullptr) {
      first_->signal(Sleeper::please_poll);
    }
  }

  // Sequentially consistent: a thread that sleeps either finds the role free, or is found by the one that frees it.
  std::atomic<bool> has_poller_ = false;
  SpinLock mutex_;
  Sleeper* first_ = nullptr;
  Sleeper* last_ = nullptr;
};

}  // namespace plait::comm::detail
