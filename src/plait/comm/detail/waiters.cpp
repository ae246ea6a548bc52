// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/waiters.hpp"

#include <mutex>

namespace plait::comm::detail {

void Waiters::wait(Sleeper& self) {
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

void Waiters::wake_one() {
  const std::lock_guard lock{mutex_};
  if (first_ != nullptr) {
    first_->signal(Sleeper::please_poll);
  }
}

}  // namespace plait::comm::detail
