// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "plait/comm/packing.hpp"

namespace plait::comm::detail {

/// Waiting messages, first in first out, linked through themselves.
class OutgoingList {
 public:
  void push(Outgoing& message) noexcept {
    message.next_outgoing = nullptr;
    (first_ == nullptr ? first_ : last_->next_outgoing) = &message;
    last_ = &message;
  }
  Outgoing* pop() noexcept { return std::exchange(first_, first_->next_outgoing); }
  [[nodiscard]] Outgoing* front() const noexcept { return first_; }
  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

 private:
  Outgoing* first_ = nullptr;
  Outgoing* last_ = nullptr;
};

}  // namespace plait::comm::detail
