// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "plait/comm/packing.hpp"

namespace plait::comm::detail {

/// Waiting messages, first in first out, linked through themselves.
class WaitingList {
 public:
  void push(WaitingMessage& message) noexcept {
    message.next_waiting = nullptr;
    (first_ == nullptr ? first_ : last_->next_waiting) = &message;
    last_ = &message;
  }
  WaitingMessage* pop() noexcept { return std::exchange(first_, first_->next_waiting); }
  [[nodiscard]] WaitingMessage* front() const noexcept { return first_; }
  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

 private:
  WaitingMessage* first_ = nullptr;
  WaitingMessage* last_ = nullptr;
};

}  // namespace plait::comm::detail
